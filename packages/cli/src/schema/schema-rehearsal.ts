/** Runs a plan in a transaction that the server rolls back, to find losses and errors. */
import {
  type AshlarClient,
  AshlarRequestError,
  type SchemaReport,
  type TransactionOperation,
  type ValuesLost,
} from '@ashlar/client'
import { withoutOperation } from '../data/execute-atomically.ts'
import { CommandError } from '../errors/command-error.ts'
import { exitCodeOfStatus, exitCodes } from '../errors/exit-codes.ts'
import { numberText } from '../output/texts.ts'
import { type PlanPart, type PlanStep, type SchemaPlan, subjectOf } from './schema-plan.ts'

export interface Rehearsed {
  /** Values that would be deleted or replaced by a default. */
  readonly valuesLost: readonly ValuesLost[]
  /** Those of the first part that is refused, and of others that stored objects stand in the way of. */
  readonly refusals: readonly PlanRefusal[]
}

export interface PlanRefusal {
  readonly part: PlanPart | undefined
  /** The reason of each step that is refused. */
  readonly reasons: ReadonlyMap<PlanStep, string>
  readonly reason: string
  readonly exitCode: number
  /** The plan exceeds the limits of one transaction; `--stepwise` may carry it out. */
  readonly isTooMuch: boolean
  /** Stored objects violate constraints of the part. */
  readonly isOfObjects: boolean
}

/** Sends each operation, preceded by its dry run if it may lose values. Throws AshlarRequestError if the request itself fails. */
export async function rehearse(client: AshlarClient, { parts }: SchemaPlan): Promise<Rehearsed> {
  const refusals: PlanRefusal[] = parts.flatMap(impossibleSteps).slice(0, 1)
  let left = refusals.length === 0 ? parts : []
  for (;;) {
    const result = await rehearseOnce(client, left)
    if (!('part' in result)) return { valuesLost: result.valuesLost, refusals }
    // Without the part that is refused, others may fail for another reason than stored objects.
    if (refusals.length === 0 || result.isOfObjects) refusals.push(result)
    const { part, isOfObjects } = result
    if (part?.isSeparable !== true || !isOfObjects) return { valuesLost: [], refusals }
    left = left.filter((one) => one !== part)
  }
}

function impossibleSteps(part: PlanPart): PlanRefusal[] {
  return part.steps.flatMap((step) => {
    const { refusal: reason } = step
    if (reason === undefined) return []
    const reasons = new Map([[step, reason]])
    return [{ part, reasons, reason, exitCode: exitCodes.invalid, isTooMuch: false, isOfObjects: false }]
  })
}

async function rehearseOnce(
  client: AshlarClient,
  parts: readonly PlanPart[],
): Promise<Pick<Rehearsed, 'valuesLost'> | PlanRefusal> {
  const sent = parts.flatMap((part) => rehearsalOf(part).map((operation) => ({ part, operation })))
  if (sent.length === 0) return { valuesLost: [] }
  try {
    const results = await client.runTransaction(sent.map(({ operation }) => ({ ...operation, result: 'dispose' })))
    const reports = results.flatMap(({ result }) => {
      return typeof result === 'object' && result !== null && 'valuesLost' in result ? [result as SchemaReport] : []
    })
    return { valuesLost: reports.flatMap(({ valuesLost }) => valuesLost) }
  } catch (error) {
    if (!(error instanceof AshlarRequestError)) throw error
    const { operation, type } = error
    // The limit may be one of the whole transaction.
    if (operation === undefined && type !== 'LimitExceeded') throw error
    return refusalOf(error, sent[(operation ?? 0) - 1]?.part)
  }
}

function rehearsalOf(part: PlanPart): TransactionOperation[] {
  return allowing([part]).flatMap((operation) => {
    const dryRun = { ...operation, uri: withParameter(operation.uri, 'dryRun=true') }
    return part.isConversion === true ? [dryRun, operation] : [operation]
  })
}

/** Returns the operations with `allowLoss`: the losses were found by `rehearse`, and the user accepted them. */
export function allowing(parts: readonly PlanPart[]): TransactionOperation[] {
  return parts.flatMap(({ operation, isConversion }) => {
    return operation.map((one) =>
      isConversion === true ? { ...one, uri: withParameter(one.uri, 'allowLoss=true') } : one,
    )
  })
}

function withParameter(uri: string, parameter: string): string {
  return `${uri}${uri.includes('?') ? '&' : '?'}${parameter}`
}

function refusalOf(error: AshlarRequestError, part: PlanPart | undefined): PlanRefusal {
  const { status, type, message, violations } = error
  const isTooMuch = type === 'LimitExceeded'
  const reason = withoutOperation(message)
  const step = stepAtFault(error, part)
  return {
    part,
    reasons: violations.length > 0 ? reasonsOf(error, part, step) : new Map(step && [[step, reason]]),
    reason,
    exitCode: isTooMuch ? exitCodes.invalid : exitCodeOfStatus(status),
    isTooMuch,
    isOfObjects: violations.length > 0,
  }
}

function stepAtFault({ errors }: AshlarRequestError, part: PlanPart | undefined): PlanStep | undefined {
  const pointer = errors[0]?.pointer.replace(/^\/\d+\/body/, '') ?? ''
  const places = pointer.split('/').map((_, at, all) => all.slice(0, at + 1).join('/'))
  const at = places.map((place) => part?.stepAt?.get(place)).findLast((step) => step !== undefined)
  return part?.steps[at ?? 0]
}

/** `fallback`: for violations of what no step names, such as an embeddable class. */
function reasonsOf(
  { violations, message }: AshlarRequestError,
  part: PlanPart | undefined,
  fallback: PlanStep | undefined,
): Map<PlanStep, string> {
  const texts = new Map<PlanStep, string[]>()
  for (const violation of violations) {
    const at = part?.stepOf?.get(subjectOf(violation.className, violation))
    const step = (at === undefined ? undefined : part?.steps[at]) ?? fallback
    if (step !== undefined) texts.set(step, [...(texts.get(step) ?? []), violationText(violation)])
  }
  // The message of the server may give advice.
  if (texts.size === 1) return new Map([...texts.keys()].map((step) => [step, withoutOperation(message)]))
  return new Map([...texts].map(([step, some]) => [step, `${some.join(', ')}.`]))
}

function violationText({
  className,
  attributeName,
  checkName,
  constraint,
  objects,
  oids,
}: AshlarRequestError['violations'][number]): string {
  const what = checkName === undefined ? constraint : `check ${checkName}`
  const of = attributeName === undefined ? '' : ` of attribute ${attributeName}`
  const subject = objects === 1 ? '1 object violates' : `${numberText(objects)} objects violate`
  return `${subject} ${what}${of} of class ${className} (${oids[0]}${objects === 1 ? '' : ' and others'})`
}

/** Returns the error of a command whose plan is refused; `details`: lines below it. */
export function refusedPlan({ reason, exitCode, isTooMuch }: PlanRefusal, details: readonly string[]): CommandError {
  const advice = isTooMuch ? ['It can be done step by step, online: add --stepwise to apply.'] : []
  return new CommandError(exitCode, reason, [...details, ...advice])
}

export function isLossy({ steps }: SchemaPlan, { valuesLost }: Pick<Rehearsed, 'valuesLost'>): boolean {
  return steps.some(({ isLoss }) => isLoss) || valuesLost.some(({ values }) => values > 0)
}

export function recordOf({ steps, hints }: SchemaPlan, { valuesLost, refusals }: Rehearsed): object {
  const markedSteps = steps.map((step) => {
    const refusal = reasonIn(refusals, step)
    return refusal === undefined ? step : { ...step, refusal }
  })
  return { steps: markedSteps, valuesLost, hints }
}

function reasonIn(refusals: readonly PlanRefusal[], step: PlanStep): string | undefined {
  return refusals.map(({ reasons }) => reasons.get(step)).find((reason) => reason !== undefined) ?? step.refusal
}

/** Marks losses with `!`, and impossible steps with `x`. */
export function planLines({ steps, hints }: SchemaPlan, { valuesLost, refusals }: Rehearsed): string[] {
  if (steps.length === 0) return ['The schema is up to date.']
  const lost = valuesLost.filter(({ values }) => values > 0)
  return [
    ...steps.flatMap((step) => {
      const reason = reasonIn(refusals, step)
      const mark = reason !== undefined ? 'x' : step.isLoss ? '!' : ' '
      const lines = step.text.split('\n').map((line, at) => `${at === 0 ? mark : ' '} ${line}`)
      return reason === undefined ? lines : [...lines, `    cannot be done: ${reason}`]
    }),
    ...lost.map(({ className, attributeName, values }) => {
      return `! ${numberText(values)} ${values === 1 ? 'value' : 'values'} of ${className}.${attributeName} would be lost.`
    }),
    ...hints,
  ]
}
