/** Temporary files of a process: their directory, their total size, and the removal of files left by killed processes. */
import { type FileHandle, mkdir, open, readdir, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AshlarError } from '../errors.ts'

export type TemporaryFileHandle = Pick<FileHandle, 'read' | 'write' | 'truncate' | 'close'>

/** The functions of the operating system in use; replaced in tests. */
export interface FileSystem {
  mkdir(directory: string): Promise<unknown>
  /** Creates a file, which must not exist. */
  create(path: string): Promise<TemporaryFileHandle>
  unlink(path: string): Promise<void>
  readdir(directory: string): Promise<readonly string[]>
}

export const nodeFileSystem: FileSystem = {
  mkdir: (directory) => mkdir(directory, { recursive: true }),
  create: (path) => open(path, 'wx+', 0o600),
  unlink,
  readdir: (directory) => readdir(directory),
}

/** Contains the process ID and a number. */
const nameForm = /^ashlar-spill-(\d+)-\d+\.tmp$/

let createdFiles = 0

export class TemporarySpace {
  readonly directory: string
  private readonly files: FileSystem
  private prepared: Promise<void> | undefined
  private reservedBytes = 0

  /** By default in the temporary directory of the operating system. */
  constructor(directory = tmpdir(), files: FileSystem = nodeFileSystem) {
    this.directory = directory
    this.files = files
  }

  /** Disk space reserved. */
  get bytes(): number {
    return this.reservedBytes
  }

  /** Throws ServerBusy, and reserves nothing, above `bytesMax`. */
  take(bytes: number, bytesMax: number): void {
    if (this.reservedBytes + bytes > bytesMax) {
      throw new AshlarError(
        'ServerBusy',
        `The temporary files of all statements under way would take more than ${bytesMax} bytes on disk (statementsDiskBytesMax); there is room again when some of them have ended.`,
      )
    }
    this.reservedBytes += bytes
  }

  giveBack(bytes: number): void {
    this.reservedBytes -= bytes
  }

  /** The file is unlinked immediately if the operating system allows it; `remove` must be called after it is closed. */
  async create(): Promise<{ readonly file: TemporaryFileHandle; readonly remove: () => Promise<void> }> {
    this.prepared ??= this.prepare()
    try {
      await this.prepared
      const { path, file } = await this.newFile()
      const isUnlinked = await this.unlinkIfPossible(path)
      const remove = async (): Promise<void> => {
        if (!isUnlinked) await this.unlinkIfPossible(path)
      }
      return { file, remove }
    } catch (error) {
      this.prepared = undefined
      throw diskFailure(error)
    }
  }

  /** Skips existing names, of a killed process with the same ID, as is common in containers, or of a process in another container. */
  private async newFile(): Promise<{ readonly path: string; readonly file: TemporaryFileHandle }> {
    for (;;) {
      const path = join(this.directory, `ashlar-spill-${process.pid}-${++createdFiles}.tmp`)
      try {
        return { path, file: await this.files.create(path) }
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      }
    }
  }

  /** Removes files of killed processes. A missing directory has none. */
  async removeLeftovers(): Promise<void> {
    let names: readonly string[]
    try {
      names = await this.files.readdir(this.directory)
    } catch {
      return
    }
    for (const name of names) {
      const pid = Number(nameForm.exec(name)?.[1])
      // Files of a live process with a reused ID are removed at its end, or by a later start.
      if (pid > 0 && !isRunning(pid)) await this.unlinkIfPossible(join(this.directory, name))
    }
  }

  private async prepare(): Promise<void> {
    await this.files.mkdir(this.directory)
    await this.removeLeftovers()
  }

  private async unlinkIfPossible(path: string): Promise<boolean> {
    try {
      await this.files.unlink(path)
      return true
    } catch {
      return false
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

const fullDisk: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** ServerBusy: a full disk may have space again after other requests; any other cause is fatal, since an operator must fix it. */
export function diskFailure(error: unknown): unknown {
  const code = codeOf(error)
  if (error instanceof AshlarError || typeof code !== 'string') return error
  const isFull = fullDisk.has(code)
  const message = isFull
    ? `The disk of the temporary files (temporaryDir) is full (${code}), and the statement needs them for what it sorts, groups or joins beyond its memory (statementBytesMax).`
    : `The temporary files (temporaryDir) cannot be used (${code}), and the statement needs them for what it sorts, groups or joins beyond its memory (statementBytesMax).`
  return new AshlarError('ServerBusy', message, [], {}, !isFull)
}
