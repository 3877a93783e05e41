/** Schemas of webhooks (contract 2.5); each export is a type of the client with the same name. */
import { Type } from './json-schema.ts'

const time = (description: string) => Type.Optional(Type.String({ description }))

export const WebhookRecord = Type.Object(
  {
    name: Type.String(),
    url: Type.String({ description: 'The address of the receiver, without its query string.' }),
    class: Type.Optional(Type.String()),
    where: Type.Optional(Type.String()),
    include: Type.Union([Type.Literal('values'), Type.Literal('keys')]),
    state: Type.Union(
      ['waiting', 'delivering', 'failing', 'disabled'].map((word) => Type.Literal(word)),
      {
        description:
          'waiting: no process works for it yet. failing: its next delivery has failed, and will be retried. disabled: until it is resumed.',
      },
    ),
    reason: Type.Optional(Type.String({ description: 'Why it is failing or disabled.' })),
    position: Type.Optional(Type.String({ description: 'All changes up to here are delivered, or are dead letters.' })),
    deliveries: Type.Integer(),
    failures: Type.Integer({ description: 'Failed attempts.' }),
    attempts: Type.Integer({ description: 'Attempts at the next delivery.' }),
    failingSince: time('When the delivery that is due was first tried.'),
    nextAttemptAt: time('When it is tried again.'),
    deliveredAt: time('When the last delivery was taken.'),
    deadLetters: Type.Integer({ description: 'Deliveries that were abandoned, which are kept.' }),
  },
  { description: 'A receiver of changes, and the state of its deliveries.' },
)

export const DeadLetterSummary = Type.Object(
  {
    number: Type.Integer({ description: 'The number that identifies it.' }),
    at: Type.String({ description: 'When it was abandoned.' }),
    attempts: Type.Integer(),
    error: Type.String({ description: 'Why the last attempt failed.' }),
    id: Type.String({ description: 'The webhook-id of the attempts.' }),
    changes: Type.Integer(),
  },
  { description: 'A delivery that was abandoned.' },
)

export const DeadLetter = Type.Object(
  {
    ...DeadLetterSummary.properties,
    body: Type.String({ description: 'As it was sent.' }),
  },
  { description: 'A delivery that was abandoned, with its content.' },
)
