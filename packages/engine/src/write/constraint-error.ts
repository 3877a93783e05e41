/** ConstraintViolation: a write that the constraints of a class reject (contract 10.3). */
import { AshlarError, type ErrorDetail } from '../errors.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import {
  constraintKey,
  constraintsOf,
  isDeferrable,
  type ObjectCheck,
  type ObjectConstraints,
  type ValueViolation,
  type Violation,
} from '../records/constraints.ts'
import { areMoreValues } from '../records/many-values.ts'
import { isCollection } from '../schema/properties/attribute-property.ts'
import { runYieldingIfLong } from '../store/time-slice.ts'
import { formatForMessage } from '../types/logical-type.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { ChangeGuard } from './change-guard.ts'
import { valuesWithCounts } from './count-links.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import type { ObjectState } from './working-set.ts'

const valueCharactersMax = 200

/** Throws ConstraintViolation, with an entry for each violation of the object that the caller may see. Synchronous if no links are counted and no value is long. */
export function checkConstraints(state: ObjectState, unit: UnitOfWork): Promise<void> | undefined {
  const { objects, expressions, deferred } = unit
  const all = constraintsOf(state.format, objects.formats, expressions.all)
  if (all === undefined) {
    throwAny(state, linkViolationsOf(unit, state), unit)
    return undefined
  }
  const changed = state.before === undefined ? undefined : state.changed
  // Elements are counted once, at the end, and not with each step that adds one.
  const constraints = deferred === undefined ? all : all.withoutDeferrableChecks
  const later = deferred === undefined ? [] : all.deferrableCheckKeys(changed)
  if (later.length > 0) deferred?.note(state, later)
  const counted = constraints.countedLinks(changed)
  if (counted.size > 0) {
    return valuesWithCounts(unit, state, counted).then((values) => checkValues(constraints, state, values, unit))
  }
  return checkValues(constraints, state, state.values, unit)
}

/** `values`: as `ObjectCheck.isBrokenBy` expects them. */
function checkValues(
  constraints: ObjectConstraints,
  state: ObjectState,
  values: readonly unknown[],
  unit: UnitOfWork,
): Promise<void> | undefined {
  const { before, changed, excused } = state
  const ofLinks = linkViolationsOf(unit, state)
  const isFree = before === undefined && ofLinks.length === 0
  if (isFree && !areMoreValues(values, valuesAtOnceMax) && constraints.areSatisfiedBy(values)) return undefined
  const violations = runYieldingIfLong(constraints.violationsStepwise(values, before, changed, excused))
  if (violations instanceof Promise) return violations.then((all) => throwAny(state, [...all, ...ofLinks], unit))
  throwAny(state, [...violations, ...ofLinks], unit)
  return undefined
}

function linkViolationsOf({ linkViolations }: UnitOfWork, { oid }: ObjectState): readonly Violation[] {
  return linkViolations?.get(oid) ?? []
}

/** Checking more values takes several time slices. */
const valuesAtOnceMax = 1_000

/** Passes violations that are checked at the end of the transaction to `deferred`. Throws ConstraintViolation. */
function throwAny(state: ObjectState, violations: readonly Violation[], unit: UnitOfWork): void {
  const { deferred } = unit
  if (violations.length === 0) return
  const present = deferred === undefined ? violations : violations.filter((violation) => !isDeferrable(violation))
  if (present.length > 0) {
    attributeToLinks(state, present)
    throw violationError(state, present, unit)
  }
  deferred?.note(state, violations.map(constraintKey))
}

/** Links may be changed by another command than the one that set attributes of the object. */
function attributeToLinks(state: ObjectState, violations: readonly Violation[]): void {
  const { position, linkPosition } = state
  const positions = violations.flatMap((one) => (one.check === undefined ? (one.position ?? []) : []))
  if (positions.length > 0 && (positions.length === violations.length || position === undefined)) {
    state.position = Math.max(...positions)
    return
  }
  const isOfLinks = violations.every(({ check }) => check !== undefined && check.counts.size > 0)
  if (linkPosition !== undefined && (isOfLinks || position === undefined)) {
    state.position = Math.max(linkPosition, position ?? 0)
  }
}

export function violationError(
  state: ObjectState,
  violations: readonly Violation[],
  { guard, transaction }: UnitOfWork,
): AshlarError {
  const visible = guard?.catalog
  const { name } = state.format.cls
  const isVisible = ({ root, ...violation }: Violation): boolean => {
    const inner = violation.check === undefined ? violation.attribute.attribute.number : undefined
    const named = violation.check === undefined || violation.path.length > 0 ? [] : namesOf(violation.check, state)
    return [root, inner, ...named].every((number) => number === undefined || visible?.attribute(number) !== undefined)
  }
  const visibleViolations = visible === undefined ? violations : violations.filter(isVisible)
  const [first] = visibleViolations
  if (first === undefined) {
    const message = `Class ${name}: a constraint of an attribute that the caller may not see is violated.`
    return new AshlarError('ConstraintViolation', message)
  }
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  const isNew = state.stored === undefined || transaction.hasCreated(state.key)
  // An object that the request does not name is identified by its OID, unless this is forgotten with the refused change.
  const which = state.isAddressed ? '' : isNew ? ', a new object' : `, object ${state.oid}`
  // A restricted caller may not see all that is counted.
  const worded = (violation: Violation): string =>
    sentence(violation) + (guard === undefined ? countsIn(violation, state) : '')
  const message = `Class ${name}${which}: ${worded(first).replace(/\.$/, '')}${more}.`
  const details = visibleViolations.map((violation): ErrorDetail => {
    return {
      place: state.isAddressed ? ['attributes', ...violation.path] : [],
      message: worded(violation),
      fault: { ...faultOf(violation, name), ...(isNew ? {} : { oid: state.oid }) },
    }
  })
  return new AshlarError('ConstraintViolation', message, details)
}

/** The attributes that a check names; empty for checks of embedded objects, whose attributes are not known here. */
function namesOf({ indexes }: ObjectCheck, { format }: ObjectState): (AttributeNumber | undefined)[] {
  return [...indexes].map((index) => format.attributes[index]?.attribute.number)
}

function faultOf(violation: Violation, className: string): Readonly<Record<string, unknown>> {
  if (violation.check !== undefined) {
    const isEmbedded = violation.path.length > 0
    const of = isEmbedded ? violation.className : className
    return { className: of, constraint: 'checks', checkName: violation.check.name }
  }
  const { attribute, constraint, value } = violation
  const { declaringClass } = attribute.attribute
  return {
    className: declaringClass.isReferenceable ? className : declaringClass.name,
    attributeName: attribute.attribute.outputName,
    constraint,
    value: truncated(value),
  }
}

function sentence(violation: Violation): string {
  const { check } = violation
  if (check === undefined) return valueSentence(violation)
  const within = violation.path.length === 0 ? '' : ` (at ${violation.path.join('.')})`
  return `check ${check.name}${within}: ${check.message}`
}

/** What a check that counts has found, for example ` (crew has 3 elements, seats is 2)`. */
function countsIn(violation: Violation, { format }: ObjectState): string {
  const { check, path } = violation
  if (check === undefined || !check.isDeferrable || path.length > 0) return ''
  const parts = [...check.indexes]
    .sort((one, other) => one - other)
    .flatMap((index) => {
      const { attribute, codec } = format.attributes[index] as AttributeFormat
      const { outputName, spec } = attribute
      const value = violation.values[index]
      if (isCollection(spec)) {
        const count = Array.isArray(value) ? value.length : (value as number)
        const least = check.counts.get(index) === count ? 'at least ' : ''
        return [`${outputName} has ${least}${count} ${count === 1 ? 'element' : 'elements'}`]
      }
      if (!numbers.has(spec.logicalType) || value === undefined) return []
      return [`${outputName} is ${formatForMessage(value === null ? null : codec.toJson(value))}`]
    })
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

const numbers: ReadonlySet<string> = new Set(['integer', 'real', 'decimal'])

/** Reduces the error for a restricted caller: for a hidden object, it says only that there is a violation (contract 10.4.10). */
export async function violationTo(guard: ChangeGuard, state: ObjectState, error: unknown): Promise<unknown> {
  if (!(error instanceof AshlarError) || error.type !== 'ConstraintViolation') return error
  if ((await guard.hiddenAmong([state.oid])).size === 0) return error
  const message = 'The change would violate a constraint of an object that the caller does not see.'
  return new AshlarError('ConstraintViolation', message)
}

/** For example `attribute age has to be at least 0, not -1`. */
function valueSentence({ attribute, constraint, requirement, path, value }: ValueViolation): string {
  const within = path.length > 1 ? ` (at ${path.join('.')})` : ''
  const isVisible = constraint !== 'isRequired' && constraint !== 'isReadOnly'
  // Links are counted up to the first one that is too many.
  const found =
    attribute.linkStorage === undefined
      ? `not ${formatForMessage(value)}`
      : `but has ${constraint === 'maxItems' ? 'at least ' : ''}${value}`
  return `attribute ${attribute.attribute.outputName}${within} ${requirement}${isVisible ? `, ${found}` : ''}`
}

/** Shortens strings, and the JSON of long values. */
function truncated(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return value.slice(0, valueCharactersMax)
  if (typeof value !== 'object' || value === null) return value
  const text = JSON.stringify(value, (_name, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
  return text.length <= valueCharactersMax ? value : text.slice(0, valueCharactersMax)
}
