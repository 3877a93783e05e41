/** The operations on webhooks (contract 2.5). */
import { AshlarError } from '@ashlar/engine'
import { type FdOperation, type FdRequest, param } from '../dispatch/operation.ts'
import { ServerError } from '../errors/server-errors.ts'
import type { WebhookState, Webhooks } from '../webhooks/webhooks.ts'
import { type Static, Type } from '../wire/json-schema.ts'
import { DeadLetter, DeadLetterSummary, WebhookRecord } from '../wire/webhook-schemas.ts'

const nameParam = { name: 'Name of the webhook.' }
const letterParams = { ...nameParam, number: 'Number of the dead letter.' }
const common = { scope: 'fd', needs: 'operate', isFdWide: true, tag: 'Changes', isTransactional: false } as const

/** Throws WebhookNotFound if the server has no webhooks. */
function hooksOf({ service: { webhooks } }: FdRequest): Webhooks {
  if (webhooks === undefined)
    throw new ServerError('WebhookNotFound', 'The configuration of the server has no webhooks.')
  return webhooks
}

function numberOf(request: FdRequest): number {
  const text = param(request, 'number')
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new ServerError('DeadLetterNotFound', `The number of a dead letter must be an integer from 1, not '${text}'.`)
}

function afterOf({ query }: FdRequest): number {
  const { after = '0' } = query
  if (typeof after === 'string' && /^\d{1,15}$/.test(after)) return Number(after)
  throw new AshlarError('MalformedValue', 'The parameter after is the number of a dead letter.')
}

/** Removes the query string, which may contain a secret of the receiver. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

function recordOf({ config, state }: WebhookState): Static<typeof WebhookRecord> {
  const { name, url, className, where, include } = config
  const { position, deliveries = 0, failures = 0, attempts = 0, deadLetters = 0 } = state ?? {}
  const { failingSince, nextAttemptAt, deliveredAt } = state ?? {}
  const reason = state?.disabled ?? state?.error
  return {
    name,
    url: withoutQuery(url),
    ...(className === undefined ? {} : { class: className }),
    ...(where === undefined ? {} : { where }),
    include,
    state: wordOf(state),
    ...(reason === undefined ? {} : { reason }),
    ...(position === undefined ? {} : { position }),
    deliveries,
    failures,
    attempts,
    ...(failingSince === undefined ? {} : { failingSince }),
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt }),
    ...(deliveredAt === undefined ? {} : { deliveredAt }),
    deadLetters,
  }
}

function wordOf(state: WebhookState['state']): Static<typeof WebhookRecord>['state'] {
  if (state?.disabled !== undefined) return 'disabled'
  if (state?.error !== undefined) return 'failing'
  return state === undefined || state.owner === 0 ? 'waiting' : 'delivering'
}

export const webhookOperations: readonly FdOperation[] = [
  {
    ...common,
    method: 'GET',
    path: '/v1/webhook',
    summary: 'List the webhooks and the state of their deliveries',
    description: 'The webhooks configured for this federated database.',
    status: 200,
    reply: Type.Array(WebhookRecord),
    errors: [],
    async run(_database, { fd, service: { webhooks } }) {
      return { body: ((await webhooks?.statesOf(fd.alias)) ?? []).map(recordOf) }
    },
  },
  {
    ...common,
    method: 'POST',
    path: '/v1/webhook/:name/resume',
    summary: 'Resume a webhook',
    description:
      'Re-enables a webhook that was disabled by a 410 reply of its receiver, or makes the next attempt now.',
    params: nameParam,
    status: 204,
    errors: ['WebhookNotFound', 'TransactionContention'],
    async run(_database, request) {
      await hooksOf(request).resume(request.fd.alias, param(request, 'name'))
      return {}
    },
  },
  {
    ...common,
    method: 'GET',
    path: '/v1/webhook/:name/dead-letter',
    summary: 'List the dead letters of a webhook',
    description: 'At most a hundred, oldest first.',
    params: nameParam,
    queryParameters: {
      after: {
        description: 'Only dead letters after this one, the last of the previous reply.',
        schema: Type.Integer({ default: 0 }),
      },
    },
    status: 200,
    reply: Type.Array(DeadLetterSummary),
    errors: ['WebhookNotFound', 'MalformedValue'],
    async run(_database, request) {
      return { body: await hooksOf(request).deadLetters(request.fd.alias, param(request, 'name'), afterOf(request)) }
    },
  },
  {
    ...common,
    method: 'GET',
    path: '/v1/webhook/:name/dead-letter/:number',
    // Dead letters contain the changes that GET /v1/changes shows.
    needs: async () => ['operate', 'read'],
    summary: 'Show a dead letter and its content',
    params: letterParams,
    status: 200,
    reply: DeadLetter,
    errors: ['WebhookNotFound', 'DeadLetterNotFound'],
    async run(_database, request) {
      return { body: await hooksOf(request).deadLetter(request.fd.alias, param(request, 'name'), numberOf(request)) }
    },
  },
  {
    ...common,
    method: 'POST',
    path: '/v1/webhook/:name/dead-letter/:number/redeliver',
    summary: 'Redeliver a dead letter',
    description: 'Sends it now, out of order. It is removed once the receiver accepts it.',
    params: letterParams,
    status: 204,
    errors: ['WebhookNotFound', 'DeadLetterNotFound', 'DeliveryFailed'],
    async run(_database, request) {
      await hooksOf(request).redeliver(request.fd.alias, param(request, 'name'), numberOf(request))
      return {}
    },
  },
  {
    ...common,
    method: 'DELETE',
    path: '/v1/webhook/:name/dead-letter/:number',
    summary: 'Delete a dead letter',
    params: letterParams,
    status: 204,
    errors: ['WebhookNotFound', 'DeadLetterNotFound'],
    async run(_database, request) {
      await hooksOf(request).dropDeadLetter(request.fd.alias, param(request, 'name'), numberOf(request))
      return {}
    },
  },
]
