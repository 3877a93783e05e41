/** Reads the files of an archive of `ashlar export`, and checks that it is complete (docs/export.md). */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { type CommandError, invalidInput } from '../../errors/command-error.ts'
import { unreadableFileError } from '../../errors/file-errors.ts'
import { archiveFileBytesMax } from '../../limits.ts'
import { type TarFile, tarFiles } from './tar-files.ts'

export type Json = Readonly<Record<string, unknown>>

export interface ArchiveHead {
  readonly alias: string
  readonly exportedAt: string
  readonly classes: readonly Json[]
  readonly indexes: readonly Json[]
  readonly sequences: readonly Json[]
}

export interface ArchiveReading {
  readonly signal?: AbortSignal | undefined
  /** Called with the number of compressed bytes read. */
  readonly onRead?: ((bytes: number) => void) | undefined
}

const format = 'ashlar-archive'
/** The files that precede the objects, by version of the archive. */
const headsOf: Readonly<Record<number, readonly string[]>> = {
  1: ['archive.json', 'schema.json', 'indexes.json'],
  2: ['archive.json', 'schema.json', 'indexes.json', 'sequences.json'],
}
const latestVersion = 2

/** Reads the whole archive. Throws CommandError if it is no archive, is incomplete, or was modified. */
export async function checkArchive(path: string, reading: ArchiveReading = {}): Promise<ArchiveHead & Counted> {
  const hash = createHash('sha256')
  const counted = { objects: 0, parts: 0 }
  const texts: unknown[] = []
  let heads = headsOf[latestVersion] as readonly string[]
  for await (const { name, content } of filesOf(path, reading)) {
    if (name === 'end.json') {
      const end = jsonOf(path, name, content) as Json
      const sha256 = hash.digest('hex')
      if (end.sha256 !== sha256) throw damaged(path, 'the SHA-256 of its contents differs from that in end.json')
      if (end.objects !== counted.objects || end.parts !== counted.parts)
        throw damaged(path, 'the number of objects differs from that in end.json')
      return { ...headOf(path, texts), ...counted }
    }
    hash.update(content)
    const expected = heads[texts.length]
    if (expected !== undefined) {
      if (name !== expected) throw notOne(path)
      texts.push(jsonOf(path, name, content))
      if (texts.length === 1) heads = headsOfArchive(path, texts[0] as Json)
    } else {
      counted.parts++
      if (name !== partName(counted.parts))
        throw damaged(path, `it has ${name} where ${partName(counted.parts)} is expected`)
      counted.objects += linesIn(content)
    }
  }
  throw texts.length === 0 ? notOne(path) : damaged(path, 'it ends before end.json')
}

export interface Counted {
  readonly objects: number
  readonly parts: number
}

/** Yields the files of objects in order, after a check of the whole archive. */
export async function* archiveParts(path: string, reading: ArchiveReading = {}): AsyncGenerator<Buffer> {
  for await (const { name, content } of filesOf(path, reading)) if (name.startsWith('objects/')) yield content
}

async function* filesOf(path: string, { signal, onRead }: ArchiveReading): AsyncGenerator<TarFile> {
  const source = createReadStream(path)
  let bytes = 0
  source.on('data', (chunk) => {
    bytes += chunk.length
    onRead?.(bytes)
  })
  const unzipped = createGunzip()
  source.once('error', (error) => unzipped.destroy(error))
  source.pipe(unzipped)
  try {
    for await (const file of tarFiles(unzipped, archiveFileBytesMax)) {
      signal?.throwIfAborted()
      yield file
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code?.startsWith('Z_') === true) throw damaged(path, `gzip says: ${message}`)
    if (code !== undefined) throw unreadableFileError(`The file ${path}`, error)
    throw error
  } finally {
    source.destroy()
    unzipped.destroy()
  }
}

function headsOfArchive(path: string, { format: found, version }: Json): readonly string[] {
  if (found !== format) throw notOne(path)
  const heads = typeof version === 'number' ? headsOf[version] : undefined
  if (heads !== undefined) return heads
  throw invalidInput(
    `The archive ${path} is of version ${String(version)}, and this program reads versions up to ${latestVersion}.`,
  )
}

function headOf(path: string, [head, classes, indexes, sequences = []]: readonly unknown[]): ArchiveHead {
  if (!Array.isArray(classes) || !Array.isArray(indexes)) throw damaged(path, 'it has no classes, or no indexes')
  if (!Array.isArray(sequences)) throw damaged(path, 'sequences.json has no list of sequences')
  const { alias, exportedAt } = head as Json
  return { alias: String(alias), exportedAt: String(exportedAt), classes, indexes, sequences }
}

function jsonOf(path: string, name: string, content: Buffer): unknown {
  try {
    return JSON.parse(content.toString())
  } catch {
    throw damaged(path, `${name} is not JSON`)
  }
}

function partName(part: number): string {
  return `objects/${String(part).padStart(8, '0')}.ndjson`
}

const lineEnd = 0x0a

function linesIn(content: Buffer): number {
  let lines = 0
  for (let at = content.indexOf(lineEnd); at >= 0; at = content.indexOf(lineEnd, at + 1)) lines++
  return lines
}

function damaged(path: string, how: string): CommandError {
  return invalidInput(`The archive ${path} is damaged or not whole: ${how}.`)
}

function notOne(path: string): CommandError {
  return invalidInput(`The file ${path} is not an archive of ashlar export.`)
}
