/** Thrown by a snapshot opened with `prefetchKeys` when these have changed before anything else was read: to be begun anew. */
export class SnapshotInvalidated extends Error {
  constructor() {
    super('What was read first has changed since; the snapshot shows two moments and must be opened again.')
  }
}
