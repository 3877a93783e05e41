/** What is told of webhooks (contract 2.5); each export is a type of the client by the same name. */
import { Type } from './json-schema.ts'

const time = (description: string) => Type.Optional(Type.String({ description }))

export const WebhookRecord = Type.Object(
  {
    name: Type.String(),
    url: Type.String({ description: 'To which its deliveries are posted; without the query of the URL.' }),
    class: Type.Optional(Type.String()),
    where: Type.Optional(Type.String()),
    include: Type.Union([Type.Literal('values'), Type.Literal('keys')]),
    state: Type.Union(
      ['waiting', 'delivering', 'failing', 'disabled'].map((word) => Type.Literal(word)),
      {
        description:
          'waiting: no process works for it yet. failing: its next delivery was tried, and will be again. disabled: until it is resumed.',
      },
    ),
    reason: Type.Optional(Type.String({ description: 'Why it is failing or disabled.' })),
    position: Type.Optional(Type.String({ description: 'Changes up to here are delivered, or are dead letters.' })),
    deliveries: Type.Integer(),
    failures: Type.Integer({ description: 'Attempts that have failed.' }),
    attempts: Type.Integer({ description: 'Attempts of the delivery that is due.' }),
    failingSince: time('When the delivery that is due was first tried.'),
    nextAttemptAt: time('When it is tried again.'),
    deliveredAt: time('When the last delivery was taken.'),
    deadLetters: Type.Integer({ description: 'Deliveries that were given up, and are kept.' }),
  },
  { description: 'A receiver of changes, and how its deliveries get on.' },
)

export const DeadLetterSummary = Type.Object(
  {
    number: Type.Integer({ description: 'By which it is known.' }),
    at: Type.String({ description: 'When it was given up.' }),
    attempts: Type.Integer(),
    error: Type.String({ description: 'Why the last attempt failed.' }),
    id: Type.String({ description: 'The webhook-id of its attempts.' }),
    changes: Type.Integer(),
  },
  { description: 'A delivery that was given up.' },
)

export const DeadLetter = Type.Object(
  {
    ...DeadLetterSummary.properties,
    body: Type.String({ description: 'As it was sent.' }),
  },
  { description: 'A delivery that was given up, with what it has told.' },
)
