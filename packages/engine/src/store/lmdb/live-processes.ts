/**
 * The registry of processes that use an LMDB store: each holds a lock on a file named after its process ID and process
 * namespace.
 */
import { existsSync, readdirSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from '../../errors.ts'
import { isLocked, type LockFile, openLockFile } from './file-lock.ts'
import { codeOf } from './owned-files.ts'

export interface Membership {
  /** Other processes that use the store, as of the moment of joining. */
  readonly otherPids: readonly number[]
  /** This process has the store open already, by another handle. */
  readonly isShared: boolean
  /** Call it with the gate entered; without it, `keepFile`, and whoever opens next clears the file away. */
  leave(options?: { readonly keepFile: boolean }): void
}

interface OwnFile {
  readonly path: string
  readonly lock: LockFile
  handles: number
}

/** The store's directory by device and inode, so that two ways to one directory are one. */
const ownFiles = new Map<string, OwnFile>()

/** Where a store keeps the files that processes lock; the gate makes it. */
export function processDirectory(storeDirectory: string): string {
  return join(storeDirectory, 'processes')
}

/**
 * Call it alone in the gate. Throws an `Error` with a sentence for the operator when a process that cannot be told from this
 * one uses the store: LMDB knows processes by their numbers, and its mutexes know threads by theirs.
 */
export function joinProcesses(directory: string): Membership {
  const { dev, ino } = statSync(directory)
  const key = `${dev}:${ino}`
  const own = ownFiles.get(key)
  const otherPids = livePids(directory, own === undefined ? '' : own.path)
  const joined = own ?? { ...openOwnFile(directory), handles: 0 }
  joined.handles += 1
  ownFiles.set(key, joined)
  return {
    otherPids,
    isShared: own !== undefined,
    leave({ keepFile } = { keepFile: false }) {
      joined.handles -= 1
      if (joined.handles > 0) return
      ownFiles.delete(key)
      // On macOS and Linux the order does not matter; on Windows a locked file cannot be removed for good.
      if (!keepFile) rmSync(joined.path, { force: true })
      joined.lock.close()
    },
  }
}

/** The processes that use a store: this one too, if it does. */
export function processesThere(directory: string): readonly ProcessFile[] {
  return existsSync(directory) ? processFiles(directory).filter(isHeld) : []
}

/** That of this process, whether it is there or not. */
export function ownProcessFile(directory: string): string {
  return join(directory, fileName(process.pid, pidNamespace()))
}

function openOwnFile(directory: string): { path: string; lock: LockFile } {
  const path = ownProcessFile(directory)
  const lock = openLockFile(path)
  try {
    assert(lock.tryLock('exclusive'), 'nobody locks the file of a process but itself, and openers, one at a time')
    return { path, lock }
  } catch (error) {
    lock.close()
    throw error
  }
}

/** The name says all, since a full disk takes new names, but no content. `namespace` is empty where there is none. */
function fileName(pid: number, namespace: string): string {
  return namespace === '' ? String(pid) : `${pid}.${namespace}`
}

export interface ProcessFile {
  readonly path: string
  readonly pid: number
  /** Empty where it is not known. */
  readonly namespace: string
}

function processFiles(directory: string): ProcessFile[] {
  return readdirSync(directory).flatMap((name) => {
    const [, pid, namespace = ''] = /^(\d+)(?:\.(\d+))?$/.exec(name) ?? []
    return pid === undefined ? [] : [{ path: join(directory, name), pid: Number(pid), namespace }]
  })
}

/** Looks at the files of all others, and removes those of processes that are no more. */
function livePids(directory: string, ownPath: string): number[] {
  const pids: number[] = []
  for (const file of processFiles(directory)) {
    if (file.path === ownPath) continue
    if (isHeld(file)) {
      refuseStrangers(file)
      pids.push(file.pid)
    } else removeIfAllowed(file.path)
  }
  return pids
}

/** It may be of another user: to read it is enough, and often all that is allowed. */
function isHeld({ path, pid, namespace }: ProcessFile): boolean {
  try {
    return isLocked(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    if (codeOf(error) !== 'EACCES') throw error
    return namespace !== pidNamespace() || isRunning(pid)
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/** In a directory that is everybody's one may not be; what stays there is looked at again by the next, and does no harm. */
function removeIfAllowed(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch (error) {
    if (codeOf(error) !== 'EACCES' && codeOf(error) !== 'EPERM') throw error
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
  const own = pidNamespace()
  if (namespace === '' || own === '' || namespace === own) return
  throw new Error(
    `process ${pid} uses it from another process namespace, probably another container (it holds ${path}). ${advice}`,
  )
}

/** What numbers of processes and threads are relative to, where the system has such a thing and tells it; else empty. */
function pidNamespace(): string {
  if (process.platform !== 'linux') return ''
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? ''
  } catch {
    // Without /proc there is nothing to compare; equal process numbers are found all the same.
    return ''
  }
}
