/** Errors of schema commands, with their place in the command. */
import { AshlarError, type CommandPlace, type ErrorType } from '../errors.ts'

const excerptCharactersMax = 60

/** An error with one detail: the message at its place. */
export function commandError(type: ErrorType, message: string, place: CommandPlace): AshlarError {
  return new AshlarError(type, message, [{ place, message }])
}

/** Appends steps to a place; the whole command if the starting point is unknown. */
export function within(place: CommandPlace | undefined, ...steps: CommandPlace): CommandPlace {
  return place === undefined ? [] : [...place, ...steps]
}

/** Shortens a name sent by a client for messages. */
export function truncateForMessage(text: string): string {
  return text.length > excerptCharactersMax ? `${text.slice(0, excerptCharactersMax)}…` : text
}
