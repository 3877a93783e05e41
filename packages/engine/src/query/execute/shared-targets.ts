/** Cache of referenced objects, shared by all statements whose snapshots show the same data, as for requests that arrive together. */
import type { RecordFormats } from '../../records/record-formats.ts'
import type { Snapshot } from '../../store/store.ts'
import { TargetObjects } from './target-objects.ts'

/** Limits per snapshot; a statement that needs more reads everything itself from then on. */
const room = { objects: 1_024, bytes: 262_144 }

interface SharedTargets {
  readonly formats: RecordFormats
  readonly targets: TargetObjects
}

/** Entries live as long as the object that the snapshots share. */
const targetsBySnapshot = new WeakMap<object, SharedTargets>()

/**
 * Undefined where the snapshot is not shared: access rules and uncommitted changes make its data private. The first statement's catalog decides
 * who shares, since another catalog decodes records differently.
 */
export function sharedTargets({ sharedObjects }: Snapshot, formats: RecordFormats): TargetObjects | undefined {
  if (sharedObjects === undefined) return undefined
  let shared = targetsBySnapshot.get(sharedObjects)
  if (shared === undefined) {
    shared = { formats, targets: new TargetObjects(room) }
    targetsBySnapshot.set(sharedObjects, shared)
  }
  return shared.formats === formats ? shared.targets : undefined
}
