/** What a class shows of a change that is made in the background: it is under way, or it has failed (contract 10.5.12). */
import type { ClassNumber } from '../types/type-spec.ts'
import type { CatalogState, ClassValidation } from './class-definition.ts'

/** `validation`: undefined to remove it. */
export function withValidation(
  state: CatalogState,
  number: ClassNumber,
  validation: ClassValidation | undefined,
): CatalogState {
  const classes = state.classes.map((definition) => {
    if (definition.number !== number || definition.validation === validation) return definition
    const { validation: _, ...others } = definition
    return validation === undefined ? others : { ...others, validation }
  })
  return { ...state, classes }
}

/** The classes with a change under way, and the store sessions that make it. */
export function runningValidations({ classes }: CatalogState): { number: ClassNumber; session: number }[] {
  return classes.flatMap(({ number, validation }) => {
    return validation?.session === undefined ? [] : [{ number, session: validation.session }]
  })
}

/** Whether the class shows the change of this session as under way. */
export function isValidationRunning(
  state: CatalogState,
  change: { readonly number: ClassNumber; readonly session: number },
): boolean {
  return runningValidations(state).some(({ number, session }) => number === change.number && session === change.session)
}

/** Marks the changes of these store sessions as failed. */
export function withAbandonedValidations(state: CatalogState, sessions: ReadonlySet<number>): CatalogState {
  const abandoned = runningValidations(state).filter(({ session }) => sessions.has(session))
  return abandoned.reduce((next, { number }) => withValidation(next, number, { failure: validationStopped }), state)
}

export const validationStopped = {
  type: 'ShuttingDown',
  message: 'The server stopped before the change was complete: nothing was changed.',
}
