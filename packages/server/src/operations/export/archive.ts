/** A whole federated database as one archive, which tar, gzip and a reader of JSON open without us (docs/export.md describes it). */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Export, RowChunk } from '@ashlar/engine'
import { archivePartBytes } from '../../limits.ts'
import { version } from '../../version.ts'
import { tarEnd, tarFile } from './tar.ts'

const compress = promisify(gzip)

const archiveVersion = 1

/** In pieces, of which each is a member of a gzip file; the first byte of each is none of it. */
export async function* archiveChunks({ classes, indexes, objects }: Export, alias: string): AsyncGenerator<RowChunk> {
  const at = new Date()
  const archive = new Archive(Math.floor(at.getTime() / 1_000))
  const head = {
    format: 'ashlar-archive',
    version: archiveVersion,
    alias,
    exportedAt: at.toISOString(),
    program: version,
  }
  yield await archive.file('archive.json', jsonFile(head))
  yield await archive.file('schema.json', jsonFile(classes))
  yield await archive.file('indexes.json', jsonFile(indexes))
  let parts: Buffer[] = []
  let bytes = 0
  for await (const { bytes: texts, starts } of objects) {
    // Before each is a newline.
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
  /** Of what is in the files, in their order. */
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

  /** Whoever finds it knows that the archive is whole. */
  async end(): Promise<RowChunk> {
    const { objects, parts } = this
    const content = jsonFile({ objects, parts, sha256: this.hash.digest('hex') })
    return chunkOf(await compress(Buffer.concat([tarFile('end.json', content, this.seconds), tarEnd])))
  }
}

function chunkOf(member: Buffer): RowChunk {
  return { bytes: Buffer.concat([lineEnd, member]), starts: [1] }
}
