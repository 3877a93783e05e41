/** The log of a server process: lines of JSON on standard error. */
import { destination, type Logger, pino } from 'pino'

/** Bytes of the log that are written at a time. */
export const logBytes = 16_000
/** What a pipe takes as a whole: so the lines of several processes do not run into each other. */
export const sharedLogBytes = 4_096

export interface Log {
  readonly logger: Logger
  close(): void
}

/** Written in the background, so that a request does not wait for its log line. */
export function openLog(level: string, bytes: number, base: object | null = null): Log {
  const log = destination({ fd: process.stderr.fd, sync: false, minLength: bytes - 1, maxWrite: bytes })
  const flushing = setInterval(() => log.flush(), 1_000).unref()
  const close = (): void => {
    clearInterval(flushing)
    log.flushSync()
  }
  return { logger: pino({ level, base }, log), close }
}
