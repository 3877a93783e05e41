/** Executes a plan step by step, each in a separate request. After an interruption, another run continues with the remaining steps. */
import { AshlarRequestError, type ClassAlteration, type ClassDescription, type IndexRequest } from '@ashlar/client'
import { builtIndex } from '../administration/indexes.ts'
import type { CommandContext } from '../connection/command-context.ts'
import { CommandError, interruptedError } from '../errors/command-error.ts'
import { exitCodeOfStatus } from '../errors/exit-codes.ts'
import type { PlanPart, SchemaPlan } from './schema-plan.ts'
import type { SchemaState } from './schema-state.ts'

export interface StepOptions {
  readonly allowLoss?: boolean
  readonly quiet?: boolean
}

/** Throws CommandError that says which steps are done and how to resume. */
export async function applySteps(context: CommandContext, { parts }: SchemaPlan, options: StepOptions): Promise<void> {
  for (const [at, part] of parts.entries()) {
    const place = `Step ${at + 1} of ${parts.length}`
    context.output.note(`${place}: ${summaryOf(part)}`)
    try {
      await execute(context, part, options)
    } catch (error) {
      throw stoppedAt(error, place, context.signal)
    }
  }
}

/** Includes indexes that an earlier run has started. */
export async function waitForIndexes(context: CommandContext, { indexes }: SchemaState): Promise<void> {
  const names = new Set(indexes.map(({ name }) => name))
  const building = (await context.client.listIndexes()).filter(({ name, state }) => {
    return state === 'building' && names.has(name)
  })
  for (const { name } of building) {
    context.output.note(`Waiting for index ${name}, which is being built.`)
    await builtIndex(context, name)
  }
}

function summaryOf({ steps }: PlanPart): string {
  const [first = '', ...others] = steps.map(({ text }) => text.split('\n')[0]?.replace(/ \{$/, '') ?? '')
  return others.length === 0 ? first : `${first}, and ${others.length} more`
}

async function execute(context: CommandContext, part: PlanPart, options: StepOptions): Promise<void> {
  const { client } = context
  for (const { method, uri, body } of part.operation) {
    const [path = '', query] = uri.split('?')
    const [, , kind, name] = path.split('/').map(decodeURIComponent)
    if (kind === 'query') await client.query((body as { readonly query: string }).query)
    else if (kind === 'index' && name !== undefined) await client.deleteIndex(name)
    else if (kind === 'index') {
      const index = body as IndexRequest
      await client.startIndex(index)
      await builtIndex(context, index.name)
    } else if (name === undefined)
      await client.defineClasses(
        body as readonly ClassDescription[],
        options.allowLoss === true ? { allowLoss: true } : {},
      )
    else if (method === 'delete') await client.deleteClass(name)
    else
      await client.alterClass(name, body as ClassAlteration, {
        cascade: query === 'cascade=true',
        allowLoss: options.allowLoss === true,
      })
  }
}

const resumeAdvice = 'Completed steps remain; run the same command again to resume.'

function stoppedAt(error: unknown, place: string, signal: AbortSignal): unknown {
  if (error instanceof CommandError)
    return new CommandError(error.exitCode, `${place}: ${error.message}`, [resumeAdvice])
  if (signal.aborted)
    return interruptedError(`Stopped at ${place.toLowerCase()}, which was done, or not at all.`, [resumeAdvice])
  if (!(error instanceof AshlarRequestError)) return error
  const { status, type, message, valuesLost } = error
  const lost = valuesLost.map(
    ({ className, attributeName, values }) =>
      `  ${className}.${attributeName}: ${values} values would be lost; if you mean it, add --allow-loss.`,
  )
  return new CommandError(exitCodeOfStatus(status), `${place}: ${message}`, [...lost, resumeAdvice], { type, status })
}
