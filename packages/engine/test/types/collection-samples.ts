/** Random lists, sets and maps, made of the samples of their elements. */
import fc from 'fast-check'
import type { JsonObject } from '../../src/requests/json-fields.ts'
import { lower, type Sample, type TypeSamples, textRank, word } from './sample.ts'
import { reference, scalarSamples, string } from './scalar-samples.ts'

/** The samples that a nested definition is of. */
function samplesOf(definition: JsonObject): TypeSamples {
  return scalarSamples[lower(definition, 'logicalType', '') as keyof typeof scalarSamples]
}

const elementDefinition = fc.oneof(...Object.values(scalarSamples).map((samples) => samples.definition))
const unpaired = reference.definition.map(({ inverseAttribute: _, ...definition }): JsonObject => definition)

const list: TypeSamples = {
  definition: elementDefinition.chain((elementSpecification): fc.Arbitrary<JsonObject> => {
    const isOfReferences = lower(elementSpecification, 'logicalType', '') === 'reference'
    const names = isOfReferences ? ['TreeListOfReferences', 'SegmentedArray'] : ['SegmentedArray']
    return fc.record(
      {
        logicalType: word('list'),
        storage: word('variable'),
        collectionTypeName: word(...names),
        elementSpecification: fc.constant(elementSpecification),
      },
      { requiredKeys: ['logicalType', 'elementSpecification'] },
    )
  }),
  values(definition) {
    const elementSpecification = definition.elementSpecification as JsonObject
    return fc.array(samplesOf(elementSpecification).values(elementSpecification), { maxLength: 8 }).map((elements) => {
      return { json: elements.map(({ json }) => json), text: `[${elements.map(({ text }) => text).join(',')}]` }
    })
  },
}

/** Each rank once, lowest first; of equal ones the last. */
function inOrder<S extends { readonly rank: string }>(samples: readonly S[]): S[] {
  const byRank = new Map(samples.map((sample) => [sample.rank, sample]))
  return [...byRank.values()].sort((one, other) => (one.rank < other.rank ? -1 : 1))
}

function isSomething({ text }: Sample): boolean {
  return text !== '"0-0-0-0"'
}

const set: TypeSamples = {
  definition: fc.record(
    {
      logicalType: word('set'),
      collectionTypeName: word('TreeSetOfReferences', 'HashSetOfReferences'),
      elementSpecification: reference.definition,
    },
    { requiredKeys: ['logicalType', 'elementSpecification'] },
  ),
  values: (definition) =>
    fc.array(reference.values(definition).filter(isSomething), { maxLength: 8 }).map((elements) => {
      const texts = inOrder(elements as (Sample & { rank: string })[]).map(({ text }) => text)
      return { json: elements.map(({ json }) => json), text: `[${texts.join(',')}]` }
    }),
}

interface Pair {
  readonly key: string
  readonly value: Sample
  readonly rank: string
}

const textKeys = string.definition.map((keySpecification): JsonObject => ({ keySpecification }))

const map: TypeSamples = {
  definition: fc
    .tuple(
      word('map'),
      unpaired,
      fc.oneof(
        fc.constant({}),
        textKeys,
        word('NameToReferenceMap').map((collectionTypeName) => ({ collectionTypeName })),
        unpaired.map((keySpecification) => ({ keySpecification })),
        fc.record({
          collectionTypeName: word('TreeMapOfReferences', 'HashMapOfReferences'),
          keySpecification: unpaired,
        }),
      ),
    )
    .map(([logicalType, elementSpecification, more]): JsonObject => ({ logicalType, elementSpecification, ...more })),
  values(definition) {
    const keySpecification = (definition.keySpecification ?? { logicalType: 'string' }) as JsonObject
    const isText = lower(keySpecification, 'logicalType', '') === 'string'
    const keys = samplesOf(keySpecification).values(keySpecification).filter(isSomething)
    const pair = fc.tuple(keys, reference.values(definition)).map(([key, value]): Pair => {
      return { key: String(key.json), value, rank: isText ? textRank(String(key.json)) : String(key.rank) }
    })
    return fc.tuple(fc.array(pair, { maxLength: 8 }), fc.boolean()).map(([pairs, isAsRead]) => {
      const entries = pairs.map(({ key, value }) => [key, value.json] as const)
      const texts = inOrder(pairs).map(({ key, value }) => `${JSON.stringify(key)}:${value.text}`)
      const json = isAsRead ? Object.fromEntries(entries) : entries.map(([key, value]) => ({ key, value }))
      return { json, text: `{${texts.join(',')}}` }
    })
  },
}

export const collectionSamples = { list, set, map }
