/** Objects that references name, for all statements whose snapshots show the same: those of requests that have arrived together. */
import type { RecordFormats } from '../../records/record-formats.ts'
import type { Snapshot } from '../../store/store.ts'
import { TargetObjects } from './target-objects.ts'

/** Of one snapshot; a statement that needs more reads all of them by itself from then on. */
const room = { objects: 1_024, bytes: 262_144 }

interface SharedTargets {
  readonly formats: RecordFormats
  readonly targets: TargetObjects
}

/** Gone with what the snapshots share. */
const ofSnapshots = new WeakMap<object, SharedTargets>()

/**
 * Undefined where the snapshot shares with nobody: callers with rules see their own, and transactions what they have written. What statements
 * of another catalog read is shown otherwise, so that those of the first one alone share.
 */
export function sharedTargets({ sharedObjects }: Snapshot, formats: RecordFormats): TargetObjects | undefined {
  if (sharedObjects === undefined) return undefined
  let shared = ofSnapshots.get(sharedObjects)
  if (shared === undefined) {
    shared = { formats, targets: new TargetObjects(room) }
    ofSnapshots.set(sharedObjects, shared)
  }
  return shared.formats === formats ? shared.targets : undefined
}
