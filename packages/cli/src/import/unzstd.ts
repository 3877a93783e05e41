/** Decompresses zstd (RFC 8878) on Node.js before version 22.15, which has no decoder: block by block, in bounded memory. */

import { createContext, Script } from 'node:vm'
import { Decompress } from 'fzstd'
import xxhash from 'xxhash-wasm'
import { type CommandError, invalidInput } from '../errors/command-error.ts'
import { numberText } from '../output/texts.ts'
import { byteReader } from './byte-reader.ts'

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
  const input = inputOf(source, what, msMax)
  while (!(await input.isAtEnd())) {
    const magic = (await input.peek(4)).readUInt32LE()
    if (magic === frameMagic) yield* frame(input)
    else if ((magic & 0xfffffff0) >>> 0 === skippableMagic) await skip(input, (await input.take(8)).readUInt32LE(4))
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
      `${input.what} is compressed with a window of ${numberText(Math.ceil(windowBytes / 2 ** 20))} MiB, and up to ${windowBytesMax / 2 ** 20} are read: decompress it first (zstd -d --long=31).`,
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

/** The bytes of a file, which throw CommandError if fewer are left than are read. */
interface Input {
  readonly what: string
  readonly blockMsMax: number
  isAtEnd(): Promise<boolean>
  peek(count: number): Promise<Buffer>
  take(count: number): Promise<Buffer>
  damaged(why: string): CommandError
}

function inputOf(source: AsyncIterable<Buffer>, what: string, blockMsMax: number): Input {
  const reader = byteReader(source)
  const damaged = (why: string): CommandError => invalidInput(`${what} is damaged or cut off: ${why}.`)
  const content = (bytes: Buffer | undefined): Buffer => {
    if (bytes === undefined) throw damaged('it ends too early')
    return bytes
  }
  return {
    what,
    blockMsMax,
    damaged,
    isAtEnd: async () => (await reader.peek(1)) === undefined,
    peek: async (count) => content(await reader.peek(count)),
    take: async (count) => content(await reader.take(count)),
  }
}

/** Skips a frame without content, which may be longer than memory. */
async function skip(input: Input, count: number): Promise<void> {
  for (let left = count; left > 0; left -= blockBytesMax) await input.take(Math.min(left, blockBytesMax))
}
