/** Errors of the commands of this room, with their place in the command. */
import { AshlarError, type CommandPlace, type ErrorType } from '../errors.ts'

const shownCharactersMax = 60

/** An error with one detail: the message at its place. */
export function commandError(type: ErrorType, message: string, place: CommandPlace): AshlarError {
  return new AshlarError(type, message, [{ place, message }])
}

/** The place that the steps lead to; the whole command where it says nothing of what they start from. */
export function within(place: CommandPlace | undefined, ...steps: CommandPlace): CommandPlace {
  return place === undefined ? [] : [...place, ...steps]
}

/** A name that a client sent, as messages show it. */
export function truncateForMessage(text: string): string {
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text
}
