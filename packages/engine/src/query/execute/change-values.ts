/** What expressions give, as a request body would: new objects get their OIDs, everything else becomes JSON. */

import { createObject } from '../../objects/create.ts'
import type { MapPair } from '../../records/collection-change.ts'
import type { Oid } from '../../types/oid.ts'
import type { UnitOfWork } from '../../write/unit-of-work.ts'
import type { Span } from '../ast.ts'
import type { BoundAssignment, BoundAttribute } from '../bind/bound.ts'
import { atPlace } from '../query-error.ts'
import { toJson } from '../values/value-json.ts'
import { elementType, isMany, type ValueType } from '../values/value-type.ts'
import { NewObject } from './new-object.ts'

export interface Changing {
  /** Of the statements, for errors. */
  readonly text: string
  readonly unit: UnitOfWork
  /** Counts objects that are changed; throws LimitExceeded. */
  count(objects: number): void
}

/** JSON for an attribute of any type. */
export async function attributeJson(changing: Changing, type: ValueType, value: unknown): Promise<unknown> {
  const plain = await withoutNewObjects(changing, value)
  if (type.kind !== 'map' || plain === null) return toJson(type, plain, changing.unit.catalog)
  return { action: 'override', pairs: pairsJson(changing, type, plain as readonly MapPair[]) }
}

function pairsJson(
  { unit }: Changing,
  type: Extract<ValueType, { kind: 'map' }>,
  pairs: readonly MapPair[],
): unknown[] {
  const { catalog } = unit
  return pairs.map(({ key, value }) => ({
    key: toJson(type.key, key, catalog),
    value: toJson(type.element, value, catalog),
  }))
}

/** The elements of one value, or of a collection of them, as JSON. */
export async function elementsJson(changing: Changing, type: ValueType, value: unknown): Promise<unknown[]> {
  const plain = await withoutNewObjects(changing, value)
  const { catalog } = changing.unit
  if (!isMany(type)) return [toJson(type, plain, catalog)]
  return ((plain ?? []) as readonly unknown[]).map((element) => toJson(elementType(type), element, catalog))
}

/** Those of several values. */
export async function eachJson(
  changing: Changing,
  plans: readonly { readonly type: ValueType }[],
  values: readonly unknown[],
): Promise<unknown[]> {
  const elements: unknown[] = []
  for (const [i, { type }] of plans.entries()) {
    for (const element of await elementsJson(changing, type, values[i])) elements.push(element)
  }
  return elements
}

/** The value with objects that it makes made, and their references in their places. */
export async function withoutNewObjects(changing: Changing, value: unknown): Promise<unknown> {
  if (value instanceof NewObject) return createFrom(changing, value)
  if (!Array.isArray(value)) return value
  if (!holdsNewObject(value)) return value
  const plain: unknown[] = []
  for (const element of value) {
    if (isPair(element)) plain.push({ key: element.key, value: await withoutNewObjects(changing, element.value) })
    else plain.push(await withoutNewObjects(changing, element))
  }
  return plain
}

function holdsNewObject(values: readonly unknown[]): boolean {
  return values.some((value) => {
    if (Array.isArray(value)) return holdsNewObject(value)
    return value instanceof NewObject || (isPair(value) && value.value instanceof NewObject)
  })
}

function isPair(value: unknown): value is MapPair {
  return typeof value === 'object' && value !== null && 'key' in value && 'value' in value
}

/** With the same checks as POST /v1/object. */
export async function createFrom(changing: Changing, object: NewObject): Promise<Oid> {
  changing.count(1)
  return assigning(changing, object, async () => {
    return createObject(changing.unit, object.cls.name, await attributesOf(changing, object))
  })
}

/** Carries out what takes these assignments as a body; an error is that of the assignment whose attribute it names. */
export function assigning<T>(
  { text }: Changing,
  { assignments }: Pick<NewObject, 'assignments'>,
  carryOut: () => Promise<T>,
): Promise<T> {
  const spanOf = (pointer: string): Span | undefined => {
    const isNamed = ({ path }: BoundAssignment): boolean => {
      const place = `/attributes/${path.map(({ name }) => name).join('/')}`
      return pointer === place || pointer.startsWith(`${place}/`)
    }
    return assignments.find(isNamed)
  }
  return atPlace(text, spanOf, carryOut)
}

/** The attributes that the assignments give, those within embedded objects where they belong. */
export async function attributesOf(
  changing: Changing,
  { assignments, values }: Pick<NewObject, 'assignments' | 'values'>,
): Promise<Record<string, unknown>> {
  const attributes: Record<string, unknown> = {}
  for (const [i, { path, value }] of assignments.entries()) {
    const { type } = value
    const target = path.at(-1) as BoundAttribute
    put(attributes, path, await attributeJson(changing, type.kind === 'null' ? target.type : type, values[i]))
  }
  return attributes
}

/** `{a: {b: json}}`, keeping what is there already. */
function put(attributes: Record<string, unknown>, path: readonly BoundAttribute[], json: unknown): void {
  let at = attributes
  for (const { name } of path.slice(0, -1)) {
    const held = at[name]
    const inner = typeof held === 'object' && held !== null ? (held as Record<string, unknown>) : {}
    at[name] = inner
    at = inner
  }
  at[(path.at(-1) as BoundAttribute).name] = json
}

/** The same for one attribute, as its own body. */
export function bodyFor(path: readonly BoundAttribute[], json: unknown): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  put(body, path, json)
  return body
}
