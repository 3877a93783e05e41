/** A probe: a condition that one entry of the store imposes on another. */
import type { CheckSource } from '../records/constraints.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Bytes } from '../store/store.ts'

export interface VerifyContext {
  readonly catalog: Catalog
  readonly checks: CheckSource
  /** Numbers of dropped indexes whose entries are still being cleared. */
  readonly droppedIndexes: ReadonlySet<number>
  /** Numbers of deleted attributes whose link entries are still being cleared. */
  readonly droppedLinkAttributes: ReadonlySet<number>
  readonly problems: string[]
}

export interface Probe {
  readonly key: Buffer
  /** `value`: undefined if the key is missing. Returns a description of the problem, or undefined. */
  readonly evaluate: (value: Bytes | undefined) => Verdict
}

export type Verdict = string | undefined

export function mustHold(key: Buffer, expected: Uint8Array, problem: string): Probe {
  return {
    key,
    evaluate: (value) => (value !== undefined && Buffer.compare(value, expected) === 0 ? undefined : problem),
  }
}

export function mustExist(key: Buffer, problem: string): Probe {
  return { key, evaluate: (value) => (value === undefined ? problem : undefined) }
}
