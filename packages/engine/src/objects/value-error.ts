/** Faults in attribute values, told with class, attribute and place in the request. */
import { AshlarError } from '../errors.ts'
import { shownText } from '../schema/request-body.ts'
import { ValueError } from '../types/logical-type.ts'

/** A ValueError as the client sees it; anything else as it is. */
export function toAshlarError(error: unknown, className: string, attributeName: string): unknown {
  if (error instanceof AshlarError && error.errors.length === 0) {
    const pointer = `/attributes/${escapeStep(attributeName)}`
    return new AshlarError(error.type, error.message, [{ pointer, message: error.message }])
  }
  if (!(error instanceof ValueError)) return error
  const path = error.path.map(String)
  const inner = path.length === 0 ? '' : ` (at ${shownText(path.join('.'))})`
  const pointer = ['attributes', attributeName, ...path].map((step) => `/${escapeStep(step)}`).join('')
  const message = `Class ${className}, attribute ${attributeName}${inner}: ${error.message}.`
  return new AshlarError(error.type, message, [{ pointer, message: error.message }])
}

/** RFC 6901, section 3. */
function escapeStep(step: string): string {
  return step.replaceAll('~', '~0').replaceAll('/', '~1')
}
