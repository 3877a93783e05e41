/** The progress of a background index build, stored so that any process can report it and resume the build. */
import { catalogKey } from '../catalog/catalog-keys.ts'
import type { IndexNumber } from '../schema/class-definition.ts'
import type { Snapshot } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { BuildProgress } from './build.ts'

export interface StoredProgress {
  readonly objectsDone: number
  readonly objectsTotal: number
  readonly last?: Oid
}

/** Undefined before the first step and after the build. */
export async function readProgress(snapshot: Snapshot, index: IndexNumber): Promise<StoredProgress | undefined> {
  const { values } = await snapshot.read([catalogKey('progress', index)])
  const [stored] = values
  return stored === undefined ? undefined : (JSON.parse(Buffer.from(stored).toString()) as StoredProgress)
}

export function encodeProgress(progress: StoredProgress): Buffer {
  return Buffer.from(JSON.stringify(progress))
}

/** Resumes from the stored progress. */
export function progressOf(index: IndexNumber, stored: StoredProgress): BuildProgress {
  let { objectsDone } = stored
  const { objectsTotal, last } = stored
  return {
    key: catalogKey('progress', index),
    last,
    after(reached, objects) {
      objectsDone = Math.min(objectsTotal, objectsDone + objects)
      return encodeProgress({ objectsDone, objectsTotal, last: reached })
    },
  }
}
