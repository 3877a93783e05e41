/** What a check has to say: where the project breaks one of its rules, and which. */

export interface Finding {
  /** Relative to the project's root. */
  readonly file: string
  /** From 1; absent where the whole file is meant. */
  readonly line?: number
  /** The rule, in a sentence that tells what to do. */
  readonly message: string
}

export interface CheckResult {
  readonly findings: readonly Finding[]
  /** One line with the figures of a check, for the reader of a successful run. */
  readonly summary: string
}

/** `packages/engine/src/errors.ts:12  the rule` */
export function findingText({ file, line, message }: Finding): string {
  return `${file}${line === undefined ? '' : `:${line}`}  ${message}`
}
