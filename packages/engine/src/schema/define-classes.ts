/** POST and PUT /v1/schema: a batch of class descriptions becomes the next state of the catalog, or none of it does. */
import { AshlarError } from '../errors.ts'
import { defineType } from '../types/index.ts'
import { type DefineContext, ValueError } from '../types/logical-type.ts'
import type { AttributeNumber, ClassNumber, ShapeNumber, TypeSpec } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'
import {
  checkAttributeCount,
  checkEmbedding,
  checkInheritance,
  checkInverses,
  checkKinds,
  checkNotEmbedded,
} from './check-drafts.ts'
import type { Attribute, CatalogState, ClassDefinition, Shape } from './class-definition.ts'
import { type AttributeDescription, type ClassDescription, escapeStep } from './class-description.ts'
import { allAttributes, type ClassDraft, type DraftAttribute, Drafts } from './class-draft.ts'
import { checkAttributeName, checkClassName, hintFor } from './names.ts'

/** `create`: every class is new, else ClassExists. */
export type DefineMode = 'create' | 'createOrExtend'

export interface DefinedClasses {
  /** The catalog's own state object where nothing changes. */
  readonly state: CatalogState
  /** One a description, in request order. */
  readonly classNumbers: readonly ClassNumber[]
}

/** Throws what section 5 of the REST interface says of batches of descriptions, with pointers into the body. */
export function defineClasses(
  catalog: Catalog,
  descriptions: readonly ClassDescription[],
  mode: DefineMode,
  attributesMax: number,
): DefinedClasses {
  const batch = new Batch(catalog)
  const targets = descriptions.map((description) => batch.enter(description, mode))
  for (const [i, draft] of targets.entries()) batch.placeBelowSuperClass(draft, descriptions[i] as ClassDescription)
  checkInheritance(batch.drafts)
  checkKinds(batch.drafts)
  const entered = targets.map((draft, i) => batch.enterAttributes(draft, descriptions[i] as ClassDescription))
  for (const [i, draft] of targets.entries()) batch.defineTypes(draft, entered[i] as EnteredAttribute[])
  for (const draft of targets) {
    if (draft.isReferenceable && draft.existing?.isReferenceable === false) checkNotEmbedded(batch.drafts, draft)
    for (const attribute of draft.attributes) checkInverses(batch.drafts, draft, attribute)
  }
  checkEmbedding(batch.drafts)
  return { state: batch.finish(attributesMax), classNumbers: targets.map(({ number }) => number) }
}

interface EnteredAttribute {
  readonly description: AttributeDescription
  readonly attribute: DraftAttribute
  /** Set where the class has the attribute already: the definition must then be the same. */
  readonly present: TypeSpec | undefined
}

class Batch {
  readonly drafts: Drafts
  private readonly catalog: Catalog
  private readonly entered = new Set<ClassDraft>()
  private nextNumber: number
  private nextAttribute: number

  constructor(catalog: Catalog) {
    this.catalog = catalog
    this.drafts = new Drafts(catalog)
    this.nextNumber = catalog.state.counters.classOrShape
    this.nextAttribute = catalog.state.counters.attribute
  }

  /** The class that a description is of: an existing one, or a new draft. */
  enter(description: ClassDescription, mode: DefineMode): ClassDraft {
    const existing = this.findExisting(description)
    const draft = existing ?? this.addNew(description)
    if (this.entered.has(draft)) {
      throw invalid(`Class ${draft.name} is described twice in one batch.`, description.pointer)
    }
    this.entered.add(draft)
    if (existing !== undefined && mode === 'create') {
      throw new AshlarError('ClassExists', `Class ${draft.name} already exists.`, [
        { pointer: `${description.pointer}/className`, message: 'already exists' },
      ])
    }
    if (existing !== undefined) this.changeKind(existing, description)
    return draft
  }

  /** A new class takes its superclass; an existing one must have it already. */
  placeBelowSuperClass(draft: ClassDraft, { superClass, pointer }: ClassDescription): void {
    if (superClass === undefined || superClass === null) return
    const named = this.drafts.resolve(superClass, `${pointer}/superClass`)
    if (draft.existing === undefined) {
      draft.superClass = named
      return
    }
    if (draft.superClass === named) return
    throw new AshlarError(
      'SuperClassMismatch',
      `The direct superclass of class ${draft.name} is ${draft.superClass?.name ?? 'none'}, not ${named.name}.`,
      [{ pointer: `${pointer}/superClass`, message: 'is not the direct superclass' }],
    )
  }

  /** Gives new attributes their numbers, before any type is defined: types refer to attributes of the same batch. */
  enterAttributes(draft: ClassDraft, description: ClassDescription): EnteredAttribute[] {
    const names = new Set<string>()
    return description.attributes.map((attribute) => {
      const { attributeName, pointer } = attribute
      if (names.has(attributeName)) {
        throw invalid(`Class ${draft.name}: attribute ${attributeName} is described twice.`, `${pointer}/attributeName`)
      }
      names.add(attributeName)
      const own = draft.attributes.find(({ name }) => name === attributeName)
      if (own !== undefined) return { description: attribute, attribute: own, present: own.spec }
      checkAttributeName(draft.name, attributeName, `${pointer}/attributeName`)
      const number = this.nextAttribute++ as AttributeNumber
      const added: DraftAttribute = { number, name: attributeName, spec: undefined }
      draft.attributes.push(added)
      draft.isReshaped = true
      return { description: attribute, attribute: added, present: undefined }
    })
  }

  defineTypes(draft: ClassDraft, entered: readonly EnteredAttribute[]): void {
    for (const { description, attribute, present } of entered) {
      const spec = this.defineOne(draft, description)
      if (present !== undefined && JSON.stringify(present) !== JSON.stringify(spec)) {
        throw new AshlarError(
          'AttributeExists',
          `Class ${draft.name} has an attribute ${attribute.name} with another definition; PUT /v1/schema only adds attributes.`,
          [{ pointer: description.pointer, message: 'is defined otherwise' }],
        )
      }
      attribute.spec = spec
    }
  }

  finish(attributesMax: number): CatalogState {
    const reshaped = this.reshaped()
    if (reshaped.length === 0) return this.catalog.state
    const definitions = new Map<ClassNumber, ClassDefinition>()
    const shapes: Shape[] = []
    for (const draft of reshaped) {
      checkAttributeCount(draft, attributesMax)
      const shapeNumber = (draft.existing === undefined ? draft.number : this.nextNumber++) as ShapeNumber
      definitions.set(draft.number, toDefinition(draft, shapeNumber))
      shapes.push(toShape(draft, shapeNumber))
    }
    const { state } = this.catalog
    const kept = state.classes.map((cls) => definitions.get(cls.number) ?? cls)
    const added = reshaped.filter(({ existing }) => existing === undefined)
    return {
      counters: { ...state.counters, classOrShape: this.nextNumber, attribute: this.nextAttribute },
      classes: [...kept, ...added.map(({ number }) => definitions.get(number) as ClassDefinition)],
      shapes: [...state.shapes, ...shapes],
      indexes: state.indexes,
    }
  }

  /** New classes, changed ones and the subclasses of those, by class number. */
  private reshaped(): ClassDraft[] {
    const isReshaped = (draft: ClassDraft): boolean =>
      draft.existing === undefined || draft.isReshaped || (draft.superClass !== null && isReshaped(draft.superClass))
    return this.drafts
      .all()
      .filter(isReshaped)
      .sort((one, other) => one.number - other.number)
  }

  private findExisting({ className, classNumber, pointer }: ClassDescription): ClassDraft | undefined {
    const isNumber = className !== undefined && /^\d+$/.test(className)
    if (classNumber === undefined && !isNumber) return className === undefined ? undefined : this.drafts.find(className)
    const text = String(classNumber ?? className)
    return this.drafts.resolve(text, classNumber === undefined ? `${pointer}/className` : `${pointer}/classNumber`)
  }

  private addNew({ className, isReferenceable, pointer }: ClassDescription): ClassDraft {
    const name = className as string
    checkClassName(name, `${pointer}/className`)
    if (isReferenceable === undefined) {
      throw invalid(`Class ${name} is new: isReferenceable is needed.`, `${pointer}/isReferenceable`)
    }
    const draft: ClassDraft = {
      number: this.nextNumber++ as ClassNumber,
      name,
      isReferenceable,
      superClass: null,
      attributes: [],
      existing: undefined,
      isReshaped: true,
    }
    this.drafts.add(draft)
    return draft
  }

  private changeKind(draft: ClassDraft, { isReferenceable, pointer }: ClassDescription): void {
    if (isReferenceable === undefined || isReferenceable === draft.isReferenceable) return
    if (!isReferenceable) {
      throw new AshlarError(
        'ClassIsReferenceable',
        `Class ${draft.name} is referenceable and cannot become embeddable.`,
        [{ pointer: `${pointer}/isReferenceable`, message: 'cannot become false' }],
      )
    }
    draft.isReferenceable = true
    draft.isReshaped = true
  }

  private defineOne(draft: ClassDraft, { attributeName, type, pointer }: AttributeDescription): TypeSpec {
    try {
      return defineType(type, this.contextAt(pointer))
    } catch (error) {
      if (!(error instanceof ValueError)) throw error
      const at = [pointer, ...error.path.map((step) => escapeStep(String(step)))].join('/')
      throw new AshlarError(error.type, `Class ${draft.name}, attribute ${attributeName}: ${error.message}.`, [
        { pointer: at, message: error.message },
      ])
    }
  }

  private contextAt(pointer: string): DefineContext {
    return {
      resolveClass: (text) => this.drafts.resolve(text, pointer),
      resolveAttribute: (classNumber, name) => {
        const cls = this.drafts.get(classNumber)
        const attribute = this.drafts.findAttribute(cls, name)
        if (attribute !== undefined) return attribute.number
        const hint = hintFor(
          name,
          allAttributes(cls).map((known) => known.name),
        )
        throw new AshlarError('UnknownAttribute', `Class ${cls.name} has no attribute '${name.slice(0, 60)}'.${hint}`, [
          { pointer: `${pointer}/inverseAttribute`, message: `is not an attribute of ${cls.name}` },
        ])
      },
    }
  }
}

function toDefinition(draft: ClassDraft, shapeNumber: ShapeNumber): ClassDefinition {
  return {
    number: draft.number,
    name: draft.name,
    isReferenceable: draft.isReferenceable,
    isDeleted: false,
    superClass: draft.superClass?.number ?? null,
    shapeNumber,
    attributes: draft.attributes as Attribute[],
  }
}

function toShape(draft: ClassDraft, number: ShapeNumber): Shape {
  const attributes = allAttributes(draft).map(({ number: attribute, spec }) => ({
    number: attribute,
    spec: spec as TypeSpec,
  }))
  return { number, classNumber: draft.number, attributes }
}

function invalid(message: string, pointer: string): AshlarError {
  return new AshlarError('InvalidDefinition', message, [{ pointer, message }])
}
