/** `ashlar schema`: the schema of a federated database as files, and how it follows them. */
import {
  type AshlarClient,
  AshlarRequestError,
  type SchemaReport,
  type TransactionOperation,
  type ValuesLost,
} from '@ashlar/client'
import type { CommandContext } from '../command-context.ts'
import { CommandError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { mermaidDiagram } from './schema/mermaid-diagram.ts'
import { differencesOf } from './schema/schema-differences.ts'
import { readSchemaSource, writeSchemaFiles } from './schema/schema-files.ts'
import { noteVersion, readSchemaLog } from './schema/schema-log.ts'
import { planOf, type SchemaPlan } from './schema/schema-plan.ts'
import { isSameSchema, type SchemaState, schemaState } from './schema/schema-state.ts'
import { applySteps, waitForIndexes } from './schema/schema-steps.ts'
import { schemaFiles, schemaText } from './schema/schema-text.ts'
import { quotingOf, schemaOfSource } from './schema/scratch-schema.ts'
import { svgDiagram } from './schema/svg-diagram.ts'
import { numberText } from './texts.ts'

interface PlanOptions {
  readonly rename?: readonly string[]
  readonly allowLoss?: boolean
  readonly stepwise?: boolean
  readonly quiet?: boolean
  readonly message?: string
  readonly json?: boolean
}

async function currentSchema(client: AshlarClient): Promise<SchemaState> {
  return (await currentState(client)).schema
}

async function currentState(
  client: AshlarClient,
): Promise<{ readonly schema: SchemaState; readonly failedIndexes: readonly string[] }> {
  const [classes, indexes] = await Promise.all([client.listClasses(), client.listIndexes()])
  const failed = indexes.filter(({ state }) => state === 'failed')
  return { schema: schemaState(classes, indexes), failedIndexes: failed.map(({ name }) => name) }
}

/** To standard output or a file (--output), or into a folder, a file a namespace. */
export async function pullSchema(
  { client, output }: CommandContext,
  [folder]: readonly (string | undefined)[],
): Promise<void> {
  const schema = await currentSchema(client)
  const quoting = await quotingOf(schema)
  if (folder === undefined) {
    const text = schemaText(schema, quoting)
    return output.data({ text }, () => [text.trimEnd()])
  }
  const files = schemaFiles(schema, quoting)
  writeSchemaFiles(folder, files)
  const names = [...files.keys()]
  await output.result({ folder, files: names }, () => [`Wrote ${names.join(', ') || 'nothing'} to ${folder}.`])
}

/** Ends with exit code 8 where there is a difference. */
export async function diffSchema({ client, output }: CommandContext, [place]: readonly [string]): Promise<void> {
  const wanted = await schemaOfSource(readSchemaSource(place))
  const current = await currentSchema(client)
  const differences = differencesOf(current, wanted)
  await output.data({ isSame: differences.length === 0, differences }, () => differences)
  if (differences.length > 0) throw new CommandError(exitCodes.different, `The schema differs from ${place}.`)
}

/** Says no more than whether there is one. */
export async function checkSchema({ client, output }: CommandContext, [place]: readonly [string]): Promise<void> {
  const wanted = await schemaOfSource(readSchemaSource(place))
  const current = await currentSchema(client)
  const isSame = isSameSchema(current, wanted)
  const counts = `${counted(wanted.classes.length, 'class', 'es')} and ${counted(wanted.indexes.length, 'index', 'es')}`
  await output.result({ isSame }, () => (isSame ? [`The schema matches ${place}: ${counts}.`] : []))
  if (!isSame) throw new CommandError(exitCodes.different, `The schema differs from ${place}: see ashlar schema diff.`)
}

/** What would be done, and what would be lost. The server carries it out and keeps nothing of it. */
export async function planSchema(
  context: CommandContext,
  [place]: readonly [string],
  options: PlanOptions,
): Promise<void> {
  const { plan } = await plannedFor(context.client, place, options)
  const rehearsed = await rehearse(context.client, plan)
  await context.output.data(recordOf(plan, rehearsed), () => planLines(plan, rehearsed))
}

/** All steps and their line in the log are one transaction; with `--stepwise` each is a request of its own. */
export async function applySchema(
  context: CommandContext,
  [place]: readonly [string],
  options: PlanOptions,
): Promise<void> {
  const { client, output } = context
  const { plan, wanted } = await plannedFor(client, place, options)
  if (options.stepwise === true) return applyStepwise(context, place, plan, wanted, options)
  if (plan.operations.length === 0)
    return output.result({ version: null, steps: [] }, () => ['Nothing is to be changed.'])
  const rehearsed = await rehearse(client, plan)
  refuseLoss(plan, rehearsed, options)
  const text = schemaText(wanted, await quotingOf(wanted))
  const steps = plan.steps.map((step) => step.text)
  const noted = await noteVersion(client, { message: options.message ?? '', steps, text })
  await client.runTransaction([...allowing(plan.operations), ...noted.operations])
  if (!isSameSchema(await currentSchema(client), wanted))
    throw new CommandError(
      exitCodes.conflict,
      `Version ${noted.version} was applied, but others have changed the schema too: see ashlar schema diff.`,
    )
  await output.result({ version: noted.version, steps }, () => [
    ...planLines(plan, rehearsed),
    `Applied as version ${noted.version}.`,
  ])
}

function refuseLoss(plan: SchemaPlan, rehearsed: Rehearsed, { allowLoss }: PlanOptions): void {
  if (allowLoss === true || !isLossy(plan, rehearsed)) return
  const advice = 'Nothing was changed: what is marked ! would be lost. If you mean it, add --allow-loss.'
  throw new CommandError(exitCodes.conflict, advice, planLines(plan, rehearsed))
}

/** What was done by a command that was stopped is not in the plan any more: the same command goes on behind it. */
async function applyStepwise(
  context: CommandContext,
  place: string,
  plan: SchemaPlan,
  wanted: SchemaState,
  options: PlanOptions,
): Promise<void> {
  const { client, output } = context
  // More than one transaction can be: the server then tells of each step what it would lose.
  const rehearsed = await rehearse(client, plan).catch((error: unknown) => {
    if (error instanceof TooMuchForOne) return { valuesLost: [] }
    throw error
  })
  refuseLoss(plan, rehearsed, options)
  await applySteps(context, plan, options)
  await waitForIndexes(context, wanted)
  if (!isSameSchema(await currentSchema(client), wanted))
    throw new CommandError(
      exitCodes.conflict,
      `All steps are done, but others have changed the schema too: see ashlar schema diff ${place}.`,
    )
  const text = schemaText(wanted, await quotingOf(wanted))
  const steps = plan.steps.map((step) => step.text)
  if ((await readSchemaLog(client)).at(-1)?.text === text && steps.length === 0)
    return output.result({ version: null, steps }, () => ['Nothing is to be changed.'])
  const noted = await noteVersion(client, { message: options.message ?? '', steps, text })
  await client.runTransaction(noted.operations)
  await output.result({ version: noted.version, steps }, () => [
    ...planLines(plan, rehearsed),
    `Applied as version ${noted.version}.`,
  ])
}

export async function showSchemaLog(
  { client, output }: CommandContext,
  [version]: readonly (string | undefined)[],
): Promise<void> {
  const log = await readSchemaLog(client)
  if (version === undefined) {
    const rows = log.map((entry) => [
      String(entry.version),
      entry.appliedAt,
      entry.appliedBy,
      String(entry.steps.length),
      entry.message,
    ])
    return output.data(log, () => output.table(['Version', 'Applied at', 'By', 'Steps', 'Message'], rows))
  }
  const entry = log.find((one) => String(one.version) === version)
  if (entry === undefined) throw new CommandError(exitCodes.notFound, `There is no version ${version} in the log.`)
  await output.data(entry, () => [entry.text.trimEnd()])
}

/** Of files, or of the federated database. */
export async function drawSchema(
  { client, output }: CommandContext,
  [place]: readonly (string | undefined)[],
  { format = 'mermaid' }: { readonly format?: 'mermaid' | 'svg' },
): Promise<void> {
  const schema = place === undefined ? await currentSchema(client) : await schemaOfSource(readSchemaSource(place))
  const text = format === 'svg' ? svgDiagram(schema) : mermaidDiagram(schema)
  await output.data({ format, text }, () => [text.trimEnd()])
}

async function plannedFor(
  client: AshlarClient,
  place: string,
  { rename = [] }: PlanOptions,
): Promise<{ readonly plan: SchemaPlan; readonly wanted: SchemaState }> {
  const wanted = await schemaOfSource(readSchemaSource(place))
  const { schema, failedIndexes } = await currentState(client)
  return { plan: planOf(schema, wanted, rename, failedIndexes), wanted }
}

interface Rehearsed {
  /** What would be deleted, or replaced by a default. */
  readonly valuesLost: readonly ValuesLost[]
}

/** The server refuses to do all of it as one transaction. */
class TooMuchForOne extends CommandError {
  constructor({ message }: Error) {
    const advice = 'It can be done step by step, online: add --stepwise to apply.'
    super(exitCodes.invalid, message, [advice])
  }
}

/** Every operation, after a question what it would lose; the server undoes all of it. Throws TooMuchForOne, and AshlarRequestError where it refuses one. */
async function rehearse(client: AshlarClient, { operations }: SchemaPlan): Promise<Rehearsed> {
  const questions = operations.flatMap((operation): TransactionOperation[] => {
    const [allowed = operation] = allowing([operation])
    const isAlteration = operation.method === 'put' && operation.uri !== '/v1/schema'
    const question = { ...allowed, uri: withParameter(allowed.uri, 'dryRun=true') }
    return (isAlteration ? [question, allowed] : [allowed]).map((one) => ({ ...one, result: 'dispose' }))
  })
  if (questions.length === 0) return { valuesLost: [] }
  const results = await client.runTransaction(questions).catch((error: unknown) => {
    if (error instanceof AshlarRequestError && error.type === 'LimitExceeded') throw new TooMuchForOne(error)
    throw error
  })
  const reports = results.flatMap(({ result }) => {
    return typeof result === 'object' && result !== null && 'valuesLost' in result ? [result as SchemaReport] : []
  })
  return { valuesLost: reports.flatMap(({ valuesLost }) => valuesLost) }
}

/** What is lost was found before, and is wanted. */
function allowing(operations: readonly TransactionOperation[]): TransactionOperation[] {
  return operations.map((operation) => {
    const isAlteration = operation.method === 'put' && operation.uri !== '/v1/schema'
    return isAlteration ? { ...operation, uri: withParameter(operation.uri, 'allowLoss=true') } : operation
  })
}

function withParameter(uri: string, parameter: string): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}${parameter}`
}

function counted(count: number, noun: string, plural: string): string {
  return `${numberText(count)} ${noun}${count === 1 ? '' : plural}`
}

function isLossy(plan: SchemaPlan, { valuesLost }: Rehearsed): boolean {
  return plan.steps.some(({ isLoss }) => isLoss) || valuesLost.some(({ values }) => values > 0)
}

function recordOf(plan: SchemaPlan, { valuesLost }: Rehearsed): object {
  return { steps: plan.steps, valuesLost, hints: plan.hints }
}

function planLines(plan: SchemaPlan, { valuesLost }: Rehearsed): string[] {
  if (plan.steps.length === 0) return ['Nothing is to be changed.']
  const lost = valuesLost.filter(({ values }) => values > 0)
  return [
    ...plan.steps.flatMap(({ text, isLoss }) =>
      text.split('\n').map((line, at) => `${at === 0 && isLoss ? '!' : ' '} ${line}`),
    ),
    ...lost.map(({ className, attributeName, values }) => {
      return `! ${numberText(values)} ${values === 1 ? 'value' : 'values'} of ${className}.${attributeName} would be lost.`
    }),
    ...plan.hints,
  ]
}
