/** The only safe settings of LMDB. */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { open } from 'lmdb'
import { checksumBytes } from './entry-checksum.ts'
import { throwFailedWrites } from './failed-writes.ts'
import { silenceFailedCommits } from './lmdb-internals.ts'
import type { RootDatabase } from './lmdb-js.ts'
import { type LaidOut, openEntries, openEntriesToRead } from './storage-layout.ts'
import { markStore } from './store-mark.ts'

/** The longest key that LMDB supports with pages of 4 KiB. */
export const lmdbKeyBytesMax = 1_978
/** lmdb-js maps larger values into memory; up to this size it copies them into a reused buffer. */
export const lmdbValueBytesMax = 16_777_216 - checksumBytes

const readersMax = 2_048
const databasesMax = 4

export const environmentSettings = {
  // A directory named `data.v2` must not be treated as a file.
  noSubdir: false,
  // Otherwise a commit is readable before it is durable, and a process killed with -9 takes its siblings along.
  overlappingSync: false,
  // Otherwise lmdb-js creates an unawaited promise, whose rejection on a full disk ends the process.
  eventTurnBatching: false,
  maxReaders: readersMax,
  maxDbs: databasesMax,
  keyEncoding: 'binary',
  encoding: 'binary',
} as const

/** Opens or creates the environment in a directory. The gate must be held exclusively; see `open-environment.ts`. */
export async function openLmdb(directory: string): Promise<LaidOut> {
  const root = open(directory, environmentSettings) as unknown as RootDatabase
  return orClosed(root, async () => {
    const opened = openEntries(root, directory)
    throwFailedWrites(opened.environment)
    throwFailedWrites(root)
    silenceFailedCommits(opened.environment)
    await syncDirectoryAsync(directory)
    await syncDirectoryAsync(dirname(directory))
    markStore(directory)
    return opened
  })
}

/**
 * Opens the environment of an existing store, in the current or the earlier layout, without ever writing to its data. The gate must be held
 * exclusively.
 */
export async function openLmdbToRead(directory: string): Promise<LaidOut> {
  const root = open(directory, { ...environmentSettings, readOnly: true }) as unknown as RootDatabase
  return orClosed(root, async () => openEntriesToRead(root))
}

async function orClosed<T>(root: RootDatabase, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    await root.close()
    throw error
  }
}

/** A new file is durable only if its directory is. */
export function syncDirectorySync(directory: string): void {
  if (process.platform === 'win32') return
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Without blocking: the disk may have much to write first, such as the file of a compaction. */
async function syncDirectoryAsync(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const opened = await openFile(directory, 'r')
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

export function syncFile(path: string): void {
  const descriptor = openSync(path, 'r+')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
