/** Where temporary files are, how much of the disk those of a process take together, and what becomes of those of processes that were killed. */
import { type FileHandle, mkdir, open, readdir, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AshlarError } from '../errors.ts'

export type OpenFile = Pick<FileHandle, 'read' | 'write' | 'truncate' | 'close'>

/** What is asked of the operating system; another one in tests. */
export interface FileSystem {
  mkdir(directory: string): Promise<unknown>
  /** Of a file that is not there yet. */
  create(path: string): Promise<OpenFile>
  unlink(path: string): Promise<void>
  readdir(directory: string): Promise<readonly string[]>
}

export const nodeFileSystem: FileSystem = {
  mkdir: (directory) => mkdir(directory, { recursive: true }),
  create: (path) => open(path, 'wx+', 0o600),
  unlink,
  readdir: (directory) => readdir(directory),
}

/** Of the process that has made it, and its number there. */
const nameForm = /^ashlar-spill-(\d+)-\d+\.tmp$/

let made = 0

export class TemporarySpace {
  readonly directory: string
  private readonly files: FileSystem
  private prepared: Promise<void> | undefined
  private takenBytes = 0

  /** Without a directory, in that of the operating system. */
  constructor(directory = tmpdir(), files: FileSystem = nodeFileSystem) {
    this.directory = directory
    this.files = files
  }

  /** What files take and have not yet given back. */
  get bytes(): number {
    return this.takenBytes
  }

  /** Throws ServerBusy, and takes nothing, where it would be more than `bytesMax` together. */
  take(bytes: number, bytesMax: number): void {
    if (this.takenBytes + bytes > bytesMax) {
      throw new AshlarError(
        'ServerBusy',
        `The temporary files of all statements under way would take more than ${bytesMax} bytes on disk (statementsDiskBytesMax); there is room again when some of them have ended.`,
      )
    }
    this.takenBytes += bytes
  }

  giveBack(bytes: number): void {
    this.takenBytes -= bytes
  }

  /** The file has no name where the operating system lets an open file lose it; `remove` is to be called when it is closed. */
  async create(): Promise<{ readonly file: OpenFile; readonly remove: () => Promise<void> }> {
    this.prepared ??= this.prepare()
    try {
      await this.prepared
      const { path, file } = await this.newFile()
      const isGone = await this.isRemoved(path)
      const remove = async (): Promise<void> => {
        if (!isGone) await this.isRemoved(path)
      }
      return { file, remove }
    } catch (error) {
      this.prepared = undefined
      throw diskFailure(error)
    }
  }

  /** A file of that name may be there: of a killed process of the same number, as processes of containers have, or of one in another container. */
  private async newFile(): Promise<{ readonly path: string; readonly file: OpenFile }> {
    for (;;) {
      const path = join(this.directory, `ashlar-spill-${process.pid}-${++made}.tmp`)
      try {
        return { path, file: await this.files.create(path) }
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      }
    }
  }

  /** Removes the files of processes that were killed. A directory that does not exist has none. */
  async removeLeftovers(): Promise<void> {
    let names: readonly string[]
    try {
      names = await this.files.readdir(this.directory)
    } catch {
      return
    }
    for (const name of names) {
      const pid = Number(nameForm.exec(name)?.[1])
      // A process of the same number may be another one; its files have no name then, or are removed at its end.
      if (pid > 0 && !isRunning(pid)) await this.isRemoved(join(this.directory, name))
    }
  }

  private async prepare(): Promise<void> {
    await this.files.mkdir(this.directory)
    await this.removeLeftovers()
  }

  private async isRemoved(path: string): Promise<boolean> {
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

/** ServerBusy: with a full disk others may end and leave room; where it is something else, somebody has to mend it. */
export function diskFailure(error: unknown): unknown {
  const code = codeOf(error)
  if (error instanceof AshlarError || typeof code !== 'string') return error
  const isFull = fullDisk.has(code)
  const message = isFull
    ? `The disk of the temporary files (temporaryDir) is full (${code}), and the statement needs them for what it sorts, groups or joins beyond its memory (statementBytesMax).`
    : `The temporary files (temporaryDir) cannot be used (${code}), and the statement needs them for what it sorts, groups or joins beyond its memory (statementBytesMax).`
  return new AshlarError('ServerBusy', message, [], {}, !isFull)
}
