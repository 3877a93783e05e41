/** Random operations, as data: objects are named by their place among all that were ever created. */
import fc from 'fast-check'
import { type ModelClass, modelIndexes, pairs } from './model-schema.ts'

/** The nth object ever created (modulo their number), or none for a negative one. */
export interface Target {
  readonly nth: number
}

export type Operation =
  | { readonly kind: 'create'; readonly cls: ModelClass; readonly attributes: Record<string, unknown> }
  | { readonly kind: 'update'; readonly target: Target; readonly attributes: Record<string, unknown> }
  | { readonly kind: 'delete'; readonly target: Target }
  | { readonly kind: 'createIndex' | 'deleteIndex'; readonly index: number }
  | { readonly kind: 'extend' }

const target = fc.record({
  nth: fc.oneof({ weight: 6, arbitrary: fc.nat(12) }, { weight: 1, arbitrary: fc.constant(-1) }),
})
const someTargets = fc.array(fc.record({ nth: fc.nat(12) }), { maxLength: 4 })
const change = fc.record({ action: fc.constantFrom('override', 'add', 'remove'), elements: someTargets })
const text = fc.oneof(
  fc.constantFrom(null, '', 'a', 'abcd', 'abcdefgh1', 'abcdefgh2', 'ä\u0000b', '😀'.repeat(9)),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
)
const number = fc.oneof(fc.integer({ min: -2, max: 3 }), fc.constant(null))

const paired = Object.fromEntries(
  Object.entries(pairs).map(([name, { side }]) => [name, side === 'one' ? target : change]),
)
const itemAttributes = {
  name: text,
  n: number,
  part: fc.record({ a: number, b: text }, { requiredKeys: [] }),
  uni: target,
  plain: change,
  bag: change,
  seq: change,
  byName: fc.dictionary(
    fc.constantFrom('a', 'b', '', '__proto__x', 'é', 'k'.repeat(1_500)),
    fc.record({ nth: fc.nat(12) }),
    { maxKeys: 3 },
  ),
  ...Object.fromEntries(
    ['left', 'right', 'spouse', 'owner', 'group', 'tags', 'liked'].map((name) => [
      name,
      paired[name] as fc.Arbitrary<unknown>,
    ]),
  ),
}
const hubAttributes = {
  title: text,
  ...Object.fromEntries(
    ['items', 'members', 'tagged', 'likers'].map((name) => [name, paired[name] as fc.Arbitrary<unknown>]),
  ),
}

/** A few attributes, in random order: what one changes, the next may change again. */
function someOf(attributes: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .shuffledSubarray(Object.keys(attributes), { maxLength: 4 })
    .chain((names) =>
      fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), attributes[name] as fc.Arbitrary<unknown>))),
    )
    .map((entries) => Object.fromEntries(entries))
}

export type Creation = Extract<Operation, { readonly kind: 'create' }>

export const creation: fc.Arbitrary<Creation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      cls: fc.constantFrom('Item' as const, 'SubItem' as const),
      attributes: someOf(itemAttributes),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      cls: fc.constant('Hub' as const),
      attributes: someOf(hubAttributes),
    }),
  },
)

export const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 8, arbitrary: creation },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      target: fc.record({ nth: fc.nat(12) }),
      attributes: fc.oneof(someOf(itemAttributes), someOf(itemAttributes), someOf(hubAttributes)),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), target: fc.record({ nth: fc.nat(12) }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('createIndex' as const, 'createIndex' as const, 'deleteIndex' as const),
      index: fc.nat(modelIndexes.length - 1),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'extend' as const }) },
)

/** The attributes with OIDs in place of targets. */
export function withOids(value: unknown, oids: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((element) => withOids(element, oids))
  if (typeof value !== 'object' || value === null) return value
  if (Object.hasOwn(value, 'nth')) {
    const { nth } = value as Target
    return nth < 0 || oids.length === 0 ? '0-0-0-0' : oids[nth % oids.length]
  }
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withOids(inner, oids)]))
}
