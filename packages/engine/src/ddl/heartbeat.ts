/** What a process shows of itself while it works on what others could take for a leftover, and how they tell that it is gone. */
import { readFileSync, readlinkSync } from 'node:fs'
import { storePart } from '../bytes/key-layout.ts'
import { keySpace } from '../bytes/key-space.ts'
import { isOutOfReach, withoutEffect } from '../errors.ts'
import type { Bytes, Store } from '../store/store.ts'

interface Sign {
  /** Greater each time; what counts is that it changes. */
  readonly beat: number
  readonly pid: number
  /** Where process numbers mean the same; absent where that cannot be told. */
  readonly place?: string
}

export function heartbeatKey(session: number): Buffer {
  const key = Buffer.from([keySpace.store, storePart.heartbeat, 0, 0, 0])
  key.writeUIntBE(session, 2, 3)
  return key
}

export class Heartbeat {
  private readonly store: Store
  private readonly key: Buffer
  private readonly intervalMs: number
  private beat = 0
  private works = 0
  private timer: NodeJS.Timeout | undefined

  /** `intervalMs`: how often the sign changes while there is work. */
  constructor(store: Store, session: number, intervalMs: number) {
    this.store = store
    this.key = heartbeatKey(session)
    this.intervalMs = intervalMs
  }

  /** Whether this process works on anything that others could take for a leftover. */
  get isBeating(): boolean {
    return this.works > 0
  }

  /** The sign is there before the work begins, and changes until it ends. */
  async runWith<T>(work: () => Promise<T>): Promise<T> {
    this.works++
    try {
      await this.show().catch((error: unknown) => {
        throw withoutEffect(error)
      })
      this.timer ??= setInterval(() => void this.show().catch(ignoreUntilNextTime), this.intervalMs).unref()
      return await work()
    } finally {
      if (--this.works === 0) {
        clearInterval(this.timer)
        this.timer = undefined
      }
    }
  }

  /** What is not done then, is for others to take over at once. */
  async end(): Promise<void> {
    clearInterval(this.timer)
    if (this.beat === 0) return
    try {
      await this.store.commit({ changes: [{ kind: 'delete', key: this.key }], expectations: [] })
    } catch (error) {
      // What was left in a store out of reach, others take over once the sign has stayed the same.
      if (!isOutOfReach(error)) throw error
    }
  }

  private async show(): Promise<void> {
    const sign: Sign = { beat: ++this.beat, pid: process.pid, ...(place === undefined ? {} : { place }) }
    const value = Buffer.from(JSON.stringify(sign))
    await this.store.commit({ changes: [{ kind: 'put', key: this.key, value }], expectations: [] })
  }
}

/** A store that fails is told of by the work itself. */
function ignoreUntilNextTime(): void {}

/** True where the process certainly is no more, false where that is not known. */
export function isProcessDead(stored: Bytes): boolean {
  const sign = JSON.parse(Buffer.from(stored).toString()) as Sign
  if (place === undefined || sign.place !== place) return false
  try {
    process.kill(sign.pid, 0)
    return isZombie(sign.pid)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** It has ended, though nobody has waited for it: in a container whose first process does not, it stays so for ever. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The state follows the name, which may hold anything, in parentheses.
    return /^ [ZX]/.test(stat.slice(stat.lastIndexOf(')') + 1))
  } catch {
    return false
  }
}

/** This start of this machine, and the process numbers that are seen here: containers have their own. */
const place = placeHere()

function placeHere(): string | undefined {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return undefined
  }
}
