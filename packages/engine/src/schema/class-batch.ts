/** Stages a batch of class descriptions in a schema builder: classes first, then superclasses, attributes, and their types. */
import { AshlarError, type CommandPlace } from '../errors.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'
import { commandError, placeWithin } from './command-error.ts'
import type { AttributeDescription, ClassDescription, DefineMode } from './commands.ts'
import { checkSameDefinition, defineAttribute } from './define-attribute.ts'
import { checkSameProperties, definePropertiesOf } from './define-properties.ts'
import { checkAttributeName, checkClassName } from './names.ts'
import { isRootClass } from './root-class.ts'
import { type ClassDraft, type DraftAttribute, SchemaBuilder } from './schema-builder.ts'

export interface StagedAttribute {
  readonly description: AttributeDescription
  /** Of the description. */
  readonly place: CommandPlace
  readonly attribute: DraftAttribute
  /** The attribute is new to the class; otherwise its definition must match the existing one. */
  readonly isNew: boolean
}

export class ClassBatch {
  readonly builder: SchemaBuilder
  /** The next numbers to assign. */
  nextNumber: number
  nextAttribute: number
  private readonly added = new Set<AttributeNumber>()
  /** Inverses under construction belong to this change, which is about to complete. */
  private readonly isPrepared: boolean

  constructor(catalog: Catalog, isPrepared = false) {
    this.builder = new SchemaBuilder(catalog)
    this.isPrepared = isPrepared
    this.nextNumber = catalog.state.counters.classOrShape
    this.nextAttribute = catalog.state.counters.attribute
  }

  /** The draft for a description: of an existing class or a new one. `number`: of a new class; by default the next number. */
  stageClass(description: ClassDescription, place: CommandPlace, mode: DefineMode, number?: ClassNumber): ClassDraft {
    const draft = this.findExisting(description, place) ?? this.addNew(description, place, number)
    if (draft.place !== undefined) {
      throw commandError('InvalidDefinition', `Class ${draft.name} is described twice in one batch.`, place)
    }
    draft.place = place
    if (draft.existing === undefined) return draft
    if (mode === 'create') {
      throw new AshlarError('ClassExists', `Class ${draft.name} already exists.`, [
        { place: [...place, 'className'], message: 'already exists' },
      ])
    }
    changeKind(draft, description, place)
    return draft
  }

  /** A new class gets its superclass; an existing one must already have it. */
  setSuperclass(draft: ClassDraft, { superClass }: ClassDescription): void {
    if (superClass === undefined || superClass === null) return
    const place = placeWithin(draft.place, 'superClass')
    const named = this.builder.resolve(superClass, `Class ${draft.name}, superclass`, place)
    if (isRootClass(named) && !draft.isReferenceable) {
      const message = `Class ${draft.name} is embeddable, and ${named.name} is the root of the referenceable classes.`
      throw commandError('InvalidDefinition', message, place)
    }
    // Classes directly below the root have no superclass.
    const above = isRootClass(named) ? null : named
    if (draft.existing === undefined) {
      draft.superClass = above
      return
    }
    if (draft.superClass === above) return
    throw new AshlarError(
      'SuperClassMismatch',
      `The direct superclass of class ${draft.name} is ${draft.superClass?.name ?? 'none'}, not ${named.name}.`,
      [{ place, message: 'is not the direct superclass' }],
    )
  }

  /** Numbers new attributes before any type is defined, since types refer to attributes of the same batch. */
  stageAttributes(
    draft: ClassDraft,
    descriptions: readonly AttributeDescription[],
    place: CommandPlace,
    attributesMax: number,
  ): StagedAttribute[] {
    const count = descriptions.length
    if (count > attributesMax) {
      throw commandError(
        'LimitExceeded',
        `Class ${draft.name}: ${count} attributes are described; the limit is ${attributesMax} (classAttributesMax).`,
        place,
      )
    }
    return descriptions.map((attribute, position) => this.stageAttribute(draft, attribute, [...place, position]))
  }

  /** Whether the batch adds the attribute. */
  isAdded(number: AttributeNumber): boolean {
    return this.added.has(number)
  }

  /** Yields between attributes, whose properties may have to be compiled. */
  *defineTypes(draft: ClassDraft, staged: readonly StagedAttribute[]): Generator<undefined, void> {
    for (const [i, { description, place, attribute, isNew }] of staged.entries()) {
      if (i > 0) yield
      const spec = defineAttribute(this.builder, draft, description, place)
      if (isNew) {
        attribute.spec = spec
        attribute.properties = definePropertiesOf(draft, spec, description, place)
        continue
      }
      checkSameDefinition(this.builder, draft, attribute.name, place, spec)
      checkSameProperties(this.builder, draft, attribute, description, place)
    }
  }

  private stageAttribute(draft: ClassDraft, description: AttributeDescription, place: CommandPlace): StagedAttribute {
    const { attributeName } = description
    const own = draft.attributes.get(attributeName)
    if (own?.place !== undefined) {
      throw commandError('InvalidDefinition', `Class ${draft.name}: attribute ${attributeName} is described twice.`, [
        ...place,
        'attributeName',
      ])
    }
    if (own !== undefined) {
      own.place = place
      return { description, place, attribute: own, isNew: false }
    }
    checkAttributeName(draft.name, attributeName, [...place, 'attributeName'])
    const number = this.takeArriving(draft, attributeName, place) ?? (this.nextAttribute++ as AttributeNumber)
    this.added.add(number)
    const added: DraftAttribute = { number, name: attributeName, spec: undefined, place }
    this.builder.addAttribute(draft, added)
    draft.needsNewShape = true
    return { description, place, attribute: added, isNew: true }
  }

  /** The number of an inverse whose links are complete. Throws AttributeInUse for one of another request. */
  private takeArriving(draft: ClassDraft, name: string, place: CommandPlace): AttributeNumber | undefined {
    const arriving = draft.arriving.find((one) => one.name === name)
    if (arriving === undefined) return undefined
    if (!this.isPrepared) {
      const message = `An attribute ${name} is being added to class ${draft.name} by another request.`
      throw commandError('AttributeInUse', message, place)
    }
    draft.arriving = draft.arriving.filter((one) => one !== arriving)
    return arriving.number
  }

  /** Undefined for a new name. Throws UnknownClass for an unknown number. */
  private findExisting({ className, classNumber }: ClassDescription, place: CommandPlace): ClassDraft | undefined {
    if (classNumber !== undefined) return this.builder.resolve(classNumber, 'classNumber', [...place, 'classNumber'])
    if (className === undefined) return undefined
    if (/^\d+$/.test(className)) return this.builder.resolve(className, 'className', [...place, 'className'])
    return this.builder.find(className)
  }

  private addNew(
    { className, isReferenceable }: ClassDescription,
    place: CommandPlace,
    number = this.nextNumber as ClassNumber,
  ): ClassDraft {
    const name = className as string
    checkClassName(name, [...place, 'className'])
    if (isReferenceable === undefined) {
      const message = `Class ${name} is new: isReferenceable is needed: true, or false if its objects are embedded in others.`
      throw commandError('InvalidDefinition', message, [...place, 'isReferenceable'])
    }
    this.nextNumber = Math.max(this.nextNumber, number + 1)
    const draft: ClassDraft = {
      number,
      name,
      isReferenceable,
      superClass: null,
      attributes: new Map(),
      arriving: [],
      pendingChecks: [],
      validation: undefined,
      existing: undefined,
      properties: undefined,
      needsNewShape: true,
      isRedefined: false,
      newChecks: [],
      place: undefined,
    }
    this.builder.add(draft)
    return draft
  }
}

function changeKind(draft: ClassDraft, { isReferenceable }: ClassDescription, place: CommandPlace): void {
  if (isReferenceable === undefined || isReferenceable === draft.isReferenceable) return
  if (!isReferenceable) {
    throw new AshlarError(
      'ClassIsReferenceable',
      `Class ${draft.name} is referenceable and cannot become embeddable.`,
      [{ place: [...place, 'isReferenceable'], message: 'cannot become false' }],
    )
  }
  draft.isReferenceable = true
  draft.needsNewShape = true
}
