/** `ashlar changes`: prints changes, one per line, up to the present or continuously. */

import type { ChangeRecord } from '@ashlar/client'
import type { CommandContext } from '../connection/command-context.ts'
import { interruptedError, usageError } from '../errors/command-error.ts'
import { defined } from '../output/defined.ts'
import { stringifyExactly } from '../output/exact-json.ts'

interface ChangesOptions {
  readonly since?: string
  readonly class?: string
  readonly attributes?: string
  readonly where?: string
  readonly keys?: boolean
  readonly follow?: boolean
}

/** Prints the position for continuing, also after Ctrl-C, which ends `--follow`: the file is then complete. Throws CommandError. */
export async function listChanges(
  { client, output, signal }: CommandContext,
  _words: readonly unknown[],
  { since = 'first', class: className, attributes, where, keys, follow }: ChangesOptions,
): Promise<void> {
  if (attributes !== undefined && className === undefined)
    throw usageError('--attributes needs --class, whose attributes they are.')
  if (where !== undefined && className === undefined)
    throw usageError('--where needs --class, of whose objects it is a predicate.')
  const filter = {
    ...defined({ className, attributes: attributes?.split(','), where }),
    since,
    include: keys === true ? ('keys' as const) : ('values' as const),
    signal,
  }
  const write = (change: ChangeRecord): Promise<void> =>
    output.write(`${output.isJson ? stringifyExactly(change) : lineOf(change)}\n`)
  let position = since
  let hasPosition = false
  let isDone = false
  try {
    if (follow === true) {
      const noted = (reached: string): void => {
        position = reached
        hasPosition = true
      }
      for await (const change of client.followChanges(filter, noted)) await write(change)
    }
    for (let isAtEnd = false; !isAtEnd; ) {
      const page = await client.listChanges({ ...filter, since: position, limit: 1_000 })
      for (const change of page.changes) await write(change)
      ;({ position, isAtEnd } = page)
      hasPosition = true
    }
    isDone = true
  } catch (error) {
    if (!signal.aborted) throw error
    if (follow === true) {
      await output.finish()
      isDone = true
    }
    throw interruptedError('Stopped.')
  } finally {
    // A refused position cannot be used to continue, and a file exists only if it is complete.
    if (hasPosition && (isDone || output.file === undefined)) output.note(`Continue with --since ${position}`)
  }
}

function lineOf(record: ChangeRecord): string {
  const { position, at, change, class: name, oid, attributes, attribute, target } = record
  const link = attribute === undefined ? '' : `${attribute} ${target ?? ''}`.trimEnd()
  const what = change === 'schema' ? schemaWords(record) : (attributes?.join(', ') ?? link)
  return [
    position,
    at,
    change.padEnd(8),
    [name, oid, what].filter((part) => part !== undefined && part !== '').join(' '),
  ]
    .join('  ')
    .trimEnd()
}

function schemaWords(record: ChangeRecord): string {
  const { classes = [], deletedClasses = [], indexes = [], isIndexDeleted, sequences = [], isSequenceDeleted } = record
  const deleted = [
    ...deletedClasses.map((name) => `class ${name}`),
    ...(isIndexDeleted === true ? ['an index'] : []),
    ...(isSequenceDeleted === true ? ['a sequence'] : []),
  ]
  const parts = [
    ['created or changed', [...classes.map((name) => `class ${name}`), ...indexes.map((name) => `index ${name}`)]],
    ['created or restarted', sequences.map((name) => `sequence ${name}`)],
    ['deleted', deleted],
  ] as const
  return parts.flatMap(([words, names]) => (names.length === 0 ? [] : [`${words}: ${names.join(', ')}`])).join('; ')
}
