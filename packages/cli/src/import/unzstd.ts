/** Decompresses zstd (RFC 8878) on Node.js before version 22.15, which has no decoder: block by block, in bounded memory. */
import { createContext, Script } from 'node:vm'
import { Decompress } from 'fzstd'
import xxhash from 'xxhash-wasm'
import { type CommandError, invalidInput } from '../errors/command-error.ts'

const frameMagic = 0xfd2fb528
const skippableMagic = 0x184d2a50
/** The default of the zstd program and Node.js; a larger window needs an option there, too. */
const windowBytesMax = 2 ** 27
/** Largest block, compressed or not. */
const blockBytesMax = 2 ** 17
const blockHeaderBytes = 3
const checksumBytes = 4

/** `what`: the name in messages; `msMax`: time limit of a block. Throws CommandError for damaged data, or if it needs a larger window. */
export async function* unzstd(source: AsyncIterable<Buffer>, what: string, msMax = blockMsMax): AsyncGenerator<Buffer> {
  const input = new Input(source, what, msMax)
  while (!(await input.isAtEnd())) {
    const magic = (await input.peek(4)).readUInt32LE()
    if (magic === frameMagic) yield* frame(input)
    else if ((magic & 0xfffffff0) >>> 0 === skippableMagic) await input.skip((await input.take(8)).readUInt32LE(4))
    else throw input.damaged('what follows a frame of zstd is none')
  }
}

async function* frame(input: Input): AsyncGenerator<Buffer> {
  const { header, contentBytes, hasChecksum } = await readHeader(input)
  const hash = hasChecksum ? (await xxhash()).create64() : undefined
  const parts: Buffer[] = []
  let bytes = 0
  const decoder = new Decompress((part) => {
    if (part.length > 0) parts.push(Buffer.from(part.buffer, part.byteOffset, part.byteLength))
  })
  const decode = (block: Buffer, isLast: boolean): void => {
    try {
      inTime(() => decoder.push(block, isLast), input.blockMsMax)
    } catch (error) {
      throw input.damaged((error as Error).message)
    }
  }
  decode(header, false)
  for (let isLast = false; !isLast; ) {
    const head = await input.peek(blockHeaderBytes)
    const fields = head.readUIntLE(0, blockHeaderBytes)
    isLast = (fields & 1) === 1
    const [kind, size] = [(fields >> 1) & 3, fields >> 3]
    if (size > blockBytesMax) throw input.damaged('a block is longer than blocks may be')
    // In an RLE block, one byte is repeated.
    const block = await input.take(blockHeaderBytes + (kind === 1 ? 1 : size))
    const end = isLast && hasChecksum ? await input.take(checksumBytes) : undefined
    decode(end === undefined ? block : Buffer.concat([block, end]), isLast)
    for (const part of parts.splice(0)) {
      bytes += part.length
      hash?.update(part)
      yield part
    }
    if (end !== undefined && hash !== undefined && Number(hash.digest() & 0xffffffffn) !== end.readUInt32LE())
      throw input.damaged('its content does not fit its checksum')
  }
  if (contentBytes !== undefined && contentBytes !== bytes)
    throw input.damaged('it has another length than its header says')
}

/** Time limit for a block, which normally takes milliseconds. */
const blockMsMax = 5_000

const sandbox = createContext({})
const script = new Script('work()')

/** Bounds the time of `work`: a small block can demand so many copies that the decoder would run for hours without handling Ctrl-C. */
function inTime(work: () => void, msMax: number): void {
  sandbox.work = work
  script.runInContext(sandbox, { timeout: msMax })
}

interface Header {
  readonly header: Buffer
  readonly contentBytes: number | undefined
  readonly hasChecksum: boolean
}

async function readHeader(input: Input): Promise<Header> {
  const descriptor = (await input.peek(5))[4] as number
  const isSingle = (descriptor & 0x20) !== 0
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] as number
  const sizeBytes = descriptor >> 6 === 0 ? Number(isSingle) : 1 << (descriptor >> 6)
  const header = await input.take(5 + Number(!isSingle) + dictionaryBytes + sizeBytes)
  const sizeAt = header.length - sizeBytes
  if (dictionaryBytes > 0 && header.readUIntLE(sizeAt - dictionaryBytes, dictionaryBytes) !== 0)
    throw invalidInput(`${input.what} is compressed with a dictionary: decompress it first.`)
  const contentBytes = contentBytesOf(header, sizeAt, sizeBytes)
  const windowBytes = isSingle ? (contentBytes ?? 0) : windowBytesOf(header[5] as number)
  if (windowBytes > windowBytesMax)
    throw invalidInput(
      `${input.what} is compressed with a window of ${Math.ceil(windowBytes / 2 ** 20).toLocaleString('en')} MiB, and up to ${windowBytesMax / 2 ** 20} are read: decompress it first (zstd -d --long=31).`,
    )
  return { header, contentBytes, hasChecksum: (descriptor & 4) !== 0 }
}

function contentBytesOf(header: Buffer, at: number, bytes: number): number | undefined {
  switch (bytes) {
    case 0:
      return undefined
    case 2:
      return header.readUInt16LE(at) + 256
    case 8:
      return Number(header.readBigUInt64LE(at))
    default:
      return header.readUIntLE(at, bytes)
  }
}

function windowBytesOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3))
  return base + (base / 8) * (descriptor & 7)
}

class Input {
  readonly what: string
  readonly blockMsMax: number
  private readonly chunks: AsyncIterator<Buffer>
  private buffered: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>, what: string, msMax: number) {
    this.chunks = source[Symbol.asyncIterator]()
    this.what = what
    this.blockMsMax = msMax
  }

  async isAtEnd(): Promise<boolean> {
    while (this.buffered.length === 0) {
      const next = await this.chunks.next()
      if (next.done === true) return true
      this.buffered = next.value
    }
    return false
  }

  /** Returns the next bytes without consuming them. Throws CommandError if fewer are left. */
  async peek(count: number): Promise<Buffer> {
    if (this.buffered.length < count) {
      const parts = [this.buffered]
      for (let length = this.buffered.length; length < count; ) {
        const next = await this.chunks.next()
        if (next.done === true) throw this.damaged('it ends too early')
        parts.push(next.value)
        length += next.value.length
      }
      this.buffered = Buffer.concat(parts)
    }
    return this.buffered.subarray(0, count)
  }

  async take(count: number): Promise<Buffer> {
    const bytes = await this.peek(count)
    this.buffered = this.buffered.subarray(count)
    return bytes
  }

  async skip(count: number): Promise<void> {
    let left = count
    while (left > 0) {
      if (await this.isAtEnd()) throw this.damaged('it ends too early')
      const skipped = Math.min(left, this.buffered.length)
      this.buffered = this.buffered.subarray(skipped)
      left -= skipped
    }
  }

  damaged(why: string): CommandError {
    return invalidInput(`${this.what} is damaged or cut off: ${why}.`)
  }
}
