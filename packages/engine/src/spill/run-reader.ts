/** Reads the records of a run in blocks. */
import { assert } from '../errors.ts'
import { headerBytes, type Run, readOrder } from './run-writer.ts'

export class RunReader {
  bytes: Buffer
  /** Offsets of the current record in `bytes`, valid until the next record. */
  keyStart = 0
  keyEnd = 0
  end = 0
  order = 0
  private readonly run: Run
  private readonly blockBytes: number
  /** Start of the next record in `bytes`, and the end of the data in it and in the file. */
  private at = 0
  private filled = 0
  private position: number

  constructor(run: Run, blockBytes: number) {
    this.run = run
    this.blockBytes = blockBytes
    this.position = run.start
    this.bytes = Buffer.allocUnsafe(Math.min(blockBytes, run.end - run.start))
  }

  /** Upper bound of the buffer size for the run. */
  static bytesMax({ start, end, longest }: Run, blockBytes: number): number {
    return Math.max(longest, Math.min(blockBytes, end - start))
  }

  /** Moves to the next record; false if it is not entirely in the block, and `fill` is needed. */
  next(): boolean {
    const { bytes, at, filled } = this
    if (filled - at < headerBytes) return false
    const keyStart = at + headerBytes
    const keyEnd = keyStart + bytes.readUInt32BE(at)
    const end = keyEnd + bytes.readUInt32BE(at + 4)
    if (end > filled) return false
    this.order = readOrder(bytes, at)
    this.keyStart = keyStart
    this.keyEnd = keyEnd
    this.end = end
    this.at = end
    return true
  }

  /** Reads a block and moves to the next record; false at the end of the run. */
  async fill(): Promise<boolean> {
    const { run, blockBytes } = this
    const rest = this.filled - this.at
    const left = run.end - this.position
    if (left === 0 && rest === 0) return false
    assert(left > 0, 'a run ends with a whole record')
    const required = Math.max(this.neededBytes(), Math.min(blockBytes, rest + left))
    if (required > this.bytes.length || this.bytes.length > 4 * blockBytes) {
      const larger = Buffer.allocUnsafe(required)
      this.bytes.copy(larger, 0, this.at, this.filled)
      this.bytes = larger
    } else this.bytes.copyWithin(0, this.at, this.filled)
    this.at = 0
    this.filled = rest
    const count = Math.min(left, this.bytes.length - rest)
    await run.file.read(this.bytes, rest, count, this.position)
    this.position += count
    this.filled += count
    return this.next() || this.fill()
  }

  /** Bytes of the record at `at`, as far as its header has been read. */
  private neededBytes(): number {
    const { bytes, at, filled } = this
    if (filled - at < headerBytes) return headerBytes
    return headerBytes + bytes.readUInt32BE(at) + bytes.readUInt32BE(at + 4)
  }
}
