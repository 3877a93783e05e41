/** Writes restored entries in commits of bounded size; the last of several changes to an entry wins. */
import { restoreCommitBytesMax, restoreCommitEntriesMax } from '../limits.ts'
import type { CopyClaim } from '../storage/copy-claim.ts'
import type { Bytes, Change } from '../store/store.ts'

export class TargetWriter {
  private readonly claim: CopyClaim
  private changes = new Map<string, Change>()
  private bytes = 0
  private reached: Bytes | undefined

  constructor(claim: CopyClaim) {
    this.claim = claim
  }

  /** `reached`: the key of this entry if entries arrive in order. Waits only if a commit is due. */
  add(change: Change, reached?: Bytes): Promise<void> | undefined {
    this.changes.set(Buffer.from(change.key).toString('latin1'), change)
    this.bytes += change.key.length + (change.kind === 'put' ? change.value.length : 0)
    this.reached = reached
    if (this.changes.size < restoreCommitEntriesMax && this.bytes < restoreCommitBytesMax) return undefined
    return this.flush()
  }

  async flush(): Promise<void> {
    const changes = [...this.changes.values()]
    if (changes.length === 0) return
    this.changes = new Map()
    this.bytes = 0
    await this.claim.commit(changes, this.reached)
  }
}
