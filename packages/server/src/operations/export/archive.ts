/** Archives of a whole federated database, in standard formats: tar, gzip and JSON (docs/export.md). */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Export, RowChunk } from '@ashlar/engine'
import { archivePartBytes } from '../../limits.ts'
import { version } from '../../version.ts'

const compress = promisify(gzip)

/** Version 2 adds sequences; an archive without sequences has version 1. */
const versions = { plain: 1, withSequences: 2 } as const

/** Yields chunks of the archive; each is a gzip member preceded by one unused byte. */
export async function* archiveChunks(
  { classes, indexes, sequences, objects }: Export,
  alias: string,
): AsyncGenerator<RowChunk> {
  const at = new Date()
  const archive = new Archive(Math.floor(at.getTime() / 1_000))
  const head = {
    format: 'ashlar-archive',
    version: sequences.length === 0 ? versions.plain : versions.withSequences,
    alias,
    exportedAt: at.toISOString(),
    program: version,
  }
  yield await archive.file('archive.json', jsonFile(head))
  yield await archive.file('schema.json', jsonFile(classes))
  yield await archive.file('indexes.json', jsonFile(indexes))
  if (sequences.length > 0) yield await archive.file('sequences.json', jsonFile(sequences))
  let parts: Buffer[] = []
  let bytes = 0
  for await (const { bytes: texts, starts } of objects) {
    // Skip the newline before each row.
    parts.push(texts.subarray(1), lineEnd)
    bytes += texts.length
    archive.objects += starts.length
    if (bytes < archivePartBytes) continue
    yield await archive.part(parts)
    parts = []
    bytes = 0
  }
  if (parts.length > 0) yield await archive.part(parts)
  yield await archive.end()
}

const lineEnd = Buffer.from('\n')

function jsonFile(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
}

class Archive {
  objects = 0
  private parts = 0
  private readonly seconds: number
  /** Hash of the contents of all files in order. */
  private readonly hash = createHash('sha256')

  constructor(seconds: number) {
    this.seconds = seconds
  }

  async file(name: string, content: Buffer): Promise<RowChunk> {
    this.hash.update(content)
    return chunkOf(await compress(tarFile(name, content, this.seconds)))
  }

  part(lines: readonly Buffer[]): Promise<RowChunk> {
    this.parts++
    return this.file(`objects/${String(this.parts).padStart(8, '0')}.ndjson`, Buffer.concat(lines))
  }

  /** Yields the end of the archive, which marks it as complete. */
  async end(): Promise<RowChunk> {
    const { objects, parts } = this
    const content = jsonFile({ objects, parts, sha256: this.hash.digest('hex') })
    return chunkOf(await compress(Buffer.concat([tarFile('end.json', content, this.seconds), tarEnd])))
  }
}

function chunkOf(member: Buffer): RowChunk {
  return { bytes: Buffer.concat([lineEnd, member]), starts: [1] }
}

const blockBytes = 512
const sumAt = 148
const sumLength = 8

/** Returns a tar entry: header, content, and padding. `name`: at most 100 ASCII characters; `seconds`: since 1970. */
function tarFile(name: string, content: Buffer, seconds: number): Buffer {
  const file = Buffer.alloc(blockBytes + Math.ceil(content.length / blockBytes) * blockBytes)

  file.write(name, 0, 'latin1')
  file.write(octal(0o644, 7), 100, 'latin1')
  file.write(octal(0, 7), 108, 'latin1')
  file.write(octal(0, 7), 116, 'latin1')
  file.write(octal(content.length, 11), 124, 'latin1')
  file.write(octal(seconds, 11), 136, 'latin1')
  file.write(' '.repeat(sumLength), sumAt, 'latin1')
  file.write('0', 156, 'latin1')
  file.write('ustar\0' + '00', 257, 'latin1')
  let sum = 0
  for (let at = 0; at < blockBytes; at++) sum += file[at] as number
  file.write(`${octal(sum, 6)}\0 `, sumAt, 'latin1')
  content.copy(file, blockBytes)
  return file
}

const tarEnd = Buffer.alloc(2 * blockBytes)

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}
