/** What `loop-holds.mjs` has told: for how long the event loops of a measured server were held at most, in milliseconds. */
import { existsSync, readFileSync } from 'node:fs'

export interface Hold {
  readonly held: number
  /** Without what the thread waited for a processor. */
  readonly own: number
  /** For which the thread had a processor. */
  readonly cpu: number
  /** Of the collection of garbage, in the hold that took most of a processor. */
  readonly gc: number
}

export const holdColumns = ['loop held', 'without waiting for a CPU', 'its CPU', 'of which GC'] as const

/** `since`: by the clock. */
export function longestHold(file: string, since: number): Hold {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) : []
  const told = lines.map((line) => JSON.parse(line) as Hold & { readonly at: number })
  const during = told.filter(({ at }) => at >= since)
  const cpu = Math.max(0, ...during.map((hold) => hold.cpu))
  return {
    held: Math.max(0, ...during.map(({ held }) => held)),
    own: Math.max(0, ...during.map(({ own }) => own)),
    cpu,
    gc: during.find((hold) => hold.cpu === cpu)?.gc ?? 0,
  }
}

export function holdCells({ held, own, cpu, gc }: Hold): string[] {
  return [held, own, cpu, gc].map((ms) => String(Math.round(ms)))
}
