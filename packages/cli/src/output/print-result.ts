/** Prints the result of a command that uses no server: a line of JSON with `--json`, otherwise lines of text. */

export interface ResultOptions {
  readonly json?: boolean
  readonly quiet?: boolean
}

/** Writes to standard output; with `quiet`, omits lines for people. */
export function printResult(value: unknown, { json, quiet }: ResultOptions, lines: () => readonly string[]): void {
  if (json === true) process.stdout.write(`${JSON.stringify(value)}\n`)
  else if (quiet !== true) process.stdout.write(`${lines().join('\n')}\n`)
}
