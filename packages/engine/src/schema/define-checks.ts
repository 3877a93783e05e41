/** The checks of a class in a batch: which are known, which are new, and which are already being validated (contract 10.6). */
import { AshlarError, type CommandPlace } from '../errors.ts'
import type { PendingCheck } from './class-definition.ts'
import { commandError } from './command-error.ts'
import { definitionError } from './define-attribute.ts'
import { type ExpressionNames, expressionText } from './expression.ts'
import type { PreparedParts } from './pending-checks.ts'
import { type Check, checksMax } from './properties/checks.ts'
import type { ClassDraft, SchemaBuilder } from './schema-builder.ts'

export interface CheckContext {
  readonly builder: SchemaBuilder
  /** The pending parts of this change. */
  readonly prepared: PreparedParts | undefined
  /** See `AlterSettings`. */
  readonly isValidating: boolean
}

/**
 * Keeps the bound form of known expressions, and whether stored objects satisfy them; records the names of checks that stored
 * objects may violate. Throws InvalidDefinition for a name that is used twice, and AttributeInUse for a check of another request.
 */
export function settledChecks(context: CheckContext, draft: ClassDraft, checks: readonly Check[]): readonly Check[] {
  const seen = new Set<string>()
  return checks.map((check) => {
    if (seen.has(check.name)) {
      throw definitionError('InvalidDefinition', `Class ${draft.name}`, `checks has the name ${check.name} twice`, [
        'checks',
      ])
    }
    seen.add(check.name)
    return settledCheck(context, draft, check)
  })
}

function settledCheck(context: CheckContext, draft: ClassDraft, check: Check): Check {
  const { builder, prepared, isValidating } = context
  const present = draft.properties?.checks ?? []
  if (present.includes(check)) return check
  const names = expressionNamesOf(builder)
  const text = expressionText(check.expression, names)
  const isSame = (one: Check): boolean => expressionText(one.expression, names) === text
  const { name, message } = check
  const pending = draft.pendingChecks.find((one) => one.name === name)
  const isOwn = prepared?.checks.some((one) => one.owner === draft.number && one.name === name) === true
  if (isOwn && pending !== undefined && isSame(pending)) return takePending(draft, pending)
  const existing = present.find((one) => one.name === name && isSame(one)) ?? present.find(isSame)
  if (existing !== undefined && existing.name === name && existing.message === message) return existing
  // With another name or message, objects satisfy it as before.
  if (existing !== undefined) return renamed(existing, check)
  if (pending !== undefined) throw changingByAnother(draft, name)
  if (isValidating) draft.newChecks.push(name)
  return isValidating ? check : { ...check, isValidated: false }
}

function takePending(draft: ClassDraft, pending: PendingCheck): Check {
  draft.pendingChecks = draft.pendingChecks.filter((one) => one !== pending)
  const { session: _, ...check } = pending
  return check
}

function renamed({ expression, isValidated }: Check, { name, message }: Check): Check {
  return {
    name,
    expression,
    ...(message === undefined ? {} : { message }),
    ...(isValidated === false ? { isValidated } : {}),
  }
}

function changingByAnother(draft: ClassDraft, name: string): AshlarError {
  const message = `Check ${name} of class ${draft.name} is being changed by another request.`
  return commandError('AttributeInUse', message, [])
}

/** Adds checks with new names to those of an existing class; others must match the existing ones. Throws ClassExists. */
export function addChecks(
  context: CheckContext,
  draft: ClassDraft,
  requested: readonly Check[],
  place: CommandPlace,
): void {
  const present = draft.properties?.checks ?? []
  const settled = settledChecks(context, draft, requested)
  for (const [i, check] of settled.entries()) {
    if (present.includes(check) || !present.some(({ name }) => name === check.name)) continue
    const message = `Class ${draft.name} exists with another check ${check.name}.`
    throw new AshlarError('ClassExists', message, [
      { place: [...place, 'checks', i], message: 'exists with another expression' },
    ])
  }
  const added = settled.filter((check) => !present.includes(check))
  if (added.length === 0) return
  const checks = [...present, ...added]
  refuseTooManyChecks(draft, checks, place)
  draft.properties = { ...draft.properties, checks }
  draft.isRedefined = true
}

/** Throws InvalidDefinition for an unknown name. */
export function remainingChecks(
  draft: ClassDraft,
  checks: readonly Check[],
  names: readonly string[],
): readonly Check[] {
  for (const name of names) {
    if (checks.some((check) => check.name === name)) continue
    throw definitionError('InvalidDefinition', `Class ${draft.name}`, `there is no check ${name}`, ['checks'])
  }
  return checks.filter(({ name }) => !names.includes(name))
}

/** A class with more could not be defined again from what it shows. Throws InvalidDefinition. */
export function refuseTooManyChecks(draft: ClassDraft, checks: readonly Check[], place: CommandPlace): void {
  if (checks.length <= checksMax) return
  const message = `checks would be more than ${checksMax} checks`
  throw definitionError('InvalidDefinition', `Class ${draft.name}`, message, [...place, 'checks'])
}

export function expressionNamesOf(builder: SchemaBuilder): ExpressionNames {
  return {
    attribute: (number) => builder.declared(number)?.attribute.name,
    className: (number) => builder.get(number).name,
  }
}
