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
import type { PlanPart, PlanStep, SchemaPlan } from './schema-plan.ts'

export interface Rehearsed {
  /** Values that would be deleted or replaced by a default. */
  readonly valuesLost: readonly ValuesLost[]
  readonly refusal?: PlanRefusal
}

export interface PlanRefusal {
  readonly step: PlanStep | undefined
  readonly reason: string
  readonly exitCode: number
  /** The plan exceeds the limits of one transaction; `--stepwise` may carry it out. */
  readonly isTooMuch: boolean
}

/** Sends each operation, preceded by its dry run if it may lose values. Throws AshlarRequestError if the request itself fails. */
export async function rehearse(client: AshlarClient, { parts }: SchemaPlan): Promise<Rehearsed> {
  const impossible = parts.flatMap(({ steps }) => steps).find(({ refusal }) => refusal !== undefined)
  if (impossible?.refusal !== undefined) {
    const { refusal: reason } = impossible
    return { valuesLost: [], refusal: { step: impossible, reason, exitCode: exitCodes.invalid, isTooMuch: false } }
  }
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
    return { valuesLost: [], refusal: refusalOf(error, sent[(operation ?? 0) - 1]?.part) }
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
  const { status, type, errors, message } = error
  const isTooMuch = type === 'LimitExceeded'
  const pointer = errors[0]?.pointer.replace(/^\/\d+\/body/, '') ?? ''
  const places = pointer.split('/').map((_, at, all) => all.slice(0, at + 1).join('/'))
  const at = places.map((place) => part?.stepAt?.get(place)).findLast((step) => step !== undefined)
  return {
    step: constrainingStep(part, message) ?? part?.steps[at ?? 0],
    reason: withoutOperation(message),
    exitCode: isTooMuch ? exitCodes.invalid : exitCodeOfStatus(status),
    isTooMuch,
  }
}

/** Finds the step that adds the constraint violated by stored objects; such an error has no place in the body. */
function constrainingStep(part: PlanPart | undefined, message: string): PlanStep | undefined {
  const attribute = /violates? \S+ of attribute (\S+) of class/.exec(message)?.[1]
  return attribute === undefined ? undefined : part?.steps.find(({ text }) => text.includes(`{ALTER ${attribute} {`))
}

/** Returns the error of a command whose plan is refused; `details`: lines below it. */
export function refusedPlan({ reason, exitCode, isTooMuch }: PlanRefusal, details: readonly string[]): CommandError {
  const advice = isTooMuch ? ['It can be done step by step, online: add --stepwise to apply.'] : []
  return new CommandError(exitCode, reason, [...details, ...advice])
}

export function isLossy({ steps }: SchemaPlan, { valuesLost }: Rehearsed): boolean {
  return steps.some(({ isLoss }) => isLoss) || valuesLost.some(({ values }) => values > 0)
}

export function recordOf({ steps, hints }: SchemaPlan, { valuesLost, refusal }: Rehearsed): object {
  const markedSteps = steps.map((step) => (step === refusal?.step ? { ...step, refusal: refusal.reason } : step))
  return { steps: markedSteps, valuesLost, hints }
}

/** Marks losses with `!`, and impossible steps with `x`. */
export function planLines({ steps, hints }: SchemaPlan, { valuesLost, refusal }: Rehearsed): string[] {
  if (steps.length === 0) return ['The schema is up to date.']
  const lost = valuesLost.filter(({ values }) => values > 0)
  return [
    ...steps.flatMap((step) => {
      const reason = step === refusal?.step ? refusal.reason : step.refusal
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
