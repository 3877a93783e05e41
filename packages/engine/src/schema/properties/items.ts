/** `minItems`, `maxItems`, `uniqueItems`: limit the number of elements of a collection and forbid duplicates in a list. */
import { KeyWriter } from '../../bytes/key-writer.ts'
import { assert } from '../../errors.ts'
import { runToEnd } from '../../store/time-slice.ts'
import { canonicalJson } from '../../types/json-value.ts'
import type { StepwiseWork } from '../../types/logical-type.ts'
import type { ListSpec, TypeSpec } from '../../types/type-spec.ts'
import {
  type AttributeProperty,
  type CountRelation,
  defineCount,
  defineFlag,
  isCollection,
  isLooserCount,
  isScalar,
  scalarCodec,
  withUnit,
} from './attribute-property.ts'

export const minItems = numberOfItems('minItems', 'MinItems', 'at least', (length, count) => length >= count)
export const maxItems = numberOfItems('maxItems', 'MaxItems', 'at most', (length, count) => length <= count)

export const uniqueItems: AttributeProperty = {
  field: 'uniqueItems',
  word: 'UniqueItems',
  form: 'flag',
  types:
    'lists of scalars and of references, but not TreeListOfReferences (a TreeSetOfReferences holds each object once)',
  appliesTo: ({ spec }) =>
    spec.logicalType === 'list' &&
    (isScalar(spec.element) || (spec.element.logicalType === 'reference' && !mayRepeatLinks(spec))),
  define: (input) => defineFlag('uniqueItems', input),
  constraint: (_stored, { spec }) => {
    const areDistinct = distinctness(spec)
    return {
      name: 'uniqueItems',
      requirement: 'may not have two equal elements',
      isSatisfied: (value) => runToEnd(areDistinct(value as readonly unknown[])),
      isSatisfiedStepwise: (value) => areDistinct(value as readonly unknown[]),
    }
  },
}

/** Each change would have to read all elements of a list that is made for millions of them. */
function mayRepeatLinks({ element, collectionTypeName }: ListSpec): boolean {
  const isPaired = element.logicalType === 'reference' && element.inverseAttribute !== null
  return collectionTypeName === 'TreeListOfReferences' && !isPaired
}

function numberOfItems(
  field: string,
  word: string,
  relation: CountRelation,
  isWithin: (length: number, count: number) => boolean,
): AttributeProperty {
  return {
    field,
    word,
    form: 'count',
    types: 'lists, sets and maps',
    appliesTo: ({ spec }) => isCollection(spec),
    define: (input) => defineCount(field, input),
    constraint: (stored) => ({
      name: field,
      requirement: `has to have ${relation} ${withUnit(stored as number, 'element')}`,
      isSatisfied: (value) => isWithin((value as readonly unknown[]).length, stored as number),
    }),
    isLooser: (before, after) => isLooserCount(relation, before, after),
  }
}

function distinctness(spec: TypeSpec): (elements: readonly unknown[]) => StepwiseWork<boolean> {
  assert(spec.logicalType === 'list', 'uniqueItems is for lists')
  const identity = elementIdentity(spec.element)
  return function* (elements) {
    const seen = new Set<unknown>()
    for (const [i, element] of elements.entries()) {
      const one = identity(element)
      if (seen.has(one)) return false
      seen.add(one)
      if (i % elementsPerYield === elementsPerYield - 1) yield
    }
    return true
  }
}

const elementsPerYield = 100

/** A primitive that two elements have in common exactly if they are equal: as a Set compares, -0 is 0. */
function elementIdentity(spec: TypeSpec): (element: unknown) => unknown {
  if (spec.logicalType === 'json') return (element) => canonicalJson(element as string)
  const key = scalarCodec(spec)?.key
  // Index keys are the same for equal values, which their stored forms are not: instants are stored with their offsets.
  return (element) => {
    if (key === undefined || typeof element !== 'object') return element
    const writer = new KeyWriter()
    key.write(element, writer)
    return writer.to.copy().toString('latin1')
  }
}
