/** A JSON body whose operation decides which thread parses it. */
export class UnparsedBody {
  readonly bytes: Uint8Array
  /** On the event loop, which it yields. Throws as `parseJson`. */
  readonly parse: () => unknown

  constructor(bytes: Uint8Array, parse: () => unknown) {
    this.bytes = bytes
    this.parse = parse
  }
}
