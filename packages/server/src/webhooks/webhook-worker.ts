/**
 * Delivers the changes of one webhook, one by one, while this process is its worker. A delivery counts as done only after the receiver has accepted
 * it: if the process is killed in between, it is sent again.
 */
import { createHash } from 'node:crypto'
import {
  AshlarError,
  type ChangesPage,
  type DeadLetter,
  type DueDelivery,
  type FederatedDatabase,
  type ReportedChange,
  type Subscription,
  SubscriptionLost,
  type SubscriptionState,
} from '@ashlar/engine'
import { subscriptionLeaseMs } from '@ashlar/engine/limits'
import { type ServerLimits, webhookPollMs, webhookRestMs } from '../limits.ts'
import { type Delivery, post } from './post.ts'
import { signedHeaders } from './signature.ts'
import type { WebhookConfig } from './webhook-settings.ts'

export interface WorkerListener {
  /** Called once per reason. */
  onFailure(hook: string, reason: string): void
  onDeadLetter(hook: string, reason: string): void
  onDisabled(hook: string, reason: string): void
  onFault(error: unknown): void
}

interface Message {
  readonly id: string
  readonly body: string
  readonly changes: number
  /** The position of the subscription after the delivery. */
  readonly position: string
}

export type WebhookLimits = Pick<ServerLimits, 'webhookTimeoutMs' | 'webhookRetryMsMin' | 'webhookRetryMsMax'>

const beatMs = subscriptionLeaseMs / 3

export class WebhookWorker {
  readonly config: WebhookConfig
  private readonly subscription: Subscription
  private readonly fd: FederatedDatabase
  private readonly allowPrivateAddresses: boolean
  private readonly limits: WebhookLimits
  private readonly listener: WorkerListener
  private readonly ending = new AbortController()
  private readonly stopping = this.ending.signal
  private working: Promise<void> = Promise.resolve()
  private reportedReason: string | undefined
  /** Ends a pause early. */
  private wake: (() => void) | undefined

  constructor(
    config: WebhookConfig,
    fd: FederatedDatabase,
    allowPrivateAddresses: boolean,
    limits: WebhookLimits,
    listener: WorkerListener,
  ) {
    this.limits = limits
    this.config = config
    this.fd = fd
    this.allowPrivateAddresses = allowPrivateAddresses
    this.listener = listener
    this.subscription = this.newSubscription()
  }

  /** Creates another view of the subscription, for readers and for external changes. */
  newSubscription(): Subscription {
    return this.fd.subscription(`webhook ${this.config.name}`)
  }

  start(): void {
    this.working = this.work()
  }

  /** Stops; a delivery in progress is repeated by the next worker. */
  async stop(): Promise<void> {
    this.ending.abort(new Error('the server is stopping'))
    this.wake?.()
    await this.working
  }

  /** Call after a change of the subscription. */
  checkNow(): void {
    this.wake?.()
  }

  private async work(): Promise<void> {
    while (!this.stopping.aborted) {
      try {
        const state = await this.subscription.acquire(() => this.beginning())
        if (state !== undefined) await this.deliverAll(state)
      } catch (error) {
        if (this.stopping.aborted) break
        if (error instanceof SubscriptionLost) continue
        await this.noteProblem(error)
      }
      if (!this.stopping.aborted) await this.waitForChange()
    }
    await this.subscription.release().catch(() => undefined)
  }

  /** Waits for a change that may remove the obstacle, such as a missing class. */
  private async waitForChange(): Promise<void> {
    const seen = this.fd.waiters.count
    await this.rest(webhookPollMs)
    await this.fd.waiters.wait(seen, webhookRestMs, this.stopping)
  }

  private async beginning(): Promise<string> {
    if (this.config.since === 'first') return 'first'
    return (await this.fd.changes.page({ since: 'now', include: 'keys', limit: 1, signal: this.stopping })).position
  }

  /** Ends with SubscriptionLost when another process has taken over. */
  private async deliverAll(acquired: SubscriptionState): Promise<void> {
    let state = acquired
    let savedMs = performance.now()
    let { position } = state
    for (;;) {
      if (state.disabled !== undefined) {
        await this.rest(beatMs)
        state = await this.subscription.update()
        continue
      }
      const seen = this.fd.waiters.count
      const page = await this.pageFrom(position)
      if (page === undefined) {
        state = await this.subscription.update({ ...nothingDue, position: 'first', hasMissed: true })
        position = state.position
        this.listener.onFailure(this.config.name, 'Changes were removed from the log before they could be delivered.')
        continue
      }
      if (state.error !== undefined && state.attempts === undefined) {
        this.reportedReason = undefined
        state = await this.subscription.update({ error: undefined, failingSince: undefined })
      }
      if (page.changes.length > 0) {
        state = await this.deliverNext(state, position, page)
        position = state.position
        savedMs = performance.now()
        continue
      }
      position = page.position
      if (performance.now() - savedMs >= beatMs) {
        state = await this.subscription.update({ position })
        savedMs = performance.now()
      }
      if (page.isAtEnd) await this.fd.waiters.wait(seen, beatMs, this.stopping)
      this.stopping.throwIfAborted()
    }
  }

  /**
   * Stores which changes a delivery has before its first attempt. Otherwise, after a kill, the next process would find more changes in the log, and
   * the receiver would get the same changes under another ID.
   */
  private async deliverNext(before: SubscriptionState, since: string, page: ChangesPage): Promise<SubscriptionState> {
    const { due } = before
    if (due !== undefined && since === before.position) {
      const message = this.messageOf(page.changes.slice(0, due.changes), due, before)
      // The webhook was reconfigured.
      if (message.id === due.id) return this.deliver(message, before)
    }
    const { changes, position } = page
    const at = new Date().toISOString()
    const message = this.messageOf(changes, { at, position }, before)
    const next = { id: message.id, at, changes: changes.length, position }
    return this.deliver(message, await this.subscription.update({ position: since, due: next }))
  }

  /** Repeats until the message is delivered, is a dead letter, or the receiver has refused further deliveries. */
  private async deliver(message: Message, before: SubscriptionState): Promise<SubscriptionState> {
    let state = before
    for (;;) {
      await this.restUntil(state.nextAttemptAt)
      const delivery = await this.send(message.id, message.body)
      if (delivery.kind === 'delivered') return this.delivered(message, state)
      this.stopping.throwIfAborted()
      if (delivery.kind === 'gone') return this.disable(state)
      state = await this.failed(message, delivery, state)
      if (state.position === message.position) return state
    }
  }

  send(id: string, body: string): Promise<Delivery> {
    const { secret } = this.config
    const headers = signedHeaders(secret, id, Math.floor(Date.now() / 1_000), body)
    const { allowPrivateAddresses, limits, stopping: signal } = this
    return post({
      url: new URL(this.config.url),
      headers,
      body,
      allowPrivateAddresses,
      timeoutMs: limits.webhookTimeoutMs,
      signal,
    })
  }

  private async delivered({ position }: Message, state: SubscriptionState): Promise<SubscriptionState> {
    this.reportedReason = undefined
    const deliveredAt = new Date().toISOString()
    const deliveries = state.deliveries + 1
    return this.subscription.update({ ...nothingDue, position, hasMissed: undefined, deliveredAt, deliveries })
  }

  private async disable(state: SubscriptionState): Promise<SubscriptionState> {
    const disabled = 'The receiver replied 410 Gone: it accepts no further deliveries.'
    const next = await this.subscription.update({ ...noFailure, disabled, failures: state.failures + 1 })
    this.listener.onDisabled(this.config.name, disabled)
    return next
  }

  private async failed(
    message: Message,
    { reason, retryAfterMs = 0 }: Extract<Delivery, { kind: 'failed' }>,
    state: SubscriptionState,
  ): Promise<SubscriptionState> {
    const { name, retryForMs } = this.config
    const nowMs = Date.now()
    const attempts = (state.attempts ?? 0) + 1
    const failingSince = state.failingSince ?? new Date(nowMs).toISOString()
    const failures = state.failures + 1
    if (nowMs - Date.parse(failingSince) >= retryForMs) {
      const { id, body, changes, position } = message
      const letter: DeadLetter = {
        number: 0,
        at: new Date(nowMs).toISOString(),
        attempts,
        error: reason,
        id,
        changes,
        body,
      }
      this.listener.onDeadLetter(name, reason)
      return this.subscription.update({ ...nothingDue, position, hasMissed: undefined, failures }, letter)
    }
    if (this.reportedReason !== reason) this.listener.onFailure(name, reason)
    this.reportedReason = reason
    const waitMs = Math.max(retryMs(attempts, this.limits), Math.min(retryAfterMs, this.limits.webhookRetryMsMax))
    const nextAttemptAt = new Date(nowMs + waitMs).toISOString()
    return this.subscription.update({ attempts, failingSince, nextAttemptAt, error: reason, failures })
  }

  /** Returns undefined if undelivered changes were removed from the log. */
  private async pageFrom(since: string): Promise<ChangesPage | undefined> {
    const { className, where, include, changesMax: limit } = this.config
    try {
      return await this.fd.changes.page({ since, className, where, include, limit, user: null, signal: this.stopping })
    } catch (error) {
      if (error instanceof AshlarError && error.type === 'ChangesGone') return undefined
      throw error
    }
  }

  private messageOf(
    changes: readonly ReportedChange[],
    { at: timestamp, position }: Pick<DueDelivery, 'at' | 'position'>,
    { hasMissed }: SubscriptionState,
  ): Message {
    const { name, fd, className, where, include } = this.config
    const head = { type: 'changes', timestamp }
    const data = { webhook: name, fd, ...(hasMissed === true ? { missed: true } : {}) }
    const texts = changes.map(({ json }) => json.toString())
    const text = `${JSON.stringify(data).slice(0, -1)},"changes":[${texts.join(',')}],"position":${JSON.stringify(position)}}`
    const [first, last] = [changes[0]?.position, changes.at(-1)?.position]
    const identity = JSON.stringify([fd, name, className, where, include, first, last, position])
    return {
      id: `msg_${createHash('sha256').update(identity).digest('hex').slice(0, 32)}`,
      body: `${JSON.stringify(head).slice(0, -1)},"data":${text}}`,
      changes: changes.length,
      position,
    }
  }

  /** Writes heartbeats while it waits. */
  private async restUntil(time: string | undefined): Promise<void> {
    if (time === undefined) return
    for (;;) {
      const leftMs = Date.parse(time) - Date.now()
      if (leftMs <= 0) return
      await this.rest(Math.min(leftMs, beatMs))
      this.stopping.throwIfAborted()
      await this.subscription.update()
    }
  }

  private rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.wake = undefined
        resolve()
      }
      const timer = setTimeout(end, ms).unref()
      this.wake = end
    })
  }

  /** Records an obstacle: a missing class, a disabled log, an unavailable store. */
  private async noteProblem(error: unknown): Promise<void> {
    if (!(error instanceof AshlarError)) this.listener.onFault(error)
    const { message } = error as Error
    if (this.reportedReason === message) return
    this.reportedReason = message
    this.listener.onFailure(this.config.name, message)
    const fail = async (): Promise<unknown> => {
      const { failingSince = new Date().toISOString() } = (await this.subscription.state()) ?? {}
      return this.subscription.update({ error: message, failingSince })
    }
    await fail().catch(() => undefined)
  }
}

const noFailure = { attempts: undefined, failingSince: undefined, nextAttemptAt: undefined, error: undefined }
const nothingDue = { ...noFailure, due: undefined }

/** Grows exponentially, with jitter to spread deliveries that have failed together. */
function retryMs(attempts: number, { webhookRetryMsMin, webhookRetryMsMax }: WebhookLimits): number {
  const ms = Math.min(webhookRetryMsMin * 3 ** Math.min(attempts - 1, 20), webhookRetryMsMax)
  return ms * (0.8 + 0.4 * Math.random())
}
