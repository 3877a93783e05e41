/** Deletes a class except for its number (contract 5.3.2, 5.3.12 to 5.3.14). */
import { AshlarError } from '../errors.ts'
import { runToEnd } from '../store/time-slice.ts'
import type { AttributeNumber, ClassNumber, TypeSpec } from '../types/type-spec.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import { edgeUse } from './check-edges.ts'
import { ClassBatch } from './class-batch.ts'
import type { CatalogState, IndexDefinition } from './class-definition.ts'
import { withBoundExpressions } from './class-expressions.ts'
import { classesWithNewShape, nextState } from './define-classes.ts'
import type { ExpressionBinder } from './expression-uses.ts'
import { refusePairing } from './retype-attribute.ts'
import type { SchemaBuilder } from './schema-builder.ts'

export interface ClassDeletion {
  readonly state: CatalogState
  readonly droppedIndexes: readonly IndexDefinition[]
}

/** `hasObjects`: objects of the class itself. Throws ClassInUse; AttributeInUse if an expression names an attribute deleted with it. */
export function deleteClass(
  catalog: Catalog,
  cls: SchemaClass,
  hasObjects: boolean,
  binder: ExpressionBinder | undefined,
): ClassDeletion {
  const use = whatUses(catalog, cls, hasObjects)
  if (use !== undefined) throw new AshlarError('ClassInUse', `Class ${cls.name} cannot be deleted: ${use}.`)
  const batch = new ClassBatch(catalog)
  const { builder } = batch
  const gone = [...builder.all()].flatMap((owner) => {
    if (owner.number === cls.number) return []
    const referring = [...owner.attributes.values()].filter(
      ({ spec }) => spec !== undefined && refersTo(spec, cls.number),
    )
    return referring.map((attribute) => ({ owner, attribute }))
  })
  for (const { owner, attribute } of gone) refusePairing(owner, attribute, [])
  const own = builder.get(cls.number)
  for (const attribute of own.attributes.values()) refusePairing(own, attribute, [])
  refuseEdges(builder, cls, new Set(gone.map(({ attribute }) => attribute.number)))
  for (const { owner, attribute } of gone) builder.removeAttribute(owner, attribute)
  const numbers = new Set(gone.map(({ attribute }) => attribute.number))
  const dropped = catalog.indexes.filter(({ indexedClass, keyAttributes }) => {
    return indexedClass === cls.number || keyAttributes.some(({ path }) => path.some((number) => numbers.has(number)))
  })
  const shaped = nextState(catalog.state, batch, classesWithNewShape(builder))
  const state = {
    ...shaped,
    classes: shaped.classes.map((one) => (one.number === cls.number ? { ...one, isDeleted: true } : one)),
    indexes: shaped.indexes.filter((index) => !dropped.includes(index)),
  }
  return {
    state: runToEnd(withBoundExpressions(catalog, state, { binder, isCascading: false })),
    droppedIndexes: dropped,
  }
}

/** An attribute deleted with the class may lead from edge objects to their targets. Throws ClassInUse. */
function refuseEdges(builder: SchemaBuilder, cls: SchemaClass, gone: ReadonlySet<AttributeNumber>): void {
  const use = edgeUse(builder, new Set(), ({ edgeClass, edgeAttribute }, owner) => {
    return owner.number !== cls.number && (edgeClass === cls.number || gone.has(edgeAttribute))
  })
  if (use === undefined) return
  const { owner, attribute, spec } = use
  const what = spec.edgeClass === cls.number ? 'it is the edgeClass' : 'the edgeAttribute refers to it'
  const message = `Class ${cls.name} cannot be deleted: ${what} of attribute ${attribute.name} of class ${owner.name}.`
  throw new AshlarError('ClassInUse', message)
}

function whatUses(catalog: Catalog, cls: SchemaClass, hasObjects: boolean): string | undefined {
  const [subclass] = cls.subclasses
  if (subclass !== undefined) return `class ${subclass.name} inherits from it`
  if (hasObjects) return 'it has objects'
  for (const owner of catalog.classes) {
    const embedding = owner.definition.attributes.find(({ spec }) => embeds(spec, cls.number))
    if (embedding !== undefined) return `attribute ${embedding.name} of class ${owner.name} embeds it`
  }
  return undefined
}

function embeds(spec: TypeSpec, cls: ClassNumber): boolean {
  if (spec.logicalType === 'object') return spec.class === cls
  return spec.logicalType === 'list' && embeds(spec.element, cls)
}

function refersTo(spec: TypeSpec, cls: ClassNumber): boolean {
  switch (spec.logicalType) {
    case 'reference':
      return spec.referencedClass === cls
    case 'list':
    case 'set':
      return refersTo(spec.element, cls)
    case 'map':
      return refersTo(spec.element, cls) || refersTo(spec.key, cls)
    default:
      return false
  }
}
