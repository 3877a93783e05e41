/** Plans the migration of a schema: operations in a feasible order, with their descriptions. */
import type { AttributeDefinition, ClassDescription, TransactionOperation, TypeDefinition } from '@ashlar/client'
import { qualifyClassName, type RenamedSchema } from './schema-renames.ts'
import {
  changedProperties,
  definitionOf,
  isSameType,
  type ListedClass,
  type Properties,
  propertiesOf,
  type SchemaIndex,
  type SchemaSequence,
  type SchemaState,
  typeOf,
} from './schema-state.ts'
import {
  alterationText,
  attributeText,
  classAlterationText,
  classText,
  indexText,
  sequenceText,
  storedName,
  typeText,
} from './schema-text.ts'

export interface PlanStep {
  /** A line for people, like the statement of DO. */
  readonly text: string
  /** The step may delete values or objects. */
  readonly isLoss: boolean
  /** Why the step is impossible, if known without the server. */
  readonly refusal?: string
}

export interface SchemaPlan {
  readonly steps: readonly PlanStep[]
  readonly operations: readonly TransactionOperation[]
  /** The steps, grouped by request. */
  readonly parts: readonly PlanPart[]
  readonly hints: readonly string[]
}

/** `renamed`: the current schema with the requested renames. `failedIndexes`: indexes whose build has failed. */
export function planOf(
  current: SchemaState,
  target: SchemaState,
  renamed: RenamedSchema,
  failedIndexes: readonly string[] = [],
): SchemaPlan {
  const from = new Map(renamed.schema.classes.map((cls) => [cls.className, cls]))
  const to = new Map(target.classes.map((cls) => [cls.className, cls]))
  const added = target.classes.filter(({ className }) => !from.has(className))
  const dropped = renamed.schema.classes.filter(({ className }) => !to.has(className))
  const changes = target.classes.flatMap((cls) => {
    const before = from.get(cls.className)
    return before === undefined ? [] : [changeOf(before, cls)]
  })
  const indexes = changesOf(renamed.schema.indexes, target.indexes)
  const sequences = changesOf(current.sequences, target.sequences)
  const names = new Set(current.sequences.map(({ name }) => name))
  // A sequence with another start or step is recreated, and so begins at its START: before classes that may refer to it are added.
  const [remade, made] = [true, false].map((isRemade) =>
    sequences.added.filter(({ name }) => names.has(name) === isRemade),
  )
  const parts: PlanPart[] = [
    ...[...failedIndexes, ...indexes.dropped.map(({ name }) => name)].map(dropIndex),
    ...renamed.classes.map(renameClass),
    ...changes.flatMap(impossible),
    ...dropsAndRenames(changes, renamed),
    ...(remade ?? []).map(remakeSequence),
    ...(made ?? []).map((one) => statements([sequenceText(one, 'asNeeded')], false)),
    ...additions(added, changes),
    ...changes.flatMap(changeTypes),
    ...changes.flatMap(changeProperties),
    ...subclassesFirst(dropped).map(dropClass),
    ...sequences.dropped
      .filter(({ name }) => !target.sequences.some((one) => one.name === name))
      .map(({ name }) => statements([`DROP SEQUENCE ${storedName(name, 'asNeeded')}`], true)),
    ...indexes.added.map(createIndex),
  ]
  return {
    steps: parts.flatMap(({ steps }) => steps),
    operations: parts.flatMap(({ operation }) => operation),
    parts,
    hints: [...renamed.done, ...hintsFor(added, dropped, changes)],
  }
}

export interface PlanPart {
  readonly steps: readonly PlanStep[]
  /** One operation, or none if another part includes it. */
  readonly operation: readonly TransactionOperation[]
  /** The operation may find stored values that do not fit, and takes the parameters `dryRun` and `allowLoss`. */
  readonly isConversion?: boolean
  /** Maps prefixes of JSON pointers into the body of the operation to positions of steps. */
  readonly stepAt?: ReadonlyMap<string, number>
  /** Maps changed attributes (`Class.attribute`), and the class if its own properties change, to positions of steps. */
  readonly stepOf?: ReadonlyMap<string, number>
  /** No other part needs this one, so others can be rehearsed without it. */
  readonly isSeparable?: boolean
}

interface ClassChange {
  readonly before: ListedClass
  readonly after: ListedClass
  readonly added: readonly AttributeDefinition[]
  readonly dropped: readonly AttributeDefinition[]
  readonly changed: readonly AttributeDefinition[]
  /** References that gain an inverse, and otherwise stay unchanged. */
  readonly paired: readonly AttributeDefinition[]
  /** References that lose their inverse, and otherwise stay unchanged. */
  readonly unpaired: readonly AttributeDefinition[]
  readonly constrained: readonly ConstrainedAttribute[]
  /** Properties of the class; null for a removed one. */
  readonly properties: Properties
}

/** Properties by field, null for a removed one. */
interface ConstrainedAttribute {
  readonly attributeName: string
  readonly own: Properties
  readonly element: Properties
}

function changeOf(before: ListedClass, after: ListedClass): ClassChange {
  const old = new Map(before.attributes.map((attribute) => [attribute.attributeName, attribute]))
  const names = new Set(after.attributes.map(({ attributeName }) => attributeName))
  const differing = after.attributes.filter((attribute) => {
    const was = old.get(attribute.attributeName)
    return was !== undefined && !isSameType(typeOf(was), typeOf(attribute))
  })
  const isInverseChange = (attribute: AttributeDefinition, isAdded: boolean): boolean => {
    const was = old.get(attribute.attributeName) as AttributeDefinition
    const [less, more] = isAdded ? [was, attribute] : [attribute, was]
    return inverseOf(less) === undefined && isSameType(typeOf(less), withoutInverse(more))
  }
  const paired = differing.filter((attribute) => isInverseChange(attribute, true))
  const unpaired = differing.filter((attribute) => isInverseChange(attribute, false))
  return {
    before,
    after,
    added: after.attributes.filter(({ attributeName }) => !old.has(attributeName)),
    dropped: before.attributes.filter(({ attributeName }) => !names.has(attributeName)),
    changed: differing.filter((attribute) => !paired.includes(attribute) && !unpaired.includes(attribute)),
    paired,
    unpaired,
    constrained: after.attributes.flatMap((attribute) => {
      const was = old.get(attribute.attributeName)
      return was === undefined || differing.includes(attribute) ? [] : constraintChange(was, attribute)
    }),
    properties: changedProperties(before.properties, after.properties),
  }
}

function constraintChange(before: AttributeDefinition, after: AttributeDefinition): ConstrainedAttribute[] {
  const [was, is] = [propertiesOf(before), propertiesOf(after)]
  const own = changedProperties(was.own, is.own)
  const element = changedProperties(was.element, is.element)
  if (Object.keys(own).length + Object.keys(element).length === 0) return []
  return [{ attributeName: after.attributeName, own, element }]
}

function inverseOf({ elementSpecification, inverseAttribute }: TypeDefinition): string | undefined {
  return (elementSpecification === undefined ? inverseAttribute : elementSpecification.inverseAttribute) ?? undefined
}

function withoutInverse(attribute: AttributeDefinition): TypeDefinition {
  const { inverseAttribute: _, ...type } = typeOf(attribute)
  if (type.elementSpecification === undefined) return type
  const { inverseAttribute: __, ...elementSpecification } = type.elementSpecification
  return { ...type, elementSpecification }
}

/** Returns steps for changes that no schema change can make. */
function impossible({ before, after }: ClassChange): PlanPart[] {
  const { className } = after
  const refused = (text: string, refusal: string): PlanPart => {
    return { steps: [{ text, isLoss: false, refusal }], operation: [] }
  }
  const parts: PlanPart[] = []
  if (before.superClass !== after.superClass) {
    const words = (name: string | null): string => (name === null ? 'none' : name)
    const [was, is] = [words(before.superClass), words(after.superClass)]
    const refusal = `The superclass of ${className} cannot be changed: it is ${was}, the files have ${is}.`
    parts.push(refused(`CHANGE SUPERCLASS OF ${className}: ${was} → ${is}`, refusal))
  }
  if (before.isReferenceable !== after.isReferenceable) {
    const [was, is] = [before, after].map((one) => (one.isReferenceable ? 'referenceable' : 'embeddable'))
    parts.push(refused(`CHANGE CLASS ${className}: ${was} → ${is}`, `${className} is ${was}, which cannot be changed.`))
  }
  return parts
}

function classUri(className: string): string {
  return `/v1/schema/${encodeURIComponent(className)}`
}

function step(text: string, isLoss = false): PlanStep {
  return { text, isLoss }
}

function renameClass({ from, to }: { readonly from: string; readonly to: string }): PlanPart {
  return {
    steps: [step(`RENAME CLASS ${from} TO ${to}`)],
    operation: [{ method: 'put', uri: classUri(from), body: { classRename: qualifyClassName(to) } }],
  }
}

/** Deleting one side of a link also deletes the other, and so does removing the inverse of a reference; deleting that again would fail. */
function dropsAndRenames(changes: readonly ClassChange[], renamed: RenamedSchema): PlanPart[] {
  const deletedAttributes = new Set(
    changes.flatMap(({ before, unpaired }) => {
      const names = new Set(unpaired.map(({ attributeName }) => attributeName))
      return before.attributes.filter(({ attributeName }) => names.has(attributeName)).flatMap(inversesOf)
    }),
  )
  return changes.flatMap(({ before, dropped }) => {
    const { className } = before
    const renames = renamed.attributes.filter((rename) => rename.className === className)
    const deleted = dropped.filter(({ attributeName }) => !deletedAttributes.has(`${className}.${attributeName}`))
    for (const attribute of deleted) for (const inverse of inversesOf(attribute)) deletedAttributes.add(inverse)
    if (renames.length + dropped.length === 0) return []
    const body = {
      // Deletions are executed before renames, and so use current names.
      attributesToDelete: deleted.map(({ attributeName }) => attributeName),
      attributesToRename: renames.map(({ from, to }) => ({ originalName: from, newName: to })),
    }
    const isEmpty = body.attributesToDelete.length + body.attributesToRename.length === 0
    const stepAt = new Map([
      ...deleted.map((one, i) => [`/attributesToDelete/${i}`, dropped.indexOf(one)] as const),
      ...renames.map((_, i) => [`/attributesToRename/${i}`, dropped.length + i] as const),
    ])
    return [
      {
        steps: [
          ...dropped.map(({ attributeName }) => step(`ALTER CLASS ${className} {DROP ${attributeName}}`, true)),
          ...renames.map(({ from, to }) => step(`ALTER CLASS ${className} {RENAME ${from} TO ${to}}`)),
        ],
        operation: isEmpty ? [] : [{ method: 'put', uri: `${classUri(className)}?cascade=true`, body }],
        stepAt,
      },
    ]
  })
}

function inversesOf(attribute: AttributeDefinition): string[] {
  const { referencedClass, inverseAttribute } = attribute.elementSpecification ?? attribute
  return inverseAttribute === undefined ? [] : [`${referencedClass}.${inverseAttribute}`]
}

/** Adds classes, attributes, and inverses of references in one operation, since they may refer to each other. */
function additions(added: readonly ListedClass[], changes: readonly ClassChange[]): PlanPart[] {
  const grown = changes.filter((change) => change.added.length + change.paired.length > 0)
  if (added.length + grown.length === 0) return []
  const body: ClassDescription[] = [
    ...added.map(({ properties, unvalidated: _, ...cls }) => ({ ...cls, ...properties })),
    ...grown.map((change) => ({
      className: change.after.className,
      attributes: [...change.added, ...change.paired],
    })),
  ]
  const steps = added.map((cls) => step(classText(cls, 'asNeeded').join('\n')))
  const stepAt = new Map(added.map((_, i) => [`/${i}`, i]))
  const stepOf = new Map<string, number>()
  for (const [i, { before, after, added: attributes, paired }] of grown.entries()) {
    const texts = attributes.map((one) => `ALTER CLASS ${after.className} {ADD ${attributeText(one, 'asNeeded')}}`)
    for (const [j, text] of [...texts, ...changeTexts(before, after, paired)].entries()) {
      stepOf.set(subjectOf(after.className, [...attributes, ...paired][j]), steps.length)
      stepAt.set(`/${added.length + i}/attributes/${j}`, steps.length)
      steps.push(step(text))
    }
  }
  const isConversion = grown.some(({ paired }) => paired.length > 0)
  return [{ steps, operation: [{ method: 'put', uri: '/v1/schema', body }], isConversion, stepAt, stepOf }]
}

/** What violations of stored objects name. */
export function subjectOf(className: string, of: { readonly attributeName?: string } | undefined): string {
  return of?.attributeName === undefined ? className : `${className}.${of.attributeName}`
}

function changeTexts(before: ListedClass, after: ListedClass, changed: readonly AttributeDefinition[]): string[] {
  const old = new Map(before.attributes.map((attribute) => [attribute.attributeName, attribute]))
  return changed.map((attribute) => {
    const was = old.get(attribute.attributeName) ?? attribute
    const types = [was, attribute].map((one) => typeText(definitionOf(one), 'asNeeded'))
    return `CHANGE ${after.className}.${attribute.attributeName}: ${types.join(' → ')}`
  })
}

/** Changes types of attributes, for which DO has no statement. */
function changeTypes({ before, after, changed, unpaired }: ClassChange): PlanPart[] {
  const attributes = [...changed, ...unpaired]
  if (attributes.length === 0) return []
  const steps = changeTexts(before, after, attributes).map((text) => step(text))
  const old = new Map(before.attributes.map((attribute) => [attribute.attributeName, attribute]))
  const attributesToChange = attributes.map((attribute) => {
    return {
      ...attribute,
      ...changedProperties(
        propertiesOf(old.get(attribute.attributeName) ?? attribute).own,
        propertiesOf(attribute).own,
      ),
    }
  })
  const uri = `${classUri(after.className)}${unpaired.length === 0 ? '' : '?cascade=true'}`
  const operation = [{ method: 'put', uri, body: { attributesToChange } }] as const
  const stepAt = new Map(steps.map((_, i) => [`/attributesToChange/${i}`, i]))
  const stepOf = new Map(attributes.map((attribute, i) => [subjectOf(after.className, attribute), i]))
  return [{ steps, operation, isConversion: true, stepAt, stepOf }]
}

function changeProperties({ before, after, constrained, properties }: ClassChange): PlanPart[] {
  const hasClassFields = Object.keys(properties).length > 0
  if (constrained.length === 0 && !hasClassFields) return []
  const { className } = after
  const body = {
    ...(constrained.length === 0 ? {} : { attributesToConstrain: constrained.map(constraintBody) }),
    ...(hasClassFields ? { classFields: properties } : {}),
  }
  const stepAt = new Map(constrained.map((_, i) => [`/attributesToConstrain/${i}`, i]))
  const steps = [
    ...constrained.map(({ attributeName, own, element }) =>
      step(alterationText(className, attributeName, own, element)),
    ),
    ...(hasClassFields ? [step(classAlterationText(className, before.properties, properties))] : []),
  ]
  const stepOf = new Map([
    ...constrained.map((attribute, i) => [subjectOf(className, attribute), i] as const),
    ...(hasClassFields ? [[className, constrained.length] as const] : []),
  ])
  const operation = [{ method: 'put', uri: classUri(className), body }] as const
  return [{ steps, operation, stepAt, stepOf, isSeparable: true }]
}

function constraintBody({ attributeName, own, element }: ConstrainedAttribute): Properties {
  const elementSpecification = Object.keys(element).length === 0 ? {} : { elementSpecification: element }
  return { attributeName, ...own, ...elementSpecification }
}

function dropClass({ className }: ListedClass): PlanPart {
  return { steps: [step(`DROP CLASS ${className}`, true)], operation: [{ method: 'delete', uri: classUri(className) }] }
}

function subclassesFirst(dropped: readonly ListedClass[]): ListedClass[] {
  const above = new Map(dropped.map(({ className, superClass }) => [className, superClass]))
  const depths = new Map<string, number>()
  const depthOf = (className: string): number => {
    const superClass = above.get(className) ?? null
    const depth = depths.get(className) ?? (superClass === null ? 0 : 1 + depthOf(superClass))
    depths.set(className, depth)
    return depth
  }
  return [...dropped].sort((one, other) => depthOf(other.className) - depthOf(one.className))
}

function dropIndex(name: string): PlanPart {
  const uri = `/v1/index/${encodeURIComponent(name)}`
  return { steps: [step(`DROP INDEX ${name}`)], operation: [{ method: 'delete', uri }] }
}

function createIndex(index: SchemaIndex): PlanPart {
  const { name, indexedClass, isUnique, keys } = index
  const body = { name, indexedClass, isUnique, keyAttributes: keys.map((attributeName) => ({ attributeName })) }
  return { steps: [step(indexText(index, 'asNeeded'))], operation: [{ method: 'post', uri: '/v1/index', body }] }
}

function statements(texts: readonly string[], isLoss: boolean): PlanPart {
  const operation = { method: 'post', uri: '/v1/query', body: { query: texts.join('; ') } } as const
  return { steps: texts.map((text) => step(text, isLoss)), operation: [operation] }
}

/** Recreates a sequence, which loses its next number. */
function remakeSequence(sequence: SchemaSequence): PlanPart {
  const { name } = sequence
  return statements([`DROP SEQUENCE ${storedName(name, 'asNeeded')}`, sequenceText(sequence, 'asNeeded')], true)
}

/** Changed definitions are in both lists. */
function changesOf<T extends SchemaIndex | SchemaSequence>(
  current: readonly T[],
  target: readonly T[],
): { readonly dropped: readonly T[]; readonly added: readonly T[] } {
  const [old, next] = [current, target].map((some) => new Set(some.map((one) => JSON.stringify(one))))
  return {
    dropped: current.filter((one) => next?.has(JSON.stringify(one)) !== true),
    added: target.filter((one) => old?.has(JSON.stringify(one)) !== true),
  }
}

const hintedPairsMax = 1_000

function hintsFor(
  added: readonly ListedClass[],
  dropped: readonly ListedClass[],
  changes: readonly ClassChange[],
): string[] {
  const hint = (from: string, to: string): string => `If ${from} is to become ${to}, say so: --rename ${from}=${to}`
  // Too many hints do not help, and each pair must be compared.
  const isFew = (some: readonly unknown[], others: readonly unknown[]): boolean => {
    return some.length * others.length <= hintedPairsMax
  }
  const classHints = (isFew(dropped, added) ? dropped : []).flatMap((before) => {
    const similar = added.filter((after) => sharesAttributes(before, after))
    return similar.map((after) => hint(before.className, after.className))
  })
  const attributeHints = changes.flatMap(({ after, added: more, dropped: fewer }) =>
    (isFew(fewer, more) ? fewer : []).flatMap((one) => {
      const similar = more.filter((other) => isSameType(definitionOf(one), definitionOf(other)))
      return similar.map((other) => hint(`${after.className}.${one.attributeName}`, other.attributeName))
    }),
  )
  return [...classHints, ...attributeHints]
}

/** Returns true if at least half of the names are equal. */
function sharesAttributes(before: ListedClass, after: ListedClass): boolean {
  const names = new Set(after.attributes.map(({ attributeName }) => attributeName))
  const shared = before.attributes.filter(({ attributeName }) => names.has(attributeName)).length
  return shared > 0 && shared * 2 >= Math.max(before.attributes.length, after.attributes.length)
}
