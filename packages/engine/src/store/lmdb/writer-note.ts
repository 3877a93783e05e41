/** The file `processes/writer`, by which processes exchange which of them began the last write transaction, and which files they have open. */
import { closeSync, readFileSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { processDirectory } from './live-processes.ts'
import { isOutOfRoom, makeFile, openWithoutLinks, systemErrorCode } from './owned-files.ts'
import { identityOf, replacementPaths } from './replaced-file.ts'

const numberBytes = 4
const filesAt = 16
const filesBytes = 112

export class WriterNote {
  private readonly descriptor: number
  private readonly number = Buffer.alloc(numberBytes)
  private isOpen = true

  constructor(directory: string) {
    const path = join(processDirectory(directory), 'writer')
    makeFile(path)
    this.descriptor = openWithoutLinks(path, 'write')
  }

  /** The process that began the last write transaction; 0 if it is unknown or the transaction failed. */
  get pid(): number {
    return readSync(this.descriptor, this.number, 0, numberBytes, 0) < numberBytes ? 0 : this.number.readUInt32LE(0)
  }

  /** Must be called within a write transaction, before it is committed. */
  notePid(pid: number): void {
    // Usually the same process writes again, and an unchanged file costs no disk access.
    if (this.pid === pid) return
    this.number.writeUInt32LE(pid)
    this.write(this.number, 0)
  }

  /**
   * Must be called with the gate held exclusively, while other processes have the store open. Throws an `Error` with a sentence for the operator if
   * they have other files open than those in the directory: they would not see commits of this process.
   */
  refuseOtherFiles(directory: string): void {
    const { dataBefore } = replacementPaths(directory)
    const noted = this.files()
    // After a compaction, some processes may still have the previous file open, and none commits.
    if (noted === '' || noted === filesOf(directory) || identityOf(dataBefore) !== undefined) return
    throw new Error(
      'its data.mdb or lock.mdb was deleted, moved or replaced while other processes have it open. Stop every process that uses it, and start them again',
    )
  }

  /** Must be called with the gate held exclusively, once the files are open. */
  noteFiles(directory: string): void {
    const files = Buffer.alloc(filesBytes)
    files.write(filesOf(directory), 'latin1')
    this.write(files, filesAt)
  }

  close(): void {
    if (this.isOpen) closeSync(this.descriptor)
    this.isOpen = false
  }

  private files(): string {
    const files = Buffer.alloc(filesBytes)
    const length = readSync(this.descriptor, files, 0, filesBytes, filesAt)
    return files.toString('latin1', 0, length).replace(/\0.*$/s, '')
  }

  /** A full disk must not prevent writes to the store: without a note, the writer is unknown. */
  private write(bytes: Buffer, at: number): void {
    try {
      writeSync(this.descriptor, bytes, 0, bytes.length, at)
    } catch (error) {
      if (!isOutOfRoom(error)) throw error
    }
  }
}

function filesOf(directory: string): string {
  const { data, lock } = replacementPaths(directory)
  return `${identityOf(data)} ${identityOf(lock)}`
}

/**
 * Whether a process of this machine has not begun to exit. The system frees its memory before it closes its connections: so after a connection was
 * seen to close, this returns false. Where the system does not show that, the process may count as running for a moment longer.
 */
export function isProcessRunning(pid: number): boolean {
  if (pid === process.pid) return true
  if (pid === 0) return false
  try {
    if (process.platform === 'linux') return !readFileSync(`/proc/${pid}/statm`, 'latin1').startsWith('0 ')
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT' && systemErrorCode(error) !== 'ESRCH') throw error
  }
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return systemErrorCode(error) === 'EPERM'
  }
}
