/** `ashlar changes` and `webhook`: what was changed, and to whom that is delivered. */
import type { Command } from 'commander'
import { addClientCommand } from './client-command.ts'

export function addChangesCommand(program: Command): void {
  addClientCommand(
    program,
    'changes',
    'Show what was changed, a line a change, and the position to go on from.',
    'listChanges',
  )
    .option('--since <position>', 'behind this position; first: the oldest that is kept; now: those that come', 'first')
    .option('--class <name>', 'of objects of this class and its subclasses')
    .option('--attributes <names>', 'of these attributes of the class alone, parted by commas')
    .option('--where <predicate>', 'of objects for which this predicate of DO holds before or after')
    .option('--keys', 'without values: which object, and the names of the attributes')
    .option('--follow', 'wait for those that come, until Ctrl-C')
}

export function addWebhookCommand(program: Command): void {
  const hooks = program.command('webhook').description('The webhooks of a federated database, and their deliveries.')
  addClientCommand(hooks, 'list', 'List the webhooks, and how their deliveries get on.', 'listWebhooks')
  addClientCommand(
    hooks,
    'resume <name>',
    'Let one deliver again that was disabled, or try at once what has failed.',
    'resumeWebhook',
  )
  addClientCommand(hooks, 'dead-letters <name>', 'List the deliveries that were given up.', 'listDeadLetters')
  addClientCommand(hooks, 'show <name> <number>', 'Show what such a delivery has told.', 'showDeadLetter')
  addClientCommand(hooks, 'redeliver <name> <number>', 'Send such a delivery once more, now.', 'redeliverDeadLetter')
  addClientCommand(hooks, 'drop <name> <number>', 'Drop such a delivery.', 'dropDeadLetter')
}
