/** Validates which classes may be embedded where (contract 5.1.17). */
import { AshlarError, type CommandPlace } from '../errors.ts'
import { embeddingDepthMax, objectAttributesMax } from '../limits.ts'
import type { ClassNumber, TypeSpec } from '../types/type-spec.ts'
import { commandError, placeWithin } from './command-error.ts'
import { type ClassDraft, type DraftAttribute, isConverted, type SchemaBuilder } from './schema-builder.ts'

/** Classes that become referenceable must not be embedded by existing attributes. Throws ClassIsEmbedded. */
export function checkConversions(builder: SchemaBuilder): void {
  for (const owner of builder.all()) {
    for (const attribute of owner.attributes.values()) {
      const embedded = embeddedBy(attribute.spec)
      if (embedded === undefined) continue
      const embeddedClass = builder.get(embedded.number)
      if (isConverted(embeddedClass)) throw classIsEmbedded(embeddedClass, owner, attribute.name)
    }
  }
}

export function classIsEmbedded(converted: ClassDraft, owner: ClassDraft, attributeName: string): AshlarError {
  return new AshlarError(
    'ClassIsEmbedded',
    `Class ${converted.name} cannot become referenceable: attribute ${attributeName} of class ${owner.name} embeds it.`,
    [
      {
        place: placeWithin(converted.place, 'isReferenceable'),
        message: `is embedded by ${owner.name}.${attributeName}`,
      },
    ],
  )
}

interface Embedding {
  /** Nesting levels below the class. */
  readonly depth: number
  /** Attributes of the class and of all objects that an object of it initially embeds. */
  readonly attributes: number
}

/**
 * No class may embed itself, directly or indirectly, including by inheritance; nor an abstract class; nor so many others that
 * one object would be too large. Throws InvalidDefinition, LimitExceeded, ClassIsAbstract.
 */
export function checkEmbedding(builder: SchemaBuilder): void {
  const cache = { embeddings: new Map<ClassDraft, Embedding>(), holders: new Map<ClassDraft, Holders>() }
  for (const draft of builder.all()) measure(builder, draft, [], cache)
}

/** The attributes of a class that embed objects, inherited ones first, and its total number of attributes. */
interface Holders {
  readonly attributes: readonly { readonly attribute: DraftAttribute; readonly before: number }[]
  readonly count: number
}

interface Cache {
  readonly embeddings: Map<ClassDraft, Embedding>
  readonly holders: Map<ClassDraft, Holders>
}

/** Cached, so that inherited attributes are not visited again for every subclass. */
function holdersOf(draft: ClassDraft, cache: Cache): Holders {
  const before = cache.holders.get(draft)
  if (before !== undefined) return before
  const { superClass } = draft
  const inherited = superClass === null ? { attributes: [], count: 0 } : holdersOf(superClass, cache)
  let { count } = inherited
  const own: { attribute: DraftAttribute; before: number }[] = []
  for (const attribute of draft.attributes.values()) {
    if (embeddedBy(attribute.spec) !== undefined) own.push({ attribute, before: count })
    count += 1
  }
  const holders = { attributes: own.length === 0 ? inherited.attributes : [...inherited.attributes, ...own], count }
  cache.holders.set(draft, holders)
  return holders
}

interface Step {
  readonly owner: ClassDraft
  readonly attribute: DraftAttribute
}

function measure(builder: SchemaBuilder, draft: ClassDraft, path: readonly Step[], cache: Cache): Embedding {
  const before = cache.embeddings.get(draft)
  if (before !== undefined) return before
  const cycle = path.findIndex(({ owner }) => owner === draft)
  if (cycle >= 0) throw embedsItself(draft, path.slice(cycle))
  let depth = 0
  let embeddedAttributes = 0
  const holders = holdersOf(draft, cache)
  for (const { attribute, before } of holders.attributes) {
    const embedded = embeddedBy(attribute.spec)
    if (embedded === undefined) continue
    const steps = [...path, { owner: draft, attribute }]
    refuseAbstract(builder.get(embedded.number), steps)
    if (steps.length > embeddingDepthMax) throw tooDeep(steps)
    const inner = measure(builder, builder.get(embedded.number), steps, cache)
    depth = Math.max(depth, inner.depth + 1)
    if (depth > embeddingDepthMax) throw tooDeep(steps)
    // A list is initially empty.
    if (!embedded.isElement) embeddedAttributes += inner.attributes
    if (before + 1 + embeddedAttributes > objectAttributesMax) {
      throw commandError(
        'LimitExceeded',
        `Class ${draft.name} would have more than ${objectAttributesMax} attributes, those of its embedded objects included.`,
        placeOf(steps),
      )
    }
  }
  const embedding = { depth, attributes: holders.count + embeddedAttributes }
  cache.embeddings.set(draft, embedding)
  return embedding
}

function refuseAbstract({ name, properties }: ClassDraft, steps: readonly Step[]): void {
  if (properties?.isAbstract !== true) return
  const { owner, attribute } = steps.at(-1) as Step
  const message = `Class ${name} is abstract: attribute ${attribute.name} of class ${owner.name} cannot embed its objects.`
  throw commandError('ClassIsAbstract', message, placeOf(steps))
}

function embedsItself(draft: ClassDraft, cycle: readonly Step[]): AshlarError {
  const walk = cycle.map(({ owner, attribute }) => `attribute ${attribute.name} of class ${owner.name}`).join(', ')
  return commandError('InvalidDefinition', `Class ${draft.name} would embed itself, by ${walk}.`, placeOf(cycle))
}

function tooDeep(steps: readonly Step[]): AshlarError {
  const { owner, attribute } = steps[0] as Step
  return commandError(
    'LimitExceeded',
    `Class ${owner.name}, attribute ${attribute.name}: embedded objects would lie more than ${embeddingDepthMax} levels deep.`,
    placeOf(steps),
  )
}

/** The place of the first attribute that the batch defines. */
function placeOf(steps: readonly Step[]): CommandPlace {
  return steps.find(({ attribute }) => attribute.place !== undefined)?.attribute.place ?? []
}

/** The class that values of the type embed, singly or as elements of a list. */
function embeddedBy(spec: TypeSpec | undefined): { number: ClassNumber; isElement: boolean } | undefined {
  if (spec?.logicalType === 'object') return { number: spec.class, isElement: false }
  if (spec?.logicalType !== 'list' || spec.element.logicalType !== 'object') return undefined
  return { number: spec.element.class, isElement: true }
}
