/** Sources of text: a file, or standard input or a pipe, which is copied to a temporary file if it must be read twice. */
import { createReadStream, statSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addAbortSignal, Readable } from 'node:stream'
import { type CommandError, invalidInput } from '../errors/command-error.ts'
import { unwritable } from '../errors/file-errors.ts'
import { importSpoolBytesMax } from '../limits.ts'

export interface TextSource {
  readonly what: string
  readonly size: number | undefined
  open(): Readable
}

/** `-`: standard input. */
export function textSource(file: string): TextSource {
  if (file === '-') return { what: 'Standard input', size: undefined, open: () => process.stdin }
  const stats = statSync(file)
  return { what: file, size: stats.isFile() ? stats.size : undefined, open: () => createReadStream(file) }
}

/** Calls `use` with a source that can be read more than once. */
export async function withRereadable<T>(
  source: TextSource,
  signal: AbortSignal,
  use: (source: TextSource) => Promise<T>,
): Promise<T> {
  if (source.size !== undefined) return await use(source)
  const name = join(tmpdir(), `ashlar-import-${process.pid}-${Date.now()}`)
  const handle = await openUnlinked(name)
  try {
    const size = await fill(handle, name, source, signal)
    return await use({
      what: source.what,
      size,
      open: () => Readable.from(chunksOf(handle), { objectMode: false }),
    })
  } finally {
    await handle.close()
  }
}

/** Unlinks the file after opening it, so that it never outlives this process. */
async function openUnlinked(name: string): Promise<FileHandle> {
  try {
    const handle = await open(name, 'wx+', 0o600)
    await rm(name)
    return handle
  } catch (error) {
    throw unwritable(name, error)
  }
}

async function fill(
  handle: FileHandle,
  name: string,
  { what, open: begin }: TextSource,
  signal: AbortSignal,
): Promise<number> {
  let size = 0
  for await (const chunk of addAbortSignal(signal, begin()) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > importSpoolBytesMax) throw tooLong(what)
    await handle.appendFile(chunk).catch((error: unknown) => {
      throw unwritable(name, error, true)
    })
  }
  return size
}

/** Unlike a stream of the handle, does not close it at the end. */
async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

const chunkBytes = 65_536

function tooLong(what: string): CommandError {
  const gigabytes = importSpoolBytesMax / 2 ** 30
  const advice =
    'Write it to a file and import that, or create the class first, for example by importing a part of the data.'
  return invalidInput(
    `${what} is longer than ${gigabytes} GiB, the limit of the temporary file from which the types of a new class are inferred. ${advice}`,
  )
}
