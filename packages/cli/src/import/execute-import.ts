/** Executes a planned import: creates classes, sends records and reports the result. A dry run only checks the records. */
import type { AshlarClient, AttributeDefinition, ClassDescription } from '@ashlar/client'
import type { CommandContext } from '../connection/command-context.ts'
import { CommandError, invalidInput } from '../errors/command-error.ts'
import type { Output } from '../output/output.ts'
import { numberText } from '../output/texts.ts'
import type { PeekedFile } from './file-record.ts'
import { type FileReading, skipsAll } from './infer-from-file.ts'
import { countedLosses, type ImportLosses } from './losses.ts'
import { openRejectsFile, type RejectsFile } from './rejects-file.ts'
import { type Imported, importRecords } from './run-import.ts'
import type { AttributesOf } from './stored-values.ts'
import { attributesBy } from './to-attributes.ts'

export interface ImportPlan extends Pick<FileReading, 'className' | 'mapping' | 'references' | 'skip'> {
  readonly upsertOn?: string
  /** The name of the file for rejected records. */
  readonly rejects?: string
  readonly dryRun?: boolean
  /** Includes inherited attributes. */
  readonly attributes: readonly AttributeDefinition[]
  readonly attributesOf: AttributesOf
  /** Classes to create, the class of the objects last; empty if that exists. */
  readonly newClasses: readonly ClassDescription[]
  readonly notes: readonly string[]
}

export async function execute(context: CommandContext, file: PeekedFile, plan: ImportPlan): Promise<void> {
  const { output } = context
  for (const note of plan.notes) output.note(note)
  const losses = countedLosses()
  try {
    await (plan.dryRun === true ? tryOut(context, file, plan, losses) : store(context, file, plan, losses))
  } finally {
    for (const note of losses.notes()) output.note(note)
  }
}

async function store(context: CommandContext, file: PeekedFile, plan: ImportPlan, losses: ImportLosses): Promise<void> {
  const { connection, output } = context
  const { newClasses, skip } = plan
  // Opened before the class is created: otherwise, a failure to open it would leave the class.
  const rejects = plan.rejects === undefined ? undefined : await openRejectsFile(plan.rejects)
  let hasCreated = false
  try {
    if (newClasses.length > 0) {
      await context.client.createClasses(newClasses)
      hasCreated = true
      for (const { className, attributes } of newClasses)
        output.note(`Class ${className} was created: ${attributes.map(definitionText).join(', ')}.`)
    }
    const load = connection.uninterrupted.loadObjects.bind(connection.uninterrupted)
    const outcome = await imported(context, file, plan, { load, losses, rejects })
    if (outcome.seen < skip) throw skipsAll(skip, outcome.seen)
    if (skip === 0) refuseNothing(outcome, plan.rejects)
    await reportImported(output, outcome, plan.rejects)
  } catch (error) {
    throw hasCreated ? await withoutClasses(context, newClasses, error) : error
  } finally {
    await rejects?.close()
  }
}

async function tryOut(
  context: CommandContext,
  file: PeekedFile,
  plan: ImportPlan,
  losses: ImportLosses,
): Promise<void> {
  const { attributes, attributesOf, className, newClasses, skip, upsertOn } = plan
  const { dryRun, objectLines } = await import('./dry-run.ts')
  if (newClasses.length > 0)
    await context.client.runTransaction([{ method: 'post', uri: '/v1/schema?dryRun=true', body: newClasses }])
  const { objects: samples, load } = dryRun(className, attributes, attributesOf)
  const outcome = await imported(context, file, plan, { load, losses, rejects: undefined })
  if (outcome.seen < skip) throw skipsAll(skip, outcome.seen)
  if (skip === 0) refuseNothing(outcome, plan.rejects)
  const [described] = newClasses.slice(-1)
  const embedded = newClasses.slice(0, -1)
  const { created, rejected, firstReason } = outcome
  const result = {
    class: described ?? null,
    ...(embedded.length > 0 && { embeddedClasses: embedded }),
    objects: samples,
    created,
    rejected,
  }
  const objects = `${numberText(created)} would be ${upsertOn === undefined ? 'created' : 'created or updated'}`
  await context.output.data(result, () => [
    ...classLines(newClasses),
    ...objectLines(samples),
    `${objects}, ${numberText(rejected)} rejected.${firstReason === undefined ? '' : ` ${firstReason}`}`,
  ])
}

async function imported(
  { output, signal }: CommandContext,
  file: PeekedFile,
  plan: ImportPlan,
  {
    load,
    losses,
    rejects,
  }: {
    readonly load: CommandContext['client']['loadObjects']
    readonly losses: ImportLosses
    readonly rejects: RejectsFile | undefined
  },
): Promise<Imported> {
  const { className, mapping, attributes, attributesOf, references, skip, upsertOn } = plan
  const conversions = { attributesOf, losses, isUpdate: upsertOn !== undefined }
  return await importRecords(
    { load, signal },
    {
      className,
      toAttributes: attributesBy(mapping, attributes, references, conversions),
      references,
      skip,
      upsertOn,
      rejects,
      skipsRejected: plan.rejects !== undefined,
      isDryRun: plan.dryRun === true,
      isQuiet: output.hidesProgress,
      position: () => ({ bytesRead: file.bytesRead(), total: file.size }),
    },
    file.records,
  )
}

/** Deletes the created classes if nothing was stored. Returns the error, with a message that mentions it. */
async function withoutClasses(
  { connection, output }: CommandContext,
  newClasses: readonly ClassDescription[],
  error: unknown,
): Promise<unknown> {
  const sentence = await deleteEmpty(connection.uninterrupted, newClasses)
  if (error instanceof CommandError)
    return new CommandError(error.exitCode, `${error.message} ${sentence}`, error.details, error.refusal)
  output.note(sentence)
  return error
}

/** A server refuses to delete a class that has objects. Returns a sentence. */
async function deleteEmpty(client: AshlarClient, newClasses: readonly ClassDescription[]): Promise<string> {
  const name = newClasses.at(-1)?.className
  try {
    for (const { className = '' } of newClasses.toReversed()) await client.deleteClass(className)
  } catch {
    return `The class ${name}, which this import has created, is kept.`
  }
  return `The class ${name}, which this import had created, is deleted again.`
}

/** `--rejects` is for some invalid records; if all are rejected, the cause is probably a mistake. */
function refuseNothing(outcome: Imported, rejects: string | undefined): void {
  const { created, updated, rejected, firstReason } = outcome
  if (rejected === 0 || created + updated > 0) return
  const all = rejected === 1 ? 'The only record was' : `All ${numberText(rejected)} records were`
  throw invalidInput(`Nothing was imported. ${all} rejected (see ${rejects}). ${firstReason}`)
}

async function reportImported(output: Output, outcome: Imported, rejects: string | undefined): Promise<void> {
  const { created, updated, rejected } = outcome
  const where = rejected === 0 ? '' : ` (see ${rejects})`
  await output.result({ created, updated, rejected }, () => [
    `${numberText(created)} created, ${numberText(updated)} updated, ${numberText(rejected)} rejected${where}.`,
  ])
  // With `--output`, the summary is not visible.
  if (rejected > 0 && output.file !== undefined)
    output.note(`${numberText(rejected)} ${rejected === 1 ? 'record was' : 'records were'} rejected${where}.`)
}

function classLines(newClasses: readonly ClassDescription[]): string[] {
  if (newClasses.length === 0) return ['The class exists, and is not changed.']
  return newClasses.flatMap((one) => [
    `The class ${one.className} would be created:`,
    ...one.attributes.map((attribute) => `  ${definitionText(attribute)}`),
  ])
}

function definitionText({
  attributeName,
  logicalType,
  encoding,
  storage,
  elementSpecification: element,
}: AttributeDefinition): string {
  const type = element === undefined ? logicalType : `${logicalType} of ${element.logicalType}`
  return [attributeName, type, encoding, storage].filter((word) => word !== undefined).join(' ')
}
