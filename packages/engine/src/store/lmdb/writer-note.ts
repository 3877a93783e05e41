/**
 * What the processes of a store tell each other in the file `processes/writer`: which of them has begun the last write transaction, and which files they
 * have open.
 */
import { closeSync, readFileSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { processDirectory } from './live-processes.ts'
import { codeOf, isOutOfRoom, makeFile, openWithoutLinks } from './owned-files.ts'
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

  /** The process whose write transaction was begun last; 0 where that is not known, or has failed. */
  get pid(): number {
    return readSync(this.descriptor, this.number, 0, numberBytes, 0) < numberBytes ? 0 : this.number.readUInt32LE(0)
  }

  /** To be called within a write transaction, before it is committed. */
  notePid(pid: number): void {
    // A file that is not written to costs the disk nothing; mostly the same process writes again.
    if (this.pid === pid) return
    this.number.writeUInt32LE(pid)
    this.write(this.number, 0)
  }

  /**
   * Throws an `Error` with a sentence for the operator where other processes have other files open than those that are in the directory: what is committed here,
   * they would not see. To be called alone in the gate, while others have the store open.
   */
  refuseOtherFiles(directory: string): void {
    const { dataBefore } = replacementPaths(directory)
    const noted = this.files()
    // After a compaction, some may still have the file before it open, and nobody commits.
    if (noted === '' || noted === filesOf(directory) || identityOf(dataBefore) !== undefined) return
    throw new Error(
      'its data.mdb or lock.mdb was deleted, moved or replaced while other processes have it open. Stop every process that uses it, and start them again',
    )
  }

  /** To be called alone in the gate, once the files are open. */
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

  /** A full disk keeps nobody from writing to the store: without a note, the writer counts as unknown. */
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
 * Whether a process of this machine has not begun to end. The system takes its memory away before it closes its connections: so whoever has learnt from a connection
 * that it has ended finds it ended here. Where the system does not show that, it may count as running for a moment longer.
 */
export function isRunning(pid: number): boolean {
  if (pid === process.pid) return true
  if (pid === 0) return false
  try {
    if (process.platform === 'linux') return !readFileSync(`/proc/${pid}/statm`, 'latin1').startsWith('0 ')
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ESRCH') throw error
  }
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}
