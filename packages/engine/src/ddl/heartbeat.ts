/** Heartbeats, which let other processes distinguish work in progress from work abandoned by a dead process. */
import { readFileSync, readlinkSync } from 'node:fs'
import { storePart } from '../bytes/key-layout.ts'
import { keySpace } from '../bytes/key-space.ts'
import { isOutOfReach, withoutEffect } from '../errors.ts'
import type { Bytes, Store } from '../store/store.ts'

/** The row as JSON. */
interface StoredBeat {
  /** A counter. Observers compare whole rows, so only the change matters. */
  readonly beat: number
  readonly pid: number
  /** Identifies the PID namespace of `pid`; absent if it cannot be determined. */
  readonly place?: string
}

export function heartbeatKey(sessionNumber: number): Buffer {
  const key = Buffer.from([keySpace.store, storePart.heartbeat, 0, 0, 0])
  key.writeUIntBE(sessionNumber, 2, 3)
  return key
}

export class Heartbeat {
  private readonly store: Store
  private readonly key: Buffer
  private readonly intervalMs: number
  private beats = 0
  private works = 0
  private timer: NodeJS.Timeout | undefined

  /** `intervalMs`: the interval of changes to the row during work. */
  constructor(store: Store, sessionNumber: number, intervalMs: number) {
    this.store = store
    this.key = heartbeatKey(sessionNumber)
    this.intervalMs = intervalMs
  }

  /** Whether this process is doing work that other processes would treat as abandoned without the heartbeat. */
  get isBeating(): boolean {
    return this.works > 0
  }

  /** Beats while `work` runs; see `start`. */
  async runWith<T>(work: () => Promise<T>): Promise<T> {
    await this.start()
    try {
      return await work()
    } finally {
      this.stop()
    }
  }

  /**
   * When this resolves, the row is in the store; it keeps changing until `stop`, to be called once per successful `start`.
   * Throws the errors of the commit, as without effect.
   */
  async start(): Promise<void> {
    this.works++
    try {
      await this.beat()
    } catch (error) {
      this.stop()
      throw withoutEffect(error)
    }
    this.timer ??= setInterval(() => void this.beat().catch(ignoreUntilNextBeat), this.intervalMs).unref()
  }

  stop(): void {
    if (--this.works > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }

  /** Deletes the row, so that other processes take over unfinished work immediately. */
  async end(): Promise<void> {
    clearInterval(this.timer)
    if (this.beats === 0) return
    try {
      await this.store.commit({ changes: [{ kind: 'delete', key: this.key }], preconditions: [] })
    } catch (error) {
      // The row remains while the store is unreachable; other processes take over after it has not changed for some time.
      if (!isOutOfReach(error)) throw error
    }
  }

  private async beat(): Promise<void> {
    const row: StoredBeat = {
      beat: ++this.beats,
      pid: process.pid,
      ...(currentPlace === undefined ? {} : { place: currentPlace }),
    }
    const value = Buffer.from(JSON.stringify(row))
    await this.store.commit({ changes: [{ kind: 'put', key: this.key, value }], preconditions: [] })
  }
}

/** If the store fails, the work itself reports it. */
function ignoreUntilNextBeat(): void {}

/** `stored`: a heartbeat row. True if its process has certainly ended, false if that is not known. */
export function isProcessDead(stored: Bytes): boolean {
  const row = JSON.parse(Buffer.from(stored).toString()) as StoredBeat
  if (currentPlace === undefined || row.place !== currentPlace) return false
  try {
    process.kill(row.pid, 0)
    return isZombie(row.pid)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** The process has ended but was not reaped: in a container whose init process does not reap, it stays a zombie forever. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The state follows the name, which is in parentheses and may contain anything.
    return /^ [ZX]/.test(stat.slice(stat.lastIndexOf(')') + 1))
  } catch {
    return false
  }
}

/** Identifies this boot of this machine and the PID namespace, which differs between containers. */
export const currentPlace = placeHere()

function placeHere(): string | undefined {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return undefined
  }
}
