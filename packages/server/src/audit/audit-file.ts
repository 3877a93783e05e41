/** The file of the audit log: appends lines in the background, rotates the file when it is full, and handles write failures. */
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Logger } from 'pino'
import { auditBufferBytesMax, auditLineMsMax, auditRetryMs } from '../limits.ts'

export interface AuditFileOptions {
  readonly file: string
  /** Size at which the file is rotated. */
  readonly fileBytesMax: number
  /** Includes the current file; the oldest files beyond this number are removed. */
  readonly filesMax: number
}

const ownerOnly = 0o600
/** Matches names of rotated files: `audit.ndjson.20261122T230337123Z-4711`. */
const rotatedName = /\.\d{8}T\d{9}Z-\d+$/

/**
 * The file of an audit log, to which several processes append whole lines. A process that finds the file too large renames it; a process that finds
 * another file in its place, also after external log rotation, continues with that file.
 */
export class AuditFile {
  /** Number of appended lines, except lost ones. */
  appended = 0
  /** Number of lines lost because the buffer was full while the file could not be written. */
  lost = 0
  /** Whether the last attempt to write has failed. */
  hasFailed = false
  private readonly options: AuditFileOptions
  private readonly logger: Logger
  private lines: Buffer[] = []
  private bytes = 0
  private timer: NodeJS.Timeout | undefined
  private writing: Promise<void> = Promise.resolve()
  private handle: FileHandle | undefined
  private isClosed = false
  private unreportedLost = 0
  /** Set once the failure to rotate has been logged. */
  private isRotationFailing = false

  constructor(options: AuditFileOptions, logger: Logger) {
    this.options = options
    this.logger = logger
  }

  get name(): string {
    return this.options.file
  }

  /** Throws an Error with a one-sentence message if the file cannot be written. */
  async start(): Promise<void> {
    try {
      this.handle = await this.opened()
    } catch (error) {
      throw new Error(`The audit log ${this.options.file} cannot be written: ${(error as NodeJS.ErrnoException).code}.`)
    }
  }

  /** `line`: JSON, without a line end. It is on disk within `auditLineMsMax`, as long as the file can be written. */
  append(line: string): void {
    const bytes = Buffer.from(`${line}\n`)
    if (this.bytes + bytes.length > auditBufferBytesMax) {
      this.lost++
      this.unreportedLost++
      return
    }
    this.appended++
    this.lines.push(bytes)
    this.bytes += bytes.length
    this.timer ??= setTimeout(() => void this.flush(), auditLineMsMax)
  }

  /** Resolves when all lines appended before are written, or have failed. */
  flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    // After a failed attempt, try again even without new lines.
    this.writing = this.writing.then(() => (this.bytes === 0 && !this.hasFailed ? undefined : this.write()))
    return this.writing
  }

  /** Reopens the file by its name, after log rotation by another program. */
  reopen(): Promise<void> {
    const closed = this.flush().then(() => {
      const { handle } = this
      this.handle = undefined
      return handle?.close()
    })
    // The caller gets the error; later lines go to a new handle.
    this.writing = closed.catch(() => undefined)
    return closed
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.reopen()
    clearTimeout(this.timer)
  }

  private async write(): Promise<void> {
    const lost = this.unreportedLost
    const note = lost === 0 ? [] : [Buffer.from(`${JSON.stringify({ time: new Date().toISOString(), lost })}\n`)]
    let rest: Buffer = Buffer.concat([...this.lines, ...note])
    this.lines = []
    this.bytes = 0
    this.unreportedLost = 0
    try {
      await this.leaveMoved()
      this.handle ??= await this.opened()
      while (rest.length > 0) {
        const { bytesWritten } = await this.handle.write(rest)
        rest = unwritten(rest, bytesWritten)
      }
    } catch (error) {
      this.failed(error as Error, rest)
      return
    }
    this.written()
    await this.rotate(this.handle)
  }

  /** Rotates the file. If that fails, the file grows beyond its limit, which is reported once. */
  private async rotate(handle: FileHandle): Promise<void> {
    try {
      if (await this.rotateFile(handle)) this.isRotationFailing = false
    } catch (err) {
      if (this.isRotationFailing) return
      this.isRotationFailing = true
      this.logger.error(
        { err },
        `A full file of the audit log ${this.options.file} cannot be put aside, or an old one not be removed: it goes on growing.`,
      )
    }
  }

  private written(): void {
    if (!this.hasFailed) return
    this.hasFailed = false
    this.logger.warn({ lost: this.lost }, `The audit log ${this.options.file} can be written again.`)
  }

  /** Keeps unwritten lines up to a limit, and schedules another attempt. */
  private failed(err: Error, rest: Buffer): void {
    if (!this.hasFailed) {
      this.logger.error({ err }, `The audit log ${this.options.file} cannot be written.`)
    }
    this.hasFailed = true
    this.lines = [rest, ...this.lines]
    this.bytes += rest.length
    const { handle } = this
    this.handle = undefined
    // A failure to close adds nothing to the reported failure.
    void handle?.close().catch(() => undefined)
    if (!this.isClosed) this.timer ??= setTimeout(() => void this.flush(), auditRetryMs).unref()
  }

  private async opened(): Promise<FileHandle> {
    const { file } = this.options
    const handle = await open(file, 'a', ownerOnly)
    // Only a regular file that existed before: devices and pipes are shared.
    if ((await handle.stat()).isFile()) await handle.chmod(ownerOnly)
    return handle
  }

  private async leaveMoved(): Promise<void> {
    const { handle } = this
    if (handle === undefined) return
    const [own, named] = await Promise.all([handle.stat(), statOrNone(this.options.file)])
    if (own.ino === named?.ino && own.dev === named.dev) return
    this.handle = undefined
    await handle.close()
  }

  /** Returns true if this process has rotated the file. */
  private async rotateFile(handle: FileHandle): Promise<boolean> {
    const { file, fileBytesMax, filesMax } = this.options
    const own = await handle.stat()
    if (own.size < fileBytesMax) return false
    // Another process may just have rotated it.
    if ((await statOrNone(file))?.ino !== own.ino) return false
    const time = new Date().toISOString().replace(/[-:.]/g, '')
    await rename(file, `${file}.${time}-${process.pid}`)
    for (const old of (await rotatedFiles(file)).slice(filesMax - 1)) await rm(old, { force: true })
    return true
  }
}

/** Repeats a partly written line as a whole, on a new line: readers skip lines that are not JSON. */
function unwritten(bytes: Buffer, written: number): Buffer {
  const rest = bytes.subarray(written)
  if (rest.length === 0 || bytes[written - 1] === 0x0a || written === 0) return rest
  const lineBegan = bytes.lastIndexOf(0x0a, written - 1) + 1
  return Buffer.concat([Buffer.from('\n'), bytes.subarray(lineBegan)])
}

/** Returns the rotated files, newest first. */
export async function rotatedFiles(file: string): Promise<string[]> {
  const directory = dirname(file)
  const prefix = basename(file)
  const names = (await readdir(directory)).filter((name) => name.startsWith(`${prefix}.`) && rotatedName.test(name))
  return names
    .sort()
    .reverse()
    .map((name) => join(directory, name))
}

async function statOrNone(file: string) {
  try {
    return await stat(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
