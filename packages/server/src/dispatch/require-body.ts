/** Bodies that the engine checks by itself. */
import { missingBody } from '../errors/problem.ts'
import { BodyValidationError } from '../errors/request-errors.ts'

/** The engine takes a missing body for a value: that there is none is told here. Throws BodyValidationError. */
export function requireBody(body: unknown): void {
  if (body === undefined) throw new BodyValidationError(missingBody())
}
