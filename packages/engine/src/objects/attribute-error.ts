/** Adds class, attribute and position to errors in the attributes of a command. */
import { AshlarError, type CommandPlace, type ErrorKind, truncateForMessage } from '../errors.ts'
import { ValueError } from '../types/logical-type.ts'

/** The position of an attribute in a command. */
export function attributePlace(name: string, path: readonly (string | number)[] = []): CommandPlace {
  return ['attributes', name, ...path]
}

/** The kinds of errors that a value can cause; all others are internal or come from the store. */
const kindsOfValues: ReadonlySet<ErrorKind> = new Set(['malformed', 'notFound', 'conflict', 'unprocessable'])

/** Converts a ValueError to an error of the command and adds the attribute's position to an error without one. Returns other errors unchanged. */
export function attributeError(error: unknown, className: string, name: string): unknown {
  if (error instanceof AshlarError && error.errors.length === 0 && kindsOfValues.has(error.kind)) {
    return new AshlarError(error.type, error.message, [{ place: attributePlace(name), message: error.message }])
  }
  if (!(error instanceof ValueError)) return error
  const path = error.path.map(String)
  const inner = path.length === 0 ? '' : ` (at ${truncateForMessage(path.join('.'))})`
  const message = `Class ${className}, attribute ${name}${inner}: ${error.message}.`
  return new AshlarError(error.type, message, [{ place: attributePlace(name, error.path), message: error.message }])
}
