/** Requests that change a class in several ways at once, and what the rules say becomes of it: told without the engine's ways. */
import fc from 'fast-check'
import { compareOids, type Oid } from '../../src/types/oid.ts'

export const none = '0-0-0-0'

/** Types whose values collide and misfit often, in few values. */
export const scalarTypes = {
  boolean: { definition: { logicalType: 'boolean' }, values: [true, false, null] },
  byte: { definition: { logicalType: 'integer', storage: 'b8' }, values: [0, 1, 7, -1] },
  integer: { definition: { logicalType: 'integer' }, values: [0, 1, 7, -1, 300, null] },
  real: { definition: { logicalType: 'real' }, values: [0, 1, 0.5, 7, -1] },
  text: { definition: { logicalType: 'string' }, values: ['7', ' 7', '007', '+7', 'x', 'true', '', '0.5', null] },
} as const
export type ScalarName = keyof typeof scalarTypes
const scalarNames = Object.keys(scalarTypes) as ScalarName[]

export const kinds = {
  plain: { logicalType: 'list' },
  segmented: { logicalType: 'list', collectionTypeName: 'SegmentedArray' },
  named: { logicalType: 'list', collectionTypeName: 'TreeListOfReferences' },
  tree: { logicalType: 'set', collectionTypeName: 'TreeSetOfReferences' },
  hash: { logicalType: 'set', collectionTypeName: 'HashSetOfReferences' },
} as const
export type Kind = keyof typeof kinds
export const targets = ['T', 'TSub', 'TOther'] as const
export type Target = (typeof targets)[number]

export type ModelType =
  | { readonly form: 'scalar'; readonly name: ScalarName }
  /** A list of scalars. */
  | { readonly form: 'list'; readonly name: ScalarName }
  /** `isEdge`: the targets are edge objects, which changes nothing of what is held. */
  | { readonly form: 'references'; readonly kind: Kind; readonly target: Target; readonly isEdge?: boolean }

export function definitionOf(type: ModelType): object {
  switch (type.form) {
    case 'scalar':
      return scalarTypes[type.name].definition
    case 'list':
      return { logicalType: 'list', elementSpecification: scalarTypes[type.name].definition }
    case 'references': {
      const { kind, target, isEdge } = type
      const edge = isEdge === true ? { edgeClass: target, edgeAttribute: 'leads' } : {}
      return { ...kinds[kind], elementSpecification: { logicalType: 'reference', referencedClass: target, ...edge } }
    }
  }
}

export const isOf = (cls: Target, wanted: Target): boolean => cls === wanted || (cls === 'TSub' && wanted === 'T')

const type: fc.Arbitrary<ModelType> = fc.oneof(
  { arbitrary: fc.record({ form: fc.constant('scalar' as const), name: fc.constantFrom(...scalarNames) }), weight: 4 },
  fc.record({ form: fc.constant('list' as const), name: fc.constantFrom(...scalarNames) }),
  {
    arbitrary: fc.record({
      form: fc.constant('references' as const),
      kind: fc.constantFrom(...(Object.keys(kinds) as Kind[])),
      target: fc.constantFrom(...targets),
      isEdge: fc.boolean(),
    }),
    weight: 3,
  },
)
const nth = fc.nat(9)
const seeds = fc.array(fc.nat(1_000), { minLength: 6, maxLength: 6 })
const few = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(one, { maxLength: 2 })

export type Request =
  | {
      readonly kind: 'alter'
      readonly deleted: readonly number[]
      readonly renamed: readonly number[]
      readonly changed: readonly { readonly nth: number; readonly type: ModelType }[]
      readonly added: readonly ModelType[]
      readonly isCascading: boolean
      readonly isLossAllowed: boolean
    }
  | { readonly kind: 'create'; readonly seeds: readonly number[] }
  | { readonly kind: 'index'; readonly nths: readonly number[]; readonly isUnique: boolean }
  | { readonly kind: 'deleteTarget' | 'dropIndex'; readonly nth: number }

export const request: fc.Arbitrary<Request> = fc.oneof(
  {
    arbitrary: fc.record({
      kind: fc.constant('alter' as const),
      deleted: fc.oneof({ arbitrary: fc.constant([]), weight: 2 }, fc.array(nth, { maxLength: 1 })),
      renamed: few(nth),
      changed: few(fc.record({ nth, type })),
      added: few(type),
      isCascading: fc.boolean(),
      isLossAllowed: fc.boolean(),
    }),
    weight: 5,
  },
  { arbitrary: fc.record({ kind: fc.constant('create' as const), seeds }), weight: 4 },
  fc.record({
    kind: fc.constant('index' as const),
    nths: fc.array(nth, { minLength: 1, maxLength: 2 }),
    isUnique: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom('deleteTarget' as const, 'dropIndex' as const), nth }),
)

export function inOidOrder(oids: readonly string[]): string[] {
  return [...oids].sort((one, other) => compareOids(one as Oid, other as Oid))
}

export function isSet(of: ModelType): boolean {
  return of.form === 'references' && kinds[of.kind].logicalType === 'set'
}

/** Where a change of kind does not move the elements, what dangles stays. */
export function isMoved(from: Kind, to: Kind): boolean {
  const place = (kind: Kind): string => (kind === 'named' ? 'links' : kinds[kind].logicalType)
  return place(from) !== place(to)
}
