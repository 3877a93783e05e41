/**
 * Copies an archive of `ashlar export` into an empty store. The archive is restored into a temporary store, compared with its file and verified; then
 * that store is copied, so that the target gets complete data, or none.
 */
import { createHash } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type CopyReport, copyStore, FederatedDatabase, JsonSource, noteTextOf, openStore } from '@ashlar/engine'
import { addressOfDirectory, storeDirectory } from '@ashlar/engine/store-address'
import { type CommandError, invalidInput } from '../../errors/command-error.ts'
import { makeFolders } from '../../errors/file-errors.ts'
import { parseExactly } from '../../output/exact-json.ts'
import { isAlive } from '../../output/write-whole.ts'
import { removedScratch, resumable } from '../resumable.ts'
import { type ArchiveHead, archiveParts, type Counted, checkArchive, type Json } from './read-archive.ts'

export type ArchiveStep = 'checking' | 'reading' | 'creating' | 'filling' | 'comparing' | 'verifying' | 'copying'

export interface ArchiveCopyOptions {
  readonly signal: AbortSignal
  /** `done`: objects, or entries of the store. */
  readonly onProgress: (step: ArchiveStep, done: number, total: number) => void
}

export interface ArchiveCopied extends Counted {
  readonly head: ArchiveHead
  readonly report: CopyReport
}

const partObjectsMax = 1_000
const partBytesMax = 2 ** 20

function scratchBase(to: string): string {
  const directory = storeDirectory(to)
  if (directory !== undefined) return `${resolve(directory)}.importing-`
  const name = createHash('sha256').update(to).digest('hex').slice(0, 16)
  return join(tmpdir(), `ashlar-importing-${name}-`)
}

/** Removes the files of killed processes. */
function removeAbandoned(to: string): void {
  const base = scratchBase(to)
  const directory = dirname(base)
  makeFolders(directory)
  for (const name of readdirSync(directory)) {
    const pid = name.startsWith(basename(base)) ? name.slice(basename(base).length) : ''
    if (!/^\d+$/.test(pid)) continue
    if (Number(pid) === process.pid || !isAlive(Number(pid)))
      rmSync(join(directory, name), { recursive: true, force: true })
  }
}

/** Throws CommandError for a damaged archive, and an Error if the target has data other than an unfinished copy of the archive. */
export async function copyArchive(path: string, to: string, options: ArchiveCopyOptions): Promise<ArchiveCopied> {
  const { signal } = options
  const head = await checkArchive(path, { signal })
  removeAbandoned(to)
  const scratch = `${scratchBase(to)}${process.pid}`
  try {
    await createStore(path, scratch, head, options).catch((error: unknown) => {
      throw removedScratch(error, scratch, 'Nothing was written to the target.')
    })
    const [source, target] = [await openStore(addressOfDirectory(scratch), { isReadOnly: true }), await openStore(to)]
    try {
      const report = await copyStore(source, target, {
        signal,
        sourceName: `the archive ${basename(path)}`,
        onProgress: options.onProgress,
      })
      return { head, objects: head.objects, parts: head.parts, report }
    } catch (error) {
      throw resumable(error, target.capabilities.location)
    } finally {
      await source.close()
      await target.close()
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function createStore(
  path: string,
  scratch: string,
  head: ArchiveHead & Counted,
  { signal, onProgress }: ArchiveCopyOptions,
): Promise<void> {
  const store = await openStore(addressOfDirectory(scratch))
  const fd = await FederatedDatabase.open({ alias: head.alias, store, changeLog: 'off' })
  try {
    await fd.rebuild(
      {
        classes: head.classes,
        indexes: head.indexes.map(({ name, indexedClass, isUnique, keyAttributes }) => ({
          name,
          indexedClass,
          isUnique,
          keyAttributes,
        })),
        sequences: head.sequences,
        objects: () => objectsOf(path, signal),
      },
      { signal, onProgress: (step, done) => onProgress(step, done, head.objects) },
    )
    await compare(path, fd, signal, (done) => onProgress('comparing', done, head.objects))
    const { problems } = await fd.verify({ signal })
    const [first] = problems
    if (first !== undefined)
      throw invalidInput(`The archive ${path} contradicts itself; the first of ${problems.length} problems: ${first}`)
  } finally {
    await fd.close()
  }
}

async function* objectsOf(path: string, signal: AbortSignal): AsyncGenerator<Json[]> {
  let objects: Json[] = []
  let bytes = 0
  for await (const line of linesOf(path, signal)) {
    objects.push(objectIn(line))
    bytes += line.length
    if (objects.length < partObjectsMax && bytes < partBytesMax) continue
    yield objects
    objects = []
    bytes = 0
  }
  if (objects.length > 0) yield objects
}

/** Values of type json are extracted from the text, which preserves their numbers. */
function objectIn(line: Buffer): Json {
  const value = parseExactly(line.toString(), true)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    noteTextOf(value, JsonSource.of(line))
    return value as Json
  }
  throw invalidInput(`The archive has a line that is not an object: ${line.toString('utf8', 0, 60)}`)
}

async function* linesOf(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const part of archiveParts(path, { signal })) yield* linesIn(part)
}

const lineEnd = 0x0a

function* linesIn(bytes: Buffer): Generator<Buffer> {
  let from = 0
  for (let to = bytes.indexOf(lineEnd); to >= 0; to = bytes.indexOf(lineEnd, from)) {
    if (to > from) yield bytes.subarray(from, to)
    from = to + 1
  }
  if (from < bytes.length) yield bytes.subarray(from)
}

async function compare(
  path: string,
  fd: FederatedDatabase,
  signal: AbortSignal,
  progress: (done: number) => void,
): Promise<void> {
  const { objects } = await fd.export({ signal })
  const created = (async function* (): AsyncGenerator<Buffer> {
    for await (const { bytes } of objects) yield* linesIn(bytes)
  })()
  let done = 0
  try {
    for await (const line of linesOf(path, signal)) {
      const other = await created.next()
      const isSame = other.done !== true && (line.equals(other.value) || isSameJson(line, other.value))
      if (!isSame) throw different(path, line)
      if (++done % 1_000 === 0) progress(done)
    }
    const more = await created.next()
    if (more.done !== true) throw different(path, more.value)
  } finally {
    await created.return(undefined)
  }
}

/** Versions may serialize a value differently. */
function isSameJson(one: Buffer, other: Buffer): boolean {
  return isDeepStrictEqual(parseExactly(one.toString(), true), parseExactly(other.toString(), true))
}

function different(path: string, line: Buffer): CommandError {
  const { __identifier__: oid } = objectIn(line)
  return invalidInput(
    `Object ${String(oid)} of the archive ${path} cannot be made as it was: its values and links do not go with those of other objects, or with its class.`,
  )
}
