/** Finds where the replies of one connection end, looking at as few of their bytes as will do. */

const headEnd = Buffer.from('\r\n\r\n')
const lastChunk = Buffer.from('0\r\n\r\n')

/** For connections on which a request waits for the reply to the one before it. */
export class ReplyReader {
  /** The beginning of a head that has not wholly arrived. */
  private partialHead: Buffer | undefined
  private status = 0
  private isWithinBody = false
  /** Of the body, what is still to come; undefined where it is sent in chunks. */
  private missingBytes: number | undefined
  /** In chunks: the last bytes that arrived, among which is the end. */
  private tail: Buffer = Buffer.alloc(0)

  /** The status, when these bytes complete a reply; undefined while it goes on. */
  read(bytes: Buffer): number | undefined {
    return this.isWithinBody ? this.readBody(bytes) : this.readHead(bytes)
  }

  private readHead(bytes: Buffer): number | undefined {
    const head = this.partialHead === undefined ? bytes : Buffer.concat([this.partialHead, bytes])
    const end = head.indexOf(headEnd)
    if (end < 0) {
      this.partialHead = head
      return undefined
    }
    this.partialHead = undefined
    const text = head.toString('latin1', 0, end)
    this.status = Number(text.slice(9, 12))
    const length = /\ncontent-length: *(\d+)/i.exec(text)?.[1]
    this.missingBytes =
      length === undefined && /\ntransfer-encoding: *chunked/i.test(text) ? undefined : Number(length ?? 0)
    this.tail = Buffer.alloc(0)
    this.isWithinBody = true
    return this.readBody(head.subarray(end + headEnd.length))
  }

  private readBody(bytes: Buffer): number | undefined {
    if (this.missingBytes === undefined) {
      const { length } = lastChunk
      this.tail = bytes.length >= length ? bytes.subarray(-length) : Buffer.concat([this.tail, bytes]).subarray(-length)
      // JSON has no line breaks that are not escaped, or single ones in NDJSON: these bytes are nothing but the end.
      if (!this.tail.equals(lastChunk)) return undefined
    } else {
      this.missingBytes -= bytes.length
      if (this.missingBytes > 0) return undefined
    }
    this.isWithinBody = false
    return this.status
  }
}
