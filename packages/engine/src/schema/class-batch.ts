/** Enters a batch of class descriptions into drafts: classes first, then superclasses, attributes, and their types. */
import { AshlarError } from '../errors.ts'
import type { AttributeNumber, ClassNumber, TypeSpec } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'
import type { AttributeDescription, ClassDescription } from './class-description.ts'
import { type ClassDraft, type DraftAttribute, Drafts } from './class-draft.ts'
import { checkSameDefinition, defineAttribute } from './define-attribute.ts'
import { checkAttributeName, checkClassName } from './names.ts'
import { fault } from './request-body.ts'
import { isRootClass } from './root-class.ts'

/** `create`: every class is new, else ClassExists. */
export type DefineMode = 'create' | 'createOrExtend'

export interface EnteredAttribute {
  readonly description: AttributeDescription
  readonly attribute: DraftAttribute
  /** Set where the class has the attribute already: the definition must then be the same. */
  readonly present: TypeSpec | undefined
}

export class ClassBatch {
  readonly drafts: Drafts
  /** The next numbers to give out. */
  nextNumber: number
  nextAttribute: number

  constructor(catalog: Catalog) {
    this.drafts = new Drafts(catalog)
    this.nextNumber = catalog.state.counters.classOrShape
    this.nextAttribute = catalog.state.counters.attribute
  }

  /** The class that a description is of: an existing one, or a new draft. */
  enter(description: ClassDescription, mode: DefineMode): ClassDraft {
    const { pointer } = description
    const draft = this.findExisting(description) ?? this.addNew(description)
    if (draft.pointer !== undefined) {
      throw fault('InvalidDefinition', `Class ${draft.name} is described twice in one batch.`, pointer)
    }
    draft.pointer = pointer
    if (draft.existing === undefined) return draft
    if (mode === 'create') {
      throw new AshlarError('ClassExists', `Class ${draft.name} already exists.`, [
        { pointer: `${pointer}/className`, message: 'already exists' },
      ])
    }
    changeKind(draft, description)
    return draft
  }

  /** A new class takes its superclass; an existing one must have it already. */
  placeBelowSuperClass(draft: ClassDraft, { superClass, pointer }: ClassDescription): void {
    if (superClass === undefined || superClass === null) return
    const named = this.drafts.resolve(superClass, `Class ${draft.name}, superclass`, `${pointer}/superClass`)
    if (isRootClass(named) && !draft.isReferenceable) {
      const message = `Class ${draft.name} is embeddable, and ${named.name} is the root of the referenceable classes.`
      throw fault('InvalidDefinition', message, `${pointer}/superClass`)
    }
    // Below the root a class has no superclass.
    const above = isRootClass(named) ? null : named
    if (draft.existing === undefined) {
      draft.superClass = above
      return
    }
    if (draft.superClass === above) return
    throw new AshlarError(
      'SuperClassMismatch',
      `The direct superclass of class ${draft.name} is ${draft.superClass?.name ?? 'none'}, not ${named.name}.`,
      [{ pointer: `${pointer}/superClass`, message: 'is not the direct superclass' }],
    )
  }

  /** Gives new attributes their numbers, before any type is defined: types refer to attributes of the same batch. */
  enterAttributes(draft: ClassDraft, description: ClassDescription, attributesMax: number): EnteredAttribute[] {
    const count = description.attributes.length
    if (count > attributesMax) {
      throw fault(
        'LimitExceeded',
        `Class ${draft.name}: ${count} attributes are described; the limit is ${attributesMax} (classAttributesMax).`,
        `${description.pointer}/attributes`,
      )
    }
    return description.attributes.map((attribute) => this.enterAttribute(draft, attribute))
  }

  defineTypes(draft: ClassDraft, entered: readonly EnteredAttribute[]): void {
    for (const { description, attribute, present } of entered) {
      const spec = defineAttribute(this.drafts, draft, description)
      if (present === undefined) attribute.spec = spec
      else checkSameDefinition(this.drafts, draft, description, present, spec)
    }
  }

  private enterAttribute(draft: ClassDraft, description: AttributeDescription): EnteredAttribute {
    const { attributeName, pointer } = description
    const own = draft.attributes.get(attributeName)
    if (own?.pointer !== undefined) {
      throw fault(
        'InvalidDefinition',
        `Class ${draft.name}: attribute ${attributeName} is described twice.`,
        `${pointer}/attributeName`,
      )
    }
    if (own !== undefined) {
      own.pointer = pointer
      return { description, attribute: own, present: own.spec }
    }
    checkAttributeName(draft.name, attributeName, `${pointer}/attributeName`)
    const number = this.nextAttribute++ as AttributeNumber
    const added: DraftAttribute = { number, name: attributeName, spec: undefined, pointer }
    this.drafts.addAttribute(draft, added)
    draft.isReshaped = true
    return { description, attribute: added, present: undefined }
  }

  /** Undefined for a name that no class has yet. Throws UnknownClass for such a number. */
  private findExisting({ className, classNumber, pointer }: ClassDescription): ClassDraft | undefined {
    if (classNumber !== undefined) return this.drafts.resolve(classNumber, 'classNumber', `${pointer}/classNumber`)
    if (className === undefined) return undefined
    if (/^\d+$/.test(className)) return this.drafts.resolve(className, 'className', `${pointer}/className`)
    return this.drafts.find(className)
  }

  private addNew({ className, isReferenceable, pointer }: ClassDescription): ClassDraft {
    const name = className as string
    checkClassName(name, `${pointer}/className`)
    if (isReferenceable === undefined) {
      throw fault('InvalidDefinition', `Class ${name} is new: isReferenceable is needed.`, `${pointer}/isReferenceable`)
    }
    const draft: ClassDraft = {
      number: this.nextNumber++ as ClassNumber,
      name,
      isReferenceable,
      superClass: null,
      attributes: new Map(),
      existing: undefined,
      isReshaped: true,
      pointer: undefined,
    }
    this.drafts.add(draft)
    return draft
  }
}

function changeKind(draft: ClassDraft, { isReferenceable, pointer }: ClassDescription): void {
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
