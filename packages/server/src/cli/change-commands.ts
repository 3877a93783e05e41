/** `ashlar changes` and `webhook`: what was changed, and to whom that is delivered. */
import type { Command } from 'commander'
import { addClientCommand } from './client-command.ts'

export function addChangesCommand(program: Command): void {
  addClientCommand(
    program,
    'changes',
    'Show the change feed (change data capture), one change per line, and the position to continue from.',
    'listChanges',
  )
    .option(
      '--since <position>',
      'start after this position; first: at the oldest change kept; now: at future changes',
      'first',
    )
    .option('--class <name>', 'only objects of this class and its subclasses')
    .option('--attributes <names>', 'only these attributes of the class, separated by commas')
    .option('--where <predicate>', 'only objects that match this DO predicate before or after the change')
    .option('--keys', 'omit values: show only OIDs and attribute names')
    .option('--follow', 'keep waiting for new changes, until Ctrl-C')
}

export function addWebhookCommand(program: Command): void {
  const hooks = program.command('webhook').description('Manage webhooks and their deliveries.')
  addClientCommand(hooks, 'list', 'List the webhooks and the state of their deliveries.', 'listWebhooks')
  addClientCommand(
    hooks,
    'resume <name>',
    'Re-enable a disabled webhook, or retry failed deliveries now.',
    'resumeWebhook',
  )
  addClientCommand(
    hooks,
    'dead-letters <name>',
    'List the dead letters of a webhook: deliveries that were given up.',
    'listDeadLetters',
  )
  addClientCommand(hooks, 'show <name> <number>', 'Show the content of a dead letter.', 'showDeadLetter')
  addClientCommand(hooks, 'redeliver <name> <number>', 'Send a dead letter again now.', 'redeliverDeadLetter')
  addClientCommand(hooks, 'drop <name> <number>', 'Delete a dead letter.', 'dropDeadLetter')
}
