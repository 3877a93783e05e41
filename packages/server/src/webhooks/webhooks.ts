/** The webhooks of a server: workers, state, and operations. */
import type { DeadLetter, DeadLetterSummary, FederatedDatabase, Subscription, SubscriptionState } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import type { WebhookConfig, WebhookSettings } from './webhook-settings.ts'
import { type WebhookLimits, WebhookWorker, type WorkerListener } from './webhook-worker.ts'

export interface WebhookState {
  readonly config: WebhookConfig
  /** Undefined before the first delivery. */
  readonly state: SubscriptionState | undefined
}

export class Webhooks {
  private readonly workers: readonly WebhookWorker[]

  /** Throws an Error with a one-sentence message if a webhook belongs to a federated database that is not served. */
  constructor(
    settings: WebhookSettings,
    fds: readonly FederatedDatabase[],
    limits: WebhookLimits,
    listener: WorkerListener,
  ) {
    this.workers = settings.hooks.map((config) => {
      const fd = fds.find(({ alias }) => alias === config.fd)
      if (fd === undefined) {
        const aliases = fds.map(({ alias }) => alias).join(', ')
        throw new Error(
          `Webhook ${config.name} is of the federated database ${config.fd}, which is not served: ${aliases}.`,
        )
      }
      return new WebhookWorker(config, fd, settings.allowPrivateAddresses, limits, listener)
    })
  }

  start(): void {
    for (const worker of this.workers) worker.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()))
  }

  /** Throws StoreUnavailable. */
  statesOf(alias: string): Promise<readonly WebhookState[]> {
    const workers = this.workers.filter(({ config }) => config.fd === alias)
    return Promise.all(
      workers.map(async (worker) => ({ config: worker.config, state: await worker.newSubscription().state() })),
    )
  }

  /** Returns the first dead letters after the number. Throws WebhookNotFound, StoreUnavailable. */
  deadLetters(alias: string, name: string, after: number): Promise<readonly DeadLetterSummary[]> {
    return this.subscriptionOf(alias, name).deadLetters(after)
  }

  /** Throws WebhookNotFound, DeadLetterNotFound, StoreUnavailable. */
  async deadLetter(alias: string, name: string, number: number): Promise<DeadLetter> {
    const letter = await this.subscriptionOf(alias, name).deadLetter(number)
    if (letter === undefined) throw noSuchLetter(name, number)
    return letter
  }

  /** Throws WebhookNotFound, DeadLetterNotFound, StoreUnavailable. */
  async dropDeadLetter(alias: string, name: string, number: number): Promise<void> {
    if (!(await this.subscriptionOf(alias, name).removeDeadLetter(number))) throw noSuchLetter(name, number)
  }

  /** Sends the message, and removes it once accepted. Throws WebhookNotFound, DeadLetterNotFound, DeliveryFailed, StoreUnavailable. */
  async redeliver(alias: string, name: string, number: number): Promise<void> {
    const worker = this.workerOf(alias, name)
    const { id, body } = await this.deadLetter(alias, name, number)
    const delivery = await worker.send(id, body)
    if (delivery.kind !== 'delivered') {
      const why = delivery.kind === 'gone' ? 'status 410' : delivery.reason
      throw new ServerError('DeliveryFailed', `The receiver of webhook ${name} did not accept the delivery: ${why}.`)
    }
    await this.subscriptionOf(alias, name).removeDeadLetter(number)
  }

  /** Re-enables a disabled webhook, or retries a waiting one now. Throws WebhookNotFound, StoreUnavailable. */
  async resume(alias: string, name: string): Promise<void> {
    const worker = this.workerOf(alias, name)
    await this.subscriptionOf(alias, name).intervene(({ disabled: _, nextAttemptAt: __, ...state }) => state)
    worker.checkNow()
  }

  /** Creates a separate view of the worker's subscription. */
  private subscriptionOf(alias: string, name: string): Subscription {
    return this.workerOf(alias, name).newSubscription()
  }

  private workerOf(alias: string, name: string): WebhookWorker {
    const worker = this.workers.find(({ config }) => config.fd === alias && config.name === name)
    if (worker !== undefined) return worker
    throw new ServerError('WebhookNotFound', `The federated database ${alias} has no webhook '${name}'.`)
  }
}

function noSuchLetter(name: string, number: number): ServerError {
  return new ServerError('DeadLetterNotFound', `Webhook ${name} has no dead letter ${number}.`)
}
