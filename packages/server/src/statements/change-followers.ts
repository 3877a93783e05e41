/** Requests that follow the changes of a federated database, or wait for one. They are not statements, and have separate limits. */
import { setImmediate as nextIteration } from 'node:timers/promises'
import { AshlarError, type CancelSignal } from '@ashlar/engine'
import type { ServerLimits } from '../limits.ts'
import type { Caller } from '../security/caller.ts'
import { ShareCounts } from '../shares/share-queue.ts'
import { sharerText } from '../shares/sharer.ts'
import { StopSignal } from './stop-signal.ts'

type FollowerLimits = Pick<ServerLimits, 'changeFollowersMax' | 'changeFollowersPerCallerMax'>

interface FollowerRequest {
  readonly sharer: string
  readonly alias: string
  readonly caller: Caller
  /** Aborted when the client disconnects. */
  readonly signal: CancelSignal
}

interface Following extends FollowerRequest {
  /** Undefined if the follower has all changes. */
  behindSinceMs: number | undefined
}

export interface Follower {
  /** Also aborted if the caller loses a permission, or the server stops. */
  readonly signal: StopSignal
  /** Call when the follower has all changes and waits for more. */
  waits(): void
  /** Call when the follower may lack changes. */
  proceeds(): void
  /** Call when the follower is done, at the latest when the client has disconnected. */
  end(): void
}

export class ChangeFollowers {
  private readonly limits: FollowerLimits
  private readonly all = new Map<Follower, Following>()
  private readonly counts = new ShareCounts()
  private isStopping = false

  constructor(limits: FollowerLimits) {
    this.limits = limits
  }

  get count(): number {
    return this.all.size
  }

  /** Returns the longest time for which a follower of a federated database has lacked changes. */
  lagMs(alias: string): number {
    const now = performance.now()
    let lagMs = 0
    for (const following of this.all.values()) {
      if (following.alias === alias) lagMs = Math.max(lagMs, now - (following.behindSinceMs ?? now))
    }
    return lagMs
  }

  /** Throws ServerBusy, TooManyFollowers, ShuttingDown. */
  begin(request: FollowerRequest): Follower {
    const { sharer } = request
    const { changeFollowersMax, changeFollowersPerCallerMax } = this.limits
    if (this.isStopping) throw stopped()
    if (this.counts.of(sharer) >= changeFollowersPerCallerMax) {
      const { whose, share } = sharerText(sharer)
      const message = `${whose} already has ${changeFollowersPerCallerMax} requests that follow changes, the share of ${share} (changeFollowersPerCallerMax).`
      throw new AshlarError('TooManyFollowers', message)
    }
    if (this.all.size >= changeFollowersMax) {
      const message = `The server already has ${changeFollowersMax} requests that follow changes, the maximum (changeFollowersMax).`
      throw new AshlarError('ServerBusy', message)
    }
    const { signal: clientSignal } = request
    const signal = new StopSignal()
    const onDisconnect = (): void => {
      signal.abort(clientSignal.reason as Error)
      follower.end()
    }
    const state: Following = { ...request, behindSinceMs: performance.now() }
    const follower: Follower = {
      signal,
      waits: () => {
        state.behindSinceMs = undefined
      },
      proceeds: () => {
        state.behindSinceMs ??= performance.now()
      },
      end: () => {
        if (!this.all.delete(follower)) return
        clientSignal.removeEventListener('abort', onDisconnect)
        this.counts.remove(sharer)
      },
    }
    this.all.set(follower, state)
    this.counts.add(sharer)
    if (clientSignal.aborted) onDisconnect()
    else clientSignal.addEventListener('abort', onDisconnect)
    return follower
  }

  /** Ends the followers for which `endReasonOf` returns a reason. */
  async endEach(endReasonOf: (caller: Caller, alias: string) => Promise<Error | undefined>): Promise<void> {
    for (const [follower, { caller, alias }] of [...this.all]) {
      const reason = await endReasonOf(caller, alias)
      // It may have ended meanwhile.
      if (reason !== undefined && this.all.has(follower)) follower.signal.abort(reason)
      await nextIteration()
    }
  }

  /** Ends all followers; their clients reconnect to a running server. */
  stop(): void {
    this.isStopping = true
    for (const follower of [...this.all.keys()]) follower.signal.abort(stopped())
  }
}

function stopped(): AshlarError {
  return new AshlarError('ShuttingDown', 'The server is stopping.')
}
