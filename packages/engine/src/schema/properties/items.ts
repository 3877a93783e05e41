/** `minItems`, `maxItems`, `uniqueItems`: limit the number of elements of a collection and forbid duplicates in a list. */
import { ByteWriter } from '../../bytes/byte-writer.ts'
import type { Codec } from '../../types/logical-type.ts'
import {
  type AttributeProperty,
  type CountRelation,
  counted,
  defineCount,
  defineFlag,
  isCollection,
  isLooserCount,
  isScalar,
} from './attribute-property.ts'

export const minItems = numberOfItems('minItems', 'MinItems', 'at least', (length, count) => length >= count)
export const maxItems = numberOfItems('maxItems', 'MaxItems', 'at most', (length, count) => length <= count)

export const uniqueItems: AttributeProperty = {
  field: 'uniqueItems',
  word: 'UniqueItems',
  form: 'flag',
  types: 'lists of scalars and of references',
  appliesTo: ({ spec }) =>
    spec.logicalType === 'list' && (isScalar(spec.element) || spec.element.logicalType === 'reference'),
  define: (input) => defineFlag('uniqueItems', input),
  constraint: (_stored, { codec }) => ({
    name: 'uniqueItems',
    requirement: 'may not have two equal elements',
    isSatisfied: (value) => areDistinct(value as readonly unknown[], codec),
  }),
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
      requirement: `has to have ${relation} ${counted(stored as number, 'element')}`,
      isSatisfied: (value) => isWithin((value as readonly unknown[]).length, stored as number),
    }),
    isLooser: (before, after) => isLooserCount(relation, before, after),
  }
}

/** Strings, OIDs and booleans are compared directly, other elements by their stored form, in which -0 is 0. */
function areDistinct(elements: readonly unknown[], codec: Codec | undefined): boolean {
  const seen = new Set<unknown>()
  for (const element of elements) {
    const form = codec === undefined || typeof element !== 'object' ? element : storedForm(codec, element)
    if (seen.has(form)) return false
    seen.add(form)
  }
  return true
}

function storedForm(codec: Codec, element: unknown): string {
  const writer = new ByteWriter(32)
  codec.write([element], writer)
  return writer.copy().toString('latin1')
}
