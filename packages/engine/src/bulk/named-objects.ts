/** Replaces references in bulk lines: `"${x}"` denotes the object created by line `x`, and `"$${x}"` the literal text (contract 2.2.9). */
import { AshlarError } from '../errors.ts'
import { lineIdCharactersMax } from '../limits.ts'
import { carryText } from '../requests/json-source.ts'
import type { Attributes } from '../requests/read-object-command.ts'
import type { Oid } from '../types/oid.ts'

const referencePattern = /^\$(\$?)\{([A-Za-z_][A-Za-z0-9_-]*)\}$/

/** Resolves an id to an OID. Throws InvalidReference. */
export type OidOf = (id: string) => Oid

/** Returns the distinct ids; undefined if there is nothing to replace. Throws InvalidReference for an id that is too long. */
export function referredIn(value: unknown): readonly string[] | undefined {
  const found: Found = { ids: new Set(), isEscaped: false }
  visit(value, found)
  return found.ids.size === 0 && !found.isEscaped ? undefined : [...found.ids]
}

interface Found {
  readonly ids: Set<string>
  isEscaped: boolean
}

/** Recursion depth is bounded by the JSON nesting limit. */
function visit(value: unknown, found: Found): void {
  if (typeof value === 'string') {
    const [, second, id] = referencePattern.exec(value) ?? []
    if (second === '$') found.isEscaped = true
    else if (id !== undefined) found.ids.add(checkedId(id))
  } else if (Array.isArray(value)) for (const element of value) visit(element, found)
  else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) visit(one, found)
}

/** Checks the length before storing: V8 hashes very long texts by their length, so that a set compares all of equal length. */
function checkedId(id: string): string {
  if (id.length <= lineIdCharactersMax) return id
  const message = `\${${id.slice(0, lineIdCharactersMax)}… names no object: an id has at most ${lineIdCharactersMax} characters, not ${id.length}.`
  throw new AshlarError('InvalidReference', message)
}

/** Replaces references in a value. Throws the errors of `oidOf`. */
export function withOids<T>(value: T, oidOf: OidOf): T {
  return replaced(value, oidOf) as T
}

/** Replaces references in attributes and in their raw text. */
export function attributesWithOids(attributes: Attributes, oidOf: OidOf): Attributes {
  return carryText(attributes, withOids(attributes, oidOf), (text) => replacedText(text, oidOf))
}

function replaced(value: unknown, oidOf: OidOf): unknown {
  if (typeof value === 'string') return replacedText(value, oidOf)
  if (Array.isArray(value)) return value.map((element) => replaced(element, oidOf))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, replaced(one, oidOf)]))
}

function replacedText(text: string, oidOf: OidOf): string {
  if (!text.startsWith('$')) return text
  const [, second, id] = referencePattern.exec(text) ?? []
  if (id === undefined) return text
  return second === '$' ? text.slice(1) : oidOf(id)
}

export function unknownName(id: string): AshlarError {
  const message = `\${${id}} names no object: no line before has this id, and none that is committed together with this one.`
  return new AshlarError('InvalidReference', message)
}
