/** The open snapshots of one store: how old the oldest is, and all of them ended when the store closes. */

interface Held {
  readonly openedAtMs: number
  release(): void
}

export interface OpenSnapshots<S extends Held> {
  add(snapshot: S): S
  remove(snapshot: S): void
  oldestMs(): number
  releaseAll(): void
}

export function trackOpenSnapshots<S extends Held>(): OpenSnapshots<S> {
  // A set keeps the order of arrival: its first member is the oldest.
  const open = new Set<S>()
  return {
    add(snapshot) {
      open.add(snapshot)
      return snapshot
    },
    remove(snapshot) {
      open.delete(snapshot)
    },
    oldestMs() {
      for (const snapshot of open) return performance.now() - snapshot.openedAtMs
      return 0
    },
    releaseAll() {
      for (const snapshot of [...open]) snapshot.release()
    },
  }
}
