/** How one schema becomes another: the operations, in an order in which each is possible, and what they are for people. */
import type { AttributeDefinition, ClassDescription, TransactionOperation } from '@ashlar/client'
import { CommandError } from '../../command-error.ts'
import { exitCodes } from '../../exit-codes.ts'
import { applyRenames, type RenamedSchema, type Renames } from './schema-renames.ts'
import {
  isSameType,
  namespaceOf,
  type SchemaClass,
  type SchemaIndex,
  type SchemaState,
  typeOf,
} from './schema-state.ts'
import { attributeText, classText, indexText, typeText } from './schema-text.ts'

export interface PlanStep {
  /** A line for people, like the statement of DO. */
  readonly text: string
  /** Values or objects may go by it. */
  readonly isLoss: boolean
}

export interface SchemaPlan {
  readonly steps: readonly PlanStep[]
  readonly operations: readonly TransactionOperation[]
  /** The same, parted into what can be done by one request each. */
  readonly parts: readonly PlanPart[]
  /** What may have been meant by a rename that nobody has asked for. */
  readonly hints: readonly string[]
}

/** `failedIndexes`: names of those whose build has failed. Throws CommandError for renames of what is not there, and for what no change of a schema can do. */
export function planOf(
  current: SchemaState,
  wanted: SchemaState,
  renames: Renames,
  failedIndexes: readonly string[] = [],
): SchemaPlan {
  const renamed = applyRenames(current, renames)
  const from = new Map(renamed.schema.classes.map((cls) => [cls.className, cls]))
  const to = new Map(wanted.classes.map((cls) => [cls.className, cls]))
  const added = wanted.classes.filter(({ className }) => !from.has(className))
  const dropped = renamed.schema.classes.filter(({ className }) => !to.has(className))
  const kept = wanted.classes.flatMap((cls) => {
    const before = from.get(cls.className)
    return before === undefined ? [] : [changeOf(before, cls)]
  })
  for (const change of kept) refuseImpossible(change)
  const indexes = indexChanges(renamed.schema.indexes, wanted.indexes)
  const parts: PlanPart[] = [
    ...[...failedIndexes, ...indexes.dropped.map(({ name }) => name)].map(dropIndex),
    ...renamed.classes.map(renameClass),
    ...dropsAndRenames(kept, renamed),
    ...additions(added, kept),
    ...kept.filter(({ changed }) => changed.length > 0).map(changeTypes),
    ...subclassesFirst(dropped).map(dropClass),
    ...indexes.added.map(createIndex),
  ]
  return {
    steps: parts.flatMap(({ steps }) => steps),
    operations: parts.flatMap(({ operation }) => operation),
    parts,
    hints: [...renamed.done, ...hintsFor(added, dropped, kept)],
  }
}

export interface PlanPart {
  readonly steps: readonly PlanStep[]
  /** One, or none where another part does it too. */
  readonly operation: readonly TransactionOperation[]
}

interface ClassChange {
  readonly before: SchemaClass
  readonly after: SchemaClass
  readonly added: readonly AttributeDefinition[]
  readonly dropped: readonly AttributeDefinition[]
  /** By the definition that is wanted. */
  readonly changed: readonly AttributeDefinition[]
}

function changeOf(before: SchemaClass, after: SchemaClass): ClassChange {
  const old = new Map(before.attributes.map((attribute) => [attribute.attributeName, attribute]))
  const names = new Set(after.attributes.map(({ attributeName }) => attributeName))
  return {
    before,
    after,
    added: after.attributes.filter(({ attributeName }) => !old.has(attributeName)),
    dropped: before.attributes.filter(({ attributeName }) => !names.has(attributeName)),
    changed: after.attributes.filter((attribute) => {
      const was = old.get(attribute.attributeName)
      return was !== undefined && !isSameType(typeOf(was), typeOf(attribute))
    }),
  }
}

function refuseImpossible({ before, after }: ClassChange): void {
  const { className } = after
  if (before.superClass !== after.superClass) {
    const words = (name: string | null): string => (name === null ? 'none' : name)
    throw new CommandError(
      exitCodes.invalid,
      `The superclass of ${className} cannot be changed: it is ${words(before.superClass)}, the files have ${words(after.superClass)}.`,
    )
  }
  if (before.isReferenceable === after.isReferenceable) return
  const is = before.isReferenceable ? 'referenceable' : 'embeddable'
  throw new CommandError(exitCodes.invalid, `${className} is ${is}, which cannot be changed.`)
}

function classUri(className: string): string {
  return `/v1/schema/${encodeURIComponent(className)}`
}

function step(text: string, isLoss = false): PlanStep {
  return { text, isLoss }
}

function renameClass({ from, to }: { readonly from: string; readonly to: string }): PlanPart {
  // Without a dot it would stay in its namespace.
  const classRename = namespaceOf(to) === null ? `.${to}` : to
  return {
    steps: [step(`RENAME CLASS ${from} TO ${to}`)],
    operation: [{ method: 'put', uri: classUri(from), body: { classRename } }],
  }
}

/** Deleting one side of a link deletes the other, which is then not there to be deleted. */
function dropsAndRenames(kept: readonly ClassChange[], renamed: RenamedSchema): PlanPart[] {
  const gone = new Set<string>()
  return kept.flatMap(({ before, dropped }) => {
    const { className } = before
    const renames = renamed.attributes.filter((rename) => rename.className === className)
    const deleted = dropped.filter(({ attributeName }) => !gone.has(`${className}.${attributeName}`))
    for (const attribute of deleted) {
      const { referencedClass, inverseAttribute } = attribute.elementSpecification ?? attribute
      if (inverseAttribute !== undefined) gone.add(`${referencedClass}.${inverseAttribute}`)
    }
    if (renames.length + dropped.length === 0) return []
    const body = {
      // They are deleted before others are renamed: under the names that they have now.
      attributesToDelete: deleted.map(({ attributeName }) => attributeName),
      attributesToRename: renames.map(({ from, to }) => ({ originalName: from, newName: to })),
    }
    const isEmpty = body.attributesToDelete.length + body.attributesToRename.length === 0
    return [
      {
        steps: [
          ...dropped.map(({ attributeName }) => step(`ALTER CLASS ${className} {DROP ${attributeName}}`, true)),
          ...renames.map(({ from, to }) => step(`ALTER CLASS ${className} {RENAME ${from} TO ${to}}`)),
        ],
        operation: isEmpty ? [] : [{ method: 'put', uri: `${classUri(className)}?cascade=true`, body }],
      },
    ]
  })
}

/** New classes and attributes are one operation, since they may refer to each other. */
function additions(added: readonly SchemaClass[], kept: readonly ClassChange[]): PlanPart[] {
  const grown = kept.filter((change) => change.added.length > 0)
  if (added.length + grown.length === 0) return []
  const body: ClassDescription[] = [
    ...added.map(({ className, isReferenceable, superClass, attributes }) => {
      return { className, isReferenceable, superClass, attributes }
    }),
    ...grown.map((change) => ({ className: change.after.className, attributes: change.added })),
  ]
  const steps = [
    ...added.map((cls) => step(classText(cls, 'asNeeded').join('\n'))),
    ...grown.flatMap(({ after, added: attributes }) =>
      attributes.map((one) => step(`ALTER CLASS ${after.className} {ADD ${attributeText(one, 'asNeeded')}}`)),
    ),
  ]
  return [{ steps, operation: [{ method: 'put', uri: '/v1/schema', body }] }]
}

/** DO has no statement for it. */
function changeTypes({ before, after, changed }: ClassChange): PlanPart {
  const steps = changed.map((attribute) => {
    const was = before.attributes.find(({ attributeName }) => attributeName === attribute.attributeName)
    const types = [was ?? attribute, attribute].map((one) => typeText(typeOf(one), 'asNeeded'))
    return step(`CHANGE ${after.className}.${attribute.attributeName}: ${types.join(' → ')}`)
  })
  const body = { attributesToChange: changed }
  return { steps, operation: [{ method: 'put', uri: classUri(after.className), body }] }
}

function dropClass({ className }: SchemaClass): PlanPart {
  return { steps: [step(`DROP CLASS ${className}`, true)], operation: [{ method: 'delete', uri: classUri(className) }] }
}

function subclassesFirst(dropped: readonly SchemaClass[]): SchemaClass[] {
  const above = new Map(dropped.map(({ className, superClass }) => [className, superClass]))
  const depthOf = (className: string): number => {
    const superClass = above.get(className) ?? null
    return superClass === null ? 0 : 1 + depthOf(superClass)
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

/** One that is defined otherwise is dropped and created. */
function indexChanges(
  current: readonly SchemaIndex[],
  wanted: readonly SchemaIndex[],
): { readonly dropped: readonly SchemaIndex[]; readonly added: readonly SchemaIndex[] } {
  const [old, next] = [current, wanted].map((indexes) => new Set(indexes.map((index) => JSON.stringify(index))))
  return {
    dropped: current.filter((index) => next?.has(JSON.stringify(index)) !== true),
    added: wanted.filter((index) => old?.has(JSON.stringify(index)) !== true),
  }
}

function hintsFor(
  added: readonly SchemaClass[],
  dropped: readonly SchemaClass[],
  kept: readonly ClassChange[],
): string[] {
  const hint = (from: string, to: string): string => `If ${from} is to become ${to}, say so: --rename ${from}=${to}`
  const ofClasses = dropped.flatMap((before) => {
    const like = added.filter((after) => sharesAttributes(before, after))
    return like.map((after) => hint(before.className, after.className))
  })
  const ofAttributes = kept.flatMap(({ after, added: more, dropped: fewer }) =>
    fewer.flatMap((one) => {
      const like = more.filter((other) => isSameType(typeOf(one), typeOf(other)))
      return like.map((other) => hint(`${after.className}.${one.attributeName}`, other.attributeName))
    }),
  )
  return [...ofClasses, ...ofAttributes]
}

/** Half of the names at least. */
function sharesAttributes(before: SchemaClass, after: SchemaClass): boolean {
  const names = new Set(after.attributes.map(({ attributeName }) => attributeName))
  const shared = before.attributes.filter(({ attributeName }) => names.has(attributeName)).length
  return shared > 0 && shared * 2 >= Math.max(before.attributes.length, after.attributes.length)
}
