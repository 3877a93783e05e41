/** `ashlar schema`: the schema of a federated database as files, and how it follows them. */
import type { AshlarClient, SchemaReport, TransactionOperation, ValuesLost } from '@ashlar/client'
import type { CommandContext } from '../command-context.ts'
import { CommandError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import { mermaidDiagram } from './schema/mermaid-diagram.ts'
import { differencesOf } from './schema/schema-differences.ts'
import { readSchemaSource, writeSchemaFiles } from './schema/schema-files.ts'
import { noteVersion, readSchemaLog } from './schema/schema-log.ts'
import { planOf, type SchemaPlan } from './schema/schema-plan.ts'
import { isSameSchema, type SchemaState, schemaState } from './schema/schema-state.ts'
import { schemaFiles, schemaText } from './schema/schema-text.ts'
import { quotingOf, schemaOfSource } from './schema/scratch-schema.ts'
import { svgDiagram } from './schema/svg-diagram.ts'
import { numberText } from './texts.ts'

interface PlanOptions {
  readonly rename?: readonly string[]
  readonly allowLoss?: boolean
  readonly message?: string
  readonly json?: boolean
}

async function currentSchema(client: AshlarClient): Promise<SchemaState> {
  const [classes, indexes] = await Promise.all([client.listClasses(), client.listIndexes()])
  return schemaState(classes, indexes)
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
  if (differences.length > 0) throw new CommandError(exitCodes.different, `The schema is not that of ${place}.`)
}

/** Says no more than whether there is one. */
export async function checkSchema({ client, output }: CommandContext, [place]: readonly [string]): Promise<void> {
  const wanted = await schemaOfSource(readSchemaSource(place))
  const current = await currentSchema(client)
  const isSame = isSameSchema(current, wanted)
  const counts = `${counted(wanted.classes.length, 'class', 'es')} and ${counted(wanted.indexes.length, 'index', 'es')}`
  await output.result({ isSame }, () => (isSame ? [`The schema is that of ${place}: ${counts}.`] : []))
  if (!isSame)
    throw new CommandError(exitCodes.different, `The schema is not that of ${place}: see ashlar schema diff.`)
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

/** All steps and their line in the log are one transaction. */
export async function applySchema(
  context: CommandContext,
  [place]: readonly [string],
  options: PlanOptions,
): Promise<void> {
  const { client, output } = context
  const { plan, wanted } = await plannedFor(client, place, options)
  if (plan.operations.length === 0)
    return output.result({ version: null, steps: [] }, () => ['Nothing is to be changed.'])
  const rehearsed = await rehearse(client, plan)
  if (isLossy(plan, rehearsed) && options.allowLoss !== true) {
    const advice = 'Nothing was changed: what is marked ! would be lost. If you mean it, add --allow-loss.'
    throw new CommandError(exitCodes.conflict, advice, planLines(plan, rehearsed))
  }
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
  return { plan: planOf(await currentSchema(client), wanted, rename), wanted }
}

interface Rehearsed {
  /** What would be deleted, or replaced by a default. */
  readonly valuesLost: readonly ValuesLost[]
}

/** Every operation, after a question what it would lose; the server undoes all of it. Throws AshlarRequestError where it refuses one. */
async function rehearse(client: AshlarClient, { operations }: SchemaPlan): Promise<Rehearsed> {
  const questions = operations.flatMap((operation): TransactionOperation[] => {
    const [allowed = operation] = allowing([operation])
    const isAlteration = operation.method === 'put' && operation.uri !== '/v1/schema'
    const question = { ...allowed, uri: withParameter(allowed.uri, 'dryRun=true') }
    return (isAlteration ? [question, allowed] : [allowed]).map((one) => ({ ...one, result: 'dispose' }))
  })
  if (questions.length === 0) return { valuesLost: [] }
  const results = await client.runTransaction(questions)
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
