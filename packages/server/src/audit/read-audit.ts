/** Pages of the audit log, the newest entries first. */
import { type FileHandle, open } from 'node:fs/promises'
import { rotatedFiles } from './audit-file.ts'

const pieceBytes = 65_536
/** Longer lines were not written by Ashlar. */
const lineBytesMax = 65_536
const newline = 0x0a

export interface AuditPage {
  readonly entries: readonly unknown[]
  /** The cursor for older entries; null if there are none. */
  readonly next: string | null
}

const cursorForm = /^(\d{1,20})-(\d{1,15})$/

/** `before`: the cursor of an earlier page. Returns undefined if it is invalid, or its file was removed. */
export async function readAudit(
  file: string,
  limit: number,
  before: string | undefined,
): Promise<AuditPage | undefined> {
  const parsed = before === undefined ? undefined : cursorForm.exec(before)
  if (parsed === null) return undefined
  let from = parsed && { ino: parsed[1], end: Number(parsed[2]) }
  const entries: unknown[] = []
  for (const name of [file, ...(await rotatedFiles(file))]) {
    const handle = await openIfExists(name)
    if (handle === undefined) continue
    try {
      const { ino, size } = await handle.stat()
      if (from !== undefined && from.ino !== String(ino)) continue
      const end = Math.min(size, from?.end ?? size)
      from = undefined
      const at = await readBackwards(handle, end, limit, entries)
      if (entries.length >= limit) return { entries, next: `${ino}-${at}` }
    } finally {
      await handle.close()
    }
  }
  return from === undefined ? { entries, next: null } : undefined
}

/** Reads complete lines before `end`, the last one first. Returns the position of the last line that was read. */
async function readBackwards(handle: FileHandle, end: number, limit: number, entries: unknown[]): Promise<number> {
  let tail: Buffer = Buffer.alloc(0)
  let at = end
  let begin = end
  while (at > 0 && entries.length < limit) {
    const bytes = Math.min(pieceBytes, at)
    at -= bytes
    const piece = Buffer.alloc(bytes)
    await handle.read(piece, 0, bytes, at)
    let rest = Buffer.concat([piece, tail])
    for (let cut = rest.lastIndexOf(newline, -2); entries.length < limit; cut = rest.lastIndexOf(newline, -2)) {
      if (cut < 0 && at > 0) break
      begin = at + cut + 1
      take(rest.subarray(cut + 1), entries)
      rest = rest.subarray(0, cut + 1)
      if (rest.length === 0) break
    }
    tail = rest.length > lineBytesMax ? Buffer.alloc(0) : rest
  }
  return begin
}

function take(line: Buffer, entries: unknown[]): void {
  if (line.length <= 1) return
  try {
    entries.push(JSON.parse(line.toString()))
  } catch {
    // A partly written line; it follows once more.
  }
}

async function openIfExists(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
