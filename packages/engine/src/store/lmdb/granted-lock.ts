/** A lock that excludes other commits: a write transaction of LMDB that stays open until the holder commits. */
import { commitLockMsMax } from '../../limits.ts'
import type { Commit, CommitLock, CommitOutcome } from '../store.ts'

export class GrantedLock implements CommitLock {
  private readonly grant: (lock: GrantedLock) => void
  private state: 'waiting' | 'held' | 'over' = 'waiting'
  private timer: NodeJS.Timeout | undefined
  private end!: (commit: Commit | undefined) => void
  private readonly ended = new Promise<Commit | undefined>((resolve) => {
    this.end = resolve
  })
  private answer: { resolve(outcome: CommitOutcome): void; reject(error: Error): void } | undefined

  /** `grant`: called once the lock is held. */
  constructor(grant: (lock: GrantedLock) => void) {
    this.grant = grant
  }

  get isActive(): boolean {
    return this.state === 'held'
  }

  /** Must be called within the write transaction. Resolves with the holder's commit, or undefined if it does not commit in time. */
  hold(): Promise<Commit | undefined> {
    if (this.state === 'waiting') {
      this.state = 'held'
      this.timer = setTimeout(() => this.release(), commitLockMsMax)
      this.grant(this)
    }
    return this.ended
  }

  /** The final commit of the holder, while it holds the lock. */
  commit(commit: Commit): Promise<CommitOutcome> {
    return new Promise((resolve, reject) => {
      this.answer = { resolve, reject }
      this.finish(commit)
    })
  }

  release(): void {
    if (this.state !== 'over') this.finish(undefined)
  }

  /** Reports the outcome of the commit. */
  resolve(outcome: CommitOutcome): void {
    this.answer?.resolve(outcome)
  }

  reject(error: Error): void {
    this.answer?.reject(error)
  }

  private finish(commit: Commit | undefined): void {
    this.state = 'over'
    clearTimeout(this.timer)
    this.end(commit)
  }
}
