/** The log of a server process: lines of JSON on standard error. */
import { destination, type Logger, pino } from 'pino'

/** Bytes per write. */
export const logBytes = 16_000
/** The size of an atomic write to a pipe, so that lines of several processes are not mixed. */
export const sharedLogBytes = 4_096
/** How long a line may be buffered. */
const lineMsMax = 100

export interface Log {
  readonly logger: Logger
  close(): void
}

/**
 * Writes lines in batches in the background, so that requests do not wait for their lines: when the buffer is full, after a tenth of a second, and
 * before the process ends normally, by `process.exit` or by an error. Buffered lines are lost if the process is killed.
 */
export function openLog(level: string, bytes: number, base: object | null = null): Log {
  // The destination scans its whole buffer on each write, so lines are joined before. With `fd`, pino would also open standard output.
  const log = destination({ dest: process.stderr.fd, sync: false, maxWrite: bytes })
  let lines = ''
  let waiting = 0
  let timeout: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timeout)
    timeout = undefined
    if (waiting === 0) return
    log.write(lines)
    lines = ''
    waiting = 0
  }
  const write = (line: string): void => {
    const length = Buffer.byteLength(line)
    if (waiting + length > bytes) flush()
    lines += line
    waiting += length
    timeout ??= setTimeout(flush, lineMsMax).unref()
  }
  // Runs before the destination flushes its buffer.
  process.prependListener('beforeExit', flush).prependListener('exit', flush)
  const close = (): void => {
    flush()
    process.off('beforeExit', flush).off('exit', flush)
    log.flushSync()
  }
  return { logger: pino({ level, base }, { write }), close }
}
