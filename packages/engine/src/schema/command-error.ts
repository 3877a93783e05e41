/** Errors of schema commands, with their place in the command. */
import { AshlarError, type CommandPlace, type ErrorType } from '../errors.ts'

/** An error with one detail: the message at its place. */
export function commandError(type: ErrorType, message: string, place: CommandPlace): AshlarError {
  return new AshlarError(type, message, [{ place, message }])
}

/** Appends steps to a place; the whole command if the starting point is unknown. */
export function placeWithin(place: CommandPlace | undefined, ...steps: CommandPlace): CommandPlace {
  return place === undefined ? [] : [...place, ...steps]
}
