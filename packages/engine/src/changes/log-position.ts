/** Positions in the change log, and their textual form. */
import { AshlarError } from '../errors.ts'

/** Precedes all later changes. Positions of one store grow in the order in which its changes are reported. */
export interface LogPosition {
  readonly epoch: number
  readonly number: number
  /** The entry of the commit, and the number of its change, from 1. Undefined at the end of the commit. */
  readonly within: { readonly part: number; readonly index: number } | undefined
}

const form = /^(\d{1,10})-(\d{1,16})(?:-(\d{1,10})-(\d{1,10}))?$/

export function positionText({ epoch, number, within }: LogPosition): string {
  return `${epoch}-${number}${within === undefined ? '' : `-${within.part}-${within.index}`}`
}

/** Throws MalformedRequest. */
export function parsePosition(text: string): LogPosition {
  const found = form.exec(text)
  const [epoch, number, part, index] = (found?.slice(1) ?? []).map(Number) as [number, number, number, number]
  if (found === null || !Number.isSafeInteger(number) || epoch > 0xffff_ffff || part > 0xffff_ffff) {
    throw new AshlarError(
      'MalformedRequest',
      `'${text.slice(0, 100)}' is not a position of the change log: that is what an earlier reply gave, such as 1763900000-42; without one, first or now.`,
    )
  }
  return { epoch, number, within: found[3] === undefined ? undefined : { part, index } }
}
