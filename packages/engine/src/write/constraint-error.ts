/** ConstraintViolation: what a change writes that the constraints of a class refuse (contract 10.3). */
import { AshlarError, type ErrorDetail } from '../errors.ts'
import { constraintsOf, type ValueViolation, type Violation } from '../records/constraints.ts'
import { formatForMessage } from '../types/logical-type.ts'
import type { UnitOfWork } from './unit-of-work.ts'
import type { ObjectState } from './working-set.ts'

const valueCharactersMax = 200

/** Throws ConstraintViolation, with an entry for each violation of the object. */
export function checkConstraints(state: ObjectState, { objects, expressions }: UnitOfWork): void {
  const constraints = constraintsOf(state.format, objects.formats, expressions.all)
  if (constraints === undefined) return
  const { before, values, changed } = state
  if (before === undefined && constraints.areSatisfiedBy(values)) return
  const violations = constraints.violations(values, before, changed)
  if (violations.length > 0) throw violationError(state, violations)
}

function violationError(state: ObjectState, violations: readonly Violation[]): AshlarError {
  const { name } = state.format.cls
  const [first] = violations as readonly [Violation, ...Violation[]]
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  const message = `Class ${name}: ${sentence(first).replace(/\.$/, '')}${more}.`
  const details = violations.map((violation): ErrorDetail => {
    return {
      place: ['attributes', ...violation.path],
      message: sentence(violation),
      fault: { ...faultOf(violation, name), ...(state.stored === undefined ? {} : { oid: state.oid }) },
    }
  })
  return new AshlarError('ConstraintViolation', message, details)
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

/** Such as `attribute age has to be at least 0, not -1`. */
function valueSentence({ attribute, constraint, requirement, path, value }: ValueViolation): string {
  const within = path.length > 1 ? ` (at ${path.join('.')})` : ''
  const isShown = constraint !== 'isRequired' && constraint !== 'isReadOnly'
  return `attribute ${attribute.attribute.outputName}${within} ${requirement}${isShown ? `, not ${formatForMessage(value)}` : ''}`
}

/** Strings, and the JSON of what is longer than a reply should repeat. */
function truncated(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string') return value.slice(0, valueCharactersMax)
  if (typeof value !== 'object' || value === null) return value
  const text = JSON.stringify(value, (_name, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
  return text.length <= valueCharactersMax ? value : text.slice(0, valueCharactersMax)
}
