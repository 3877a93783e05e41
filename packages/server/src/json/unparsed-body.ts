/** A JSON body; its operation decides which thread parses it. */
import { beginsArray } from './json-scan.ts'

export class UnparsedBody {
  readonly bytes: Uint8Array
  readonly isArray: boolean
  /** Parses on the event loop, yielding to it. Throws as `parseJson`. */
  readonly parse: () => unknown
  /** Waits for room for the values, in the main thread; undefined if they are not counted. */
  readonly admitValues: ((values: number) => Promise<void>) | undefined

  constructor(bytes: Uint8Array, parse: () => unknown, admitValues: ((values: number) => Promise<void>) | undefined) {
    this.bytes = bytes
    this.isArray = beginsArray(bytes)
    this.parse = parse
    this.admitValues = admitValues
  }
}
