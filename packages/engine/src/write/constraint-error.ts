/** ConstraintViolation: what a change writes that the constraints of a class refuse (contract 10.3). */
import { AshlarError, type ErrorDetail } from '../errors.ts'
import { constraintsOf, isDeferrable, type Violation } from '../records/constraints.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import { formatForMessage } from '../types/logical-type.ts'
import type { ChangeGuard } from './change-guard.ts'
import type { DeferredChecks } from './unit-of-work.ts'
import type { ObjectState } from './working-set.ts'

const valueCharactersMax = 200

/** Throws ConstraintViolation, with an entry for each violation of the object. */
export function checkConstraints(state: ObjectState, formats: RecordFormats, deferred?: DeferredChecks): void {
  deferred?.noteChanged(state)
  const constraints = constraintsOf(state.format, formats)
  if (constraints === undefined) return
  const { before, values, changed, excused } = state
  if (before === undefined && constraints.areSatisfiedBy(values)) return
  const violations = constraints.violations(values, before, changed, excused)
  throwAny(state, violations, deferred)
}

/** `deferred`: takes what is judged at the end of the transaction. Throws ConstraintViolation. */
export function throwAny(
  state: ObjectState,
  violations: readonly Violation[],
  deferred: DeferredChecks | undefined,
): void {
  if (violations.length === 0) return
  const present = deferred === undefined ? violations : violations.filter((violation) => !isDeferrable(violation))
  if (present.length > 0) throw violationError(state, violations)
  deferred?.note(state)
}

export function violationError(state: ObjectState, violations: readonly Violation[]): AshlarError {
  const { name } = state.format.cls
  const [first] = violations as readonly [Violation, ...Violation[]]
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  // An object that the request does not name is named by what refuses it.
  const which = state.isAddressed ? '' : `, object ${state.oid}`
  const message = `Class ${name}${which}: ${sentence(first)}${more}.`
  const details = violations.map((violation): ErrorDetail => {
    const { attribute, constraint, path, value } = violation
    const { declaringClass } = attribute.attribute
    return {
      place: state.isAddressed ? ['attributes', ...path] : [],
      message: sentence(violation),
      fault: {
        className: declaringClass.isReferenceable ? name : declaringClass.name,
        attributeName: attribute.attribute.outputName,
        constraint,
        value: truncated(value),
        ...(state.stored === undefined ? {} : { oid: state.oid }),
      },
    }
  })
  return new AshlarError('ConstraintViolation', message, details)
}

/** The same to a caller: of an object that it does not see, and an attribute that it does not know, only that there is a violation (contract 10.4.10). */
export async function violationTo(guard: ChangeGuard, state: ObjectState, error: unknown): Promise<unknown> {
  if (!(error instanceof AshlarError) || error.type !== 'ConstraintViolation') return error
  const isSeen = (await guard.hiddenAmong([state.oid])).size === 0
  const known = new Set(guard.formatOf(state.format).attributes.map(({ attribute }) => attribute.outputName))
  const isKnown = error.errors.every(({ fault }) => known.has(fault?.attributeName as string))
  if (isSeen && (isKnown || state.isAddressed)) return error
  const message = 'The change would violate a constraint of an object that the caller does not see.'
  return new AshlarError('ConstraintViolation', message)
}

/** Such as `attribute age has to be at least 0, not -1`. */
function sentence({ attribute, constraint, requirement, path, value }: Violation): string {
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
