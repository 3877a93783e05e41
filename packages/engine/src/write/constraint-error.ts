/** ConstraintViolation: what a change writes that the constraints of a class refuse (contract 10.3). */
import { AshlarError, type ErrorDetail } from '../errors.ts'
import { constraintsOf, type Violation } from '../records/constraints.ts'
import type { RecordFormats } from '../records/record-formats.ts'
import type { Catalog } from '../schema/catalog.ts'
import { formatForMessage } from '../types/logical-type.ts'
import type { ChangeGuard } from './change-guard.ts'
import type { ObjectState } from './working-set.ts'

const valueCharactersMax = 200

/**
 * `guard`: of a restricted caller, who is not told what it may not see. Throws ConstraintViolation, with an entry for each violation of the
 * object.
 */
export function checkConstraints(state: ObjectState, formats: RecordFormats, guard: ChangeGuard | undefined): void {
  const constraints = constraintsOf(state.format, formats)
  if (constraints === undefined) return
  const { before, values, changed, excused } = state
  if (before === undefined && constraints.areSatisfiedBy(values)) return
  const violations = constraints.violations(values, before, changed, excused)
  if (violations.length > 0) throw violationError(state, violations, guard?.catalog)
}

/** `visible`: the schema as a restricted caller knows it. */
export function violationError(
  state: ObjectState,
  violations: readonly Violation[],
  visible: Catalog | undefined,
): AshlarError {
  const { name } = state.format.cls
  const isShown = ({ root, attribute }: Violation): boolean => {
    return [root, attribute.attribute.number].every((number) => visible?.attribute(number) !== undefined)
  }
  const shown = visible === undefined ? violations : violations.filter(isShown)
  const [first] = shown
  if (first === undefined) {
    const message = `Class ${name}: a constraint of an attribute that the caller may not see is violated.`
    return new AshlarError('ConstraintViolation', message)
  }
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  // An object that the request does not name is named by what refuses it.
  const which = state.isAddressed ? '' : `, object ${state.oid}`
  const message = `Class ${name}${which}: ${sentence(first)}${more}.`
  const details = shown.map((violation): ErrorDetail => {
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
