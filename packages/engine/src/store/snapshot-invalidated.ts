/** Thrown by a snapshot opened with `prefetchKeys` if these have changed before anything else was read; the snapshot must be opened again. */
export class SnapshotInvalidated extends Error {
  constructor() {
    super('What was read first has changed since; the snapshot shows two moments and must be opened again.')
  }
}
