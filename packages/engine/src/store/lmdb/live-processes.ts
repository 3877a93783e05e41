/** The registry of processes that use an LMDB store: each holds a lock on a file named after its process ID and process namespace. */
import { existsSync, readdirSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from '../../errors.ts'
import { isLocked, type LockFile, openLockFile } from './file-lock.ts'
import { systemErrorCode } from './owned-files.ts'

export interface Membership {
  /** Other processes that used the store at the time of joining. */
  readonly otherPids: readonly number[]
  /** Whether this process had the store open already, by another handle. */
  readonly isShared: boolean
  /** Must be called with the gate entered, or else with `keepFile`, which leaves the file to the next opener to remove. */
  leave(options?: { readonly keepFile: boolean }): void
}

interface JoinedFile {
  readonly path: string
  readonly lock: LockFile
  handles: number
}

/** By device and inode of the store's directory, so that different paths to it are equal. */
const joinedFiles = new Map<string, JoinedFile>()

/** The directory of the files that processes lock; the gate creates it. */
export function processDirectory(storeDirectory: string): string {
  return join(storeDirectory, 'processes')
}

/**
 * Must be called with the gate held exclusively. Throws an `Error` with a sentence for the operator if the store is used by a process that LMDB could
 * not distinguish from this one: it identifies processes and threads by their numbers.
 */
export function joinProcesses(directory: string): Membership {
  const { dev, ino } = statSync(directory)
  const key = `${dev}:${ino}`
  const current = joinedFiles.get(key)
  const otherPids = livePids(directory, current === undefined ? '' : current.path)
  const joined = current ?? { ...openProcessFile(directory), handles: 0 }
  joined.handles += 1
  joinedFiles.set(key, joined)
  return {
    otherPids,
    isShared: current !== undefined,
    leave({ keepFile } = { keepFile: false }) {
      joined.handles -= 1
      if (joined.handles > 0) return
      joinedFiles.delete(key)
      // Only on Windows does the order matter: a locked file cannot be removed.
      if (!keepFile) rmSync(joined.path, { force: true })
      joined.lock.close()
    },
  }
}

/** The processes that use a store, possibly including this one. */
export function processesThere(directory: string): readonly ProcessFile[] {
  return existsSync(directory) ? processFiles(directory).filter(isLive) : []
}

/** The file of this process, which need not exist. */
export function processFile(directory: string): string {
  return join(directory, fileName(process.pid, pidNamespace()))
}

function openProcessFile(directory: string): { path: string; lock: LockFile } {
  const path = processFile(directory)
  const lock = openLockFile(path)
  try {
    assert(lock.tryLock('exclusive'), 'nobody locks the file of a process but itself, and openers, one at a time')
    return { path, lock }
  } catch (error) {
    lock.close()
    throw error
  }
}

/** The name contains all information, since a full disk accepts new names but no content. `namespace` is empty if there is none. */
function fileName(pid: number, namespace: string): string {
  return namespace === '' ? String(pid) : `${pid}.${namespace}`
}

export interface ProcessFile {
  readonly path: string
  readonly pid: number
  /** Empty if unknown. */
  readonly namespace: string
}

function processFiles(directory: string): ProcessFile[] {
  return readdirSync(directory).flatMap((name) => {
    const [, pid, namespace = ''] = /^(\d+)(?:\.(\d+))?$/.exec(name) ?? []
    return pid === undefined ? [] : [{ path: join(directory, name), pid: Number(pid), namespace }]
  })
}

/** Checks the files of all processes but that of `excludedPath`, and removes those of ended ones. */
function livePids(directory: string, excludedPath: string): number[] {
  const pids: number[] = []
  for (const file of processFiles(directory)) {
    if (file.path === excludedPath) continue
    if (isLive(file)) {
      refuseStrangers(file)
      pids.push(file.pid)
    } else removeIfAllowed(file.path)
  }
  return pids
}

/** A file of another user need only be readable, and often is only that. */
function isLive({ path, pid, namespace }: ProcessFile): boolean {
  try {
    return isLocked(path)
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return false
    if (systemErrorCode(error) !== 'EACCES') throw error
    return namespace !== pidNamespace() || isRunning(pid)
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return systemErrorCode(error) !== 'ESRCH'
  }
}

/** Removal may be forbidden in a shared directory; then the next process checks the file again. */
function removeIfAllowed(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch (error) {
    if (systemErrorCode(error) !== 'EACCES' && systemErrorCode(error) !== 'EPERM') throw error
  }
}

function refuseStrangers({ path, pid, namespace }: ProcessFile): void {
  const advice =
    'Let the containers share one process namespace (Docker: --pid=container:<name>, Kubernetes: shareProcessNamespace), ' +
    'or give each a store of its own'
  if (pid === process.pid)
    throw new Error(
      `another process with the number ${pid} uses it, probably in another container (or this process does, in another thread). ${advice}`,
    )
  const thisNamespace = pidNamespace()
  if (namespace === '' || thisNamespace === '' || namespace === thisNamespace) return
  throw new Error(
    `process ${pid} uses it from another process namespace, probably another container (it holds ${path}). ${advice}`,
  )
}

/** The namespace of process and thread numbers; empty if the system has none or does not show it. */
function pidNamespace(): string {
  if (process.platform !== 'linux') return ''
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? ''
  } catch {
    // Without /proc nothing can be compared; equal process numbers are still detected.
    return ''
  }
}
