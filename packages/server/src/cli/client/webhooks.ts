/** `ashlar webhook`: the state of deliveries, and operations on dead letters. */
import type { CommandContext } from '../command-context.ts'
import { usageError } from '../command-error.ts'
import { numberText } from './texts.ts'

export async function listWebhooks({ client, output }: CommandContext): Promise<void> {
  const hooks = await client.listWebhooks()
  const rows = hooks.map(({ name, url, state, reason = '', deliveries, failures, deadLetters }) => {
    return [name, url, state, ...[deliveries, failures, deadLetters].map(numberText), reason]
  })
  await output.data(hooks, () =>
    output.table(['Webhook', 'URL', 'State', 'Delivered', 'Failed', 'Dead letters', 'Reason'], rows),
  )
}

export async function resumeWebhook({ client, output }: CommandContext, [name]: readonly [string]): Promise<void> {
  await client.resumeWebhook(name)
  output.note(`Webhook ${name} is resumed.`)
}

export async function listDeadLetters({ client, output }: CommandContext, [name]: readonly [string]): Promise<void> {
  const letters = await client.listDeadLetters(name)
  const rows = letters.map(({ number, at, attempts, changes, error }) => {
    return [...[number, attempts, changes].map(numberText), at, error]
  })
  await output.data(letters, () => output.table(['Number', 'Attempts', 'Changes', 'Given up', 'Reason'], rows))
}

export async function showDeadLetter(
  { client, output }: CommandContext,
  [name, number]: readonly [string, string],
): Promise<void> {
  const letter = await client.getDeadLetter(name, numberOf(number))
  await output.data(letter, () => [letter.body])
}

export async function redeliverDeadLetter(
  { client, output }: CommandContext,
  [name, number]: readonly [string, string],
): Promise<void> {
  await client.redeliverDeadLetter(name, numberOf(number))
  output.note(`The receiver of webhook ${name} accepted the delivery.`)
}

export async function dropDeadLetter(
  { client }: CommandContext,
  [name, number]: readonly [string, string],
): Promise<void> {
  await client.dropDeadLetter(name, numberOf(number))
}

function numberOf(word: string): number {
  if (/^[1-9]\d{0,14}$/.test(word)) return Number(word)
  throw usageError(`The number of a dead letter must be an integer from 1, not ${word}.`)
}
