/** Reads the files of a tar archive (POSIX ustar) from a stream, each into one buffer. */

import { invalidInput } from '../../errors/command-error.ts'
import { byteReader } from '../../import/byte-reader.ts'

export interface TarFile {
  readonly name: string
  readonly content: Buffer
}

const blockBytes = 512
const nameBytes = 100
const sizeAt = 124
const sumAt = 148
const sumEnd = 156
const magicAt = 257

/** Yields files up to the first block of zeros. Throws CommandError if this is no tar archive, is cut off, or has a file that is too long. */
export async function* tarFiles(source: AsyncIterable<Buffer>, fileBytesMax: number): AsyncGenerator<TarFile> {
  const bytes = byteReader(source)
  for (;;) {
    const header = await bytes.take(blockBytes)
    if (header === undefined || header.every((byte) => byte === 0)) return
    const { name, size } = readHeader(header)
    if (size > fileBytesMax) throw invalidInput(`The file ${name} of the archive is longer than ${fileBytesMax} bytes.`)
    const blocks = await bytes.take(Math.ceil(size / blockBytes) * blockBytes)
    if (blocks === undefined) throw invalidInput(`The archive ends within its file ${name}.`)
    yield { name, content: blocks.subarray(0, size) }
  }
}

function readHeader(header: Buffer): { readonly name: string; readonly size: number } {
  const sum = header.reduce((all, byte, at) => all + (at >= sumAt && at < sumEnd ? 0x20 : byte), 0)
  const size = octalAt(header, sizeAt)
  if (header.toString('latin1', magicAt, magicAt + 5) !== 'ustar' || octalAt(header, sumAt) !== sum || !(size >= 0)) {
    throw invalidInput('The file is not a tar archive, or is damaged: one of its headers is invalid.')
  }
  const nameEnd = header.indexOf(0)
  return { name: header.toString('latin1', 0, nameEnd < 0 ? nameBytes : Math.min(nameEnd, nameBytes)), size }
}

function octalAt(header: Buffer, at: number): number {
  return Number.parseInt(header.toString('latin1', at, at + 12), 8)
}
