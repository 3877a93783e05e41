/** `ashlar index`: indexes, and the progress of their builds. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { IndexRecord, IndexRequest } from '@ashlar/client'
import type { CommandContext } from '../connection/command-context.ts'
import { conflictError, interruptedError } from '../errors/command-error.ts'
import { ProgressLine } from '../output/progress.ts'
import { numberText } from '../output/texts.ts'

interface CreateOptions {
  readonly unique?: boolean
  readonly background?: boolean
  readonly quiet?: boolean
}

const pollMs = 200

export async function listIndexes({ client, output }: CommandContext): Promise<void> {
  const indexes = await client.listIndexes()
  await output.data(indexes, () =>
    output.table(['Index', 'Class', 'Attributes', 'Unique', 'State', 'Entries'], indexes.map(rowOf)),
  )
}

function rowOf(index: IndexRecord): string[] {
  const { name, indexedClass, keyAttributes, isUnique, entryCount } = index
  const keys = keyAttributes.map(({ attributeName }) => attributeName).join(', ')
  return [name, indexedClass, keys, isUnique ? 'yes' : '', stateText(index), countText(entryCount)]
}

/** Undefined for callers who may not see all objects. */
function countText(count: number | undefined): string {
  return count === undefined ? '' : numberText(count)
}

function stateText({ state, progress, failure }: IndexRecord): string {
  if (failure !== undefined) return `failed: ${failure.message}`
  return progress === undefined ? state : `${state} ${progress.objectsDone}/${progress.objectsTotal}`
}

/** Waits for the build, which the server continues if the command is interrupted. */
export async function createIndexCommand(
  context: CommandContext,
  [name, indexedClass, attributes]: readonly [string, string, readonly string[]],
  options: CreateOptions,
): Promise<void> {
  const { client, output } = context
  const keyAttributes = attributes.map((attributeName) => ({ attributeName }))
  const index: IndexRequest = { name, indexedClass, isUnique: options.unique === true, keyAttributes }
  await client.startIndex(index)
  const record = options.background === true ? await client.getIndex(name) : await builtIndex(context, name)
  const done = record.state === 'building' ? `Building index ${name} in the background: see ashlar index list.` : ''
  const entries = record.entryCount === undefined ? '' : `: ${numberText(record.entryCount)} entries`
  await output.result(record, () => [done === '' ? `Index ${name}${entries}.` : done])
}

/** Waits for the index to be built; removes it if the build fails. Throws CommandError, also after Ctrl-C, when the build continues. */
export async function builtIndex({ client, signal, output }: CommandContext, name: string): Promise<IndexRecord> {
  const progress = new ProgressLine({ unit: 'objects', isQuiet: output.hidesProgress })
  try {
    for (;;) {
      const record = await client.getIndex(name)
      if (record.failure !== undefined) {
        await client.deleteIndex(name)
        throw conflictError(`Index ${name} cannot be built: ${record.failure.message}`)
      }
      if (record.state === 'ready') return record
      progress.update(record.progress?.objectsDone ?? 0, record.progress?.objectsTotal)
      await sleep(pollMs, undefined, { signal }).catch(() => {
        throw interruptedError(`Stopped waiting; index ${name} is built in the background: see ashlar index list.`)
      })
    }
  } finally {
    progress.stop()
  }
}

export async function dropIndexCommand({ client, output }: CommandContext, [name]: readonly [string]): Promise<void> {
  await client.deleteIndex(name)
  await output.result({ dropped: name }, () => [`Dropped index ${name}.`])
}
