/** Watches the revision of the security database, which changes when a permission is lost or granted (contract 9.1). */
import { unreadableSecurityMsMax } from '../limits.ts'

export class RevisionWatch {
  /** Changes with the revision. */
  epoch = 0
  /** Whether the revision has been unreadable for too long. */
  isUnreadable = false
  private readonly read: () => Promise<number>
  private readonly onChanged: () => void
  private readonly onFault: (error: unknown) => void
  private revision: number | undefined
  /** The start of the read in progress, or of the first that failed, by `performance.now()`. */
  private unknownSinceMs: number | undefined
  private reading: Promise<void> | undefined

  constructor(read: () => Promise<number>, onChanged: () => void, onFault: (error: unknown) => void) {
    this.read = read
    this.onChanged = onChanged
    this.onFault = onFault
  }

  /** Reads in any case. */
  async refresh(): Promise<void> {
    await this.reading
    this.begin()
    await this.reading
  }

  tick(): void {
    if (this.reading === undefined) this.begin()
    if (this.unknownSinceMs !== undefined && performance.now() - this.unknownSinceMs > unreadableSecurityMsMax) {
      this.isUnreadable = true
    }
  }

  /** Waits for the read in progress. */
  async ended(): Promise<void> {
    await this.reading
  }

  private begin(): void {
    this.unknownSinceMs ??= performance.now()
    this.reading = this.read()
      .then((revision) => this.found(revision))
      .catch((error) => this.onFault(error))
      .finally(() => {
        this.reading = undefined
      })
  }

  private found(revision: number): void {
    this.unknownSinceMs = undefined
    this.isUnreadable = false
    if (revision === this.revision) return
    this.revision = revision
    this.epoch += 1
    this.onChanged()
  }
}
