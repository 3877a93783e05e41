/** `ashlar schema`: the schema of a federated database as files, and migrations to it. */
import { type AshlarClient, AshlarRequestError, type IndexRecord, type TransactionOperation } from '@ashlar/client'
import type { CommandContext } from '../connection/command-context.ts'
import { executeAtomically } from '../data/execute-atomically.ts'
import { CommandError, conflictError, invalidInput, notFoundError, usageError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { countText } from '../output/texts.ts'
import { mermaidDiagram, svgDiagram } from './diagram.ts'
import { differencesOf } from './schema-differences.ts'
import { readSchemaSource, writeSchemaFiles } from './schema-files.ts'
import { noteVersion, readSchemaLog } from './schema-log.ts'
import { planOf, type SchemaPlan } from './schema-plan.ts'
import { allowing, isLossy, planLines, type Rehearsed, recordOf, refusedPlan, rehearse } from './schema-rehearsal.ts'
import { applyRenames } from './schema-renames.ts'
import {
  isSameSchema,
  outside,
  restrictToScope,
  type SchemaScope,
  type SchemaState,
  type SequenceRow,
  schemaOf,
  schemaState,
  scopeOf,
} from './schema-state.ts'
import { applySteps, waitForIndexes } from './schema-steps.ts'
import { classText, schemaFiles, schemaText } from './schema-text.ts'
import { quotingOf, schemaOfSource } from './scratch-schema.ts'

interface PlanOptions extends ScopeOptions {
  readonly rename?: readonly string[]
  readonly allowLoss?: boolean
  /** Asks whether to lose what the plan marks; without it, such a plan is refused unless `allowLoss` is set. */
  readonly confirmLoss?: ((planLines: readonly string[]) => Promise<boolean>) | undefined
  readonly stepwise?: boolean
  readonly quiet?: boolean
  readonly message?: string
  readonly json?: boolean
}

interface ScopeOptions {
  readonly namespace?: readonly string[]
}

type Place = Pick<CommandContext, 'client' | 'output'>

async function currentSchema(place: Place): Promise<SchemaState> {
  return (await currentState(place)).schema
}

async function currentState(
  place: Place,
): Promise<{ readonly schema: SchemaState; readonly failedIndexes: readonly IndexRecord[] }> {
  const { client } = place
  const [classes, indexes, sequences] = await Promise.all([
    client.listClasses(),
    client.listIndexes(),
    readSequences(place),
  ])
  return {
    schema: schemaState(classes, indexes, sequences),
    failedIndexes: indexes.filter(({ state }) => state === 'failed'),
  }
}

/** Returns [] and prints a note for a caller without permission to define sequences. */
async function readSequences({ client, output }: Place): Promise<readonly SequenceRow[]> {
  try {
    return await client.query<SequenceRow>('SHOW SEQUENCES')
  } catch (error) {
    if (!(error instanceof AshlarRequestError) || error.status !== 403) throw error
    output.note('Sequences are left out: they are shown to those who may define them.')
    return []
  }
}

/** Writes to standard output or a file (--output), or one file per namespace into a folder. */
export async function pullSchema(
  { client, output }: CommandContext,
  [folder]: readonly (string | undefined)[],
  { namespace }: ScopeOptions,
): Promise<void> {
  const schema = await currentSchema({ client, output })
  const scope = scopeOf(namespace)
  const quoting = await quotingOf(schema)
  const pulled = restrictToScope(schema, scope)
  if (folder === undefined) {
    const text = schemaText(pulled, quoting)
    return output.data({ text }, () => [text.trimEnd()])
  }
  const files = schemaFiles(pulled, quoting)
  writeSchemaFiles(folder, files, scope.namespaces === undefined)
  const names = [...files.keys()]
  await output.result({ folder, files: names }, () => [`Wrote ${names.join(', ') || 'nothing'} to ${folder}.`])
}

/** Ends with exit code 8 if there are differences. */
export async function diffSchema(
  { client, output }: CommandContext,
  [place]: readonly [string],
  { namespace }: ScopeOptions,
): Promise<void> {
  const scope = scopeOf(namespace)
  const current = await currentSchema({ client, output })
  const target = await targetSchema(place, current, scope)
  const differences = differencesOf(restrictToScope(current, scope), restrictToScope(target, scope))
  await output.data({ isSame: differences.length === 0, differences }, () => differences)
  if (differences.length > 0) throw new CommandError(exitCodes.different, `The schema differs from ${place}.`)
}

/** Reports only whether the schemas differ. */
export async function checkSchema(
  { client, output }: CommandContext,
  [place]: readonly [string],
  { namespace }: ScopeOptions,
): Promise<void> {
  const scope = scopeOf(namespace)
  const current = await currentSchema({ client, output })
  const target = restrictToScope(await targetSchema(place, current, scope), scope)
  const isSame = isSameSchema(restrictToScope(current, scope), target)
  const counts = `${countText(target.classes.length, 'class', 'classes')} and ${countText(target.indexes.length, 'index', 'indexes')}`
  await output.result({ isSame }, () => (isSame ? [`The schema matches ${place}: ${counts}.`] : []))
  if (!isSame) throw new CommandError(exitCodes.different, `The schema differs from ${place}: see ashlar schema diff.`)
}

/** Shows the steps of a plan, the losses, and impossible steps. The server executes the plan and rolls back. */
export async function planSchema(
  context: CommandContext,
  [place]: readonly [string],
  options: PlanOptions,
): Promise<void> {
  const { plan } = await plannedFor(context, place, options)
  const rehearsed = await rehearse(context.client, plan)
  await context.output.data(recordOf(plan, rehearsed), () => planLines(plan, rehearsed))
  const [refusal] = rehearsed.refusals
  if (refusal !== undefined) throw refusedPlan(refusal, [])
}

/** Applies all steps and their log entry in one transaction; with `--stepwise`, each step is a request. */
export async function applySchema(
  context: CommandContext,
  [place]: readonly [string],
  options: PlanOptions,
): Promise<void> {
  const { client, output } = context
  const planned = await plannedFor(context, place, options)
  if (options.stepwise === true) return applyStepwise(context, place, planned, options)
  const { plan } = planned
  if (plan.steps.length === 0) return output.result({ version: null, steps: [] }, () => ['The schema is up to date.'])
  const rehearsed = await rehearse(client, plan)
  const [refusal] = rehearsed.refusals
  if (refusal !== undefined) throw refusedPlan(refusal, planLines(plan, rehearsed))
  await refuseLoss(plan, rehearsed, options)
  const { version, steps } = await noted(client, planned, options, allowing(plan.parts))
  if (!(await isReached(context, planned)))
    throw conflictError(
      `Version ${version} was applied, but the schema was also changed concurrently: see ashlar schema diff.`,
    )
  await output.result({ version, steps }, () => [...planLines(plan, rehearsed), `Applied as version ${version}.`])
}

/** Executes the operations and the entry in the log as one transaction. */
async function noted(
  client: AshlarClient,
  { plan, text }: Planned,
  { message = '' }: PlanOptions,
  operations: readonly TransactionOperation[],
): Promise<{ readonly version: number; readonly steps: readonly string[] }> {
  const steps = plan.steps.map((step) => step.text)
  const note = await noteVersion(client, { message, steps, text: await text() })
  await executeAtomically(client, [...operations, ...note.operations])
  return { version: note.version, steps }
}

async function isReached(place: Place, { target, scope }: Planned): Promise<boolean> {
  return isSameSchema(restrictToScope(await currentSchema(place), scope), restrictToScope(target, scope))
}

async function refuseLoss(
  plan: SchemaPlan,
  rehearsed: Rehearsed,
  { allowLoss, confirmLoss }: PlanOptions,
): Promise<void> {
  if (allowLoss === true || !isLossy(plan, rehearsed)) return
  const lines = planLines(plan, rehearsed)
  if ((await confirmLoss?.(lines)) === true) return
  const advice = 'Nothing was changed: what is marked ! would be lost. If you mean it, add --allow-loss.'
  throw conflictError(advice, confirmLoss === undefined ? lines : [])
}

/** Applies the plan step by step. After an interruption, the same command continues with the remaining steps. */
async function applyStepwise(
  context: CommandContext,
  place: string,
  planned: Planned,
  options: PlanOptions,
): Promise<void> {
  const { client, output } = context
  const { plan, target, scope, text } = planned
  const rehearsed = await rehearse(client, plan)
  // The plan may exceed one transaction: the server then reports the losses of each step.
  const [refusal] = rehearsed.refusals
  if (refusal !== undefined && !refusal.isTooMuch) throw refusedPlan(refusal, planLines(plan, rehearsed))
  const made: Rehearsed = { valuesLost: rehearsed.valuesLost, refusals: [] }
  await refuseLoss(plan, made, options)
  await applySteps(context, plan, options)
  await waitForIndexes(context, restrictToScope(target, scope))
  if (!(await isReached(context, planned)))
    throw conflictError(
      `All steps were applied, but the schema was also changed concurrently: see ashlar schema diff ${place}.`,
    )
  if (plan.steps.length === 0 && (await readSchemaLog(client)).at(-1)?.text === (await text()))
    return output.result({ version: null, steps: [] }, () => ['The schema is up to date.'])
  const { version, steps } = await noted(client, planned, options, [])
  await output.result({ version, steps }, () => [...planLines(plan, made), `Applied as version ${version}.`])
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
  if (entry === undefined) throw notFoundError(`There is no version ${version} in the log.`)
  await output.data(entry, () => [entry.text.trimEnd()])
}

export async function drawSchema(
  { client, output }: CommandContext,
  [place]: readonly (string | undefined)[],
  { format = 'mermaid' }: { readonly format?: 'mermaid' | 'svg' },
): Promise<void> {
  const schema =
    place === undefined ? await currentSchema({ client, output }) : await schemaOfSource(readSchemaSource(place))
  const text = format === 'svg' ? svgDiagram(schema) : mermaidDiagram(schema)
  await output.data({ format, text }, () => [text.trimEnd()])
}

interface Planned {
  readonly plan: SchemaPlan
  /** The whole schema, including namespaces outside of the scope. */
  readonly target: SchemaState
  readonly scope: SchemaScope
  readonly text: () => Promise<string>
}

async function plannedFor(context: Place, place: string, { rename = [], namespace }: PlanOptions): Promise<Planned> {
  const scope = scopeOf(namespace)
  const { schema, failedIndexes } = await currentState(context)
  const renamed = await applyRenames(schema, rename)
  const moved = [
    ...renamed.classes.flatMap(({ from, to }) => [from, to]),
    ...renamed.attributes.map((one) => one.className),
  ]
  const foreign = moved.find((className) => !scope.has(className))
  if (foreign !== undefined) throw usageError(outsideOf(foreign, scope, '--rename'))
  const target = await targetSchema(place, renamed.schema, scope)
  const failed = failedIndexes.filter(({ indexedClass }) => scope.has(indexedClass)).map(({ name }) => name)
  const text = async (): Promise<string> => schemaText(restrictToScope(target, scope), await quotingOf(target))
  return { plan: planOf(schema, target, renamed, failed), target, scope, text }
}

/** Returns the schema from the files for the selected namespaces, and the current one for the rest, to which the files may refer. */
async function targetSchema(place: string, current: SchemaState, scope: SchemaScope): Promise<SchemaState> {
  const others = outside(current, scope)
  const lines = others.classes.flatMap((cls) => classText(cls, 'always'))
  const all = await schemaOfSource(readSchemaSource(place, lines))
  const otherNames = new Set(others.classes.map(({ className }) => className))
  const foreign = all.classes.find(({ className }) => !scope.has(className) && !otherNames.has(className))?.className
  const indexed = all.indexes.find(({ indexedClass }) => !scope.has(indexedClass))?.indexedClass
  if (foreign !== undefined || indexed !== undefined) {
    throw invalidInput(outsideOf(foreign ?? indexed ?? '', scope, place))
  }
  const [sequence] = scope.namespaces === undefined ? [] : all.sequences
  if (sequence !== undefined)
    throw invalidInput(
      `${place} has the sequence ${sequence.name}, which is in no namespace: it goes without --namespace.`,
    )
  const own = restrictToScope(all, scope)
  return schemaOf(
    [...others.classes, ...own.classes],
    [...others.indexes, ...own.indexes],
    [...others.sequences, ...own.sequences],
  )
}

function outsideOf(className: string, { namespaces = [] }: SchemaScope, place: string): string {
  return `${place} names class ${className}, which is not in ${namespaces.join(' or ')}: only these namespaces are to change (--namespace).`
}
