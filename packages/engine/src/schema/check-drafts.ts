/** What must hold of all classes together once a batch is defined (REST interface, sections 4 and 5). */
import { AshlarError } from '../errors.ts'
import type { ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import { allAttributes, type ClassDraft, type DraftAttribute, type Drafts } from './class-draft.ts'

function invalid(message: string): AshlarError {
  return new AshlarError('InvalidDefinition', message)
}

/** No class inherits from itself. Must hold before anything walks up the superclasses. */
export function checkInheritance(drafts: Drafts): void {
  for (const draft of drafts.all()) {
    const seen = new Set<ClassDraft>()
    for (let at: ClassDraft | null = draft; at !== null; at = at.superClass) {
      if (seen.has(at)) throw invalid(`Class ${draft.name} inherits from itself.`)
      seen.add(at)
    }
  }
}

/** A superclass is of the same kind. */
export function checkKinds(drafts: Drafts): void {
  for (const { name, isReferenceable, superClass } of drafts.all()) {
    if (superClass === null || superClass.isReferenceable === isReferenceable) continue
    throw invalid(
      `Class ${name} is ${kindOf(isReferenceable)}, but its superclass ${superClass.name} is ${kindOf(superClass.isReferenceable)}.`,
    )
  }
}

/** A class that becomes referenceable is embedded nowhere. Throws ClassIsEmbedded. */
export function checkNotEmbedded(drafts: Drafts, converted: ClassDraft): void {
  for (const { name, attributes } of drafts.all()) {
    for (const attribute of attributes) {
      if (embeddedBy(attribute.spec) !== converted.number) continue
      throw new AshlarError(
        'ClassIsEmbedded',
        `Class ${converted.name} cannot become referenceable: attribute ${attribute.name} of class ${name} embeds it.`,
      )
    }
  }
}

/** No class embeds itself, directly or through others, inherited attributes included. */
export function checkEmbedding(drafts: Drafts): void {
  const done = new Set<ClassDraft>()
  const visit = (draft: ClassDraft, path: readonly ClassDraft[]): void => {
    if (path.includes(draft)) {
      throw invalid(`Class ${draft.name} embeds itself: ${[...path, draft].map(({ name }) => name).join(' → ')}.`)
    }
    if (done.has(draft)) return
    for (const { spec } of allAttributes(draft)) {
      const embedded = embeddedBy(spec)
      if (embedded !== undefined) visit(drafts.get(embedded), [...path, draft])
    }
    done.add(draft)
  }
  for (const draft of drafts.all()) visit(draft, [])
}

/** Both sides of a bidirectional link name each other, and each refers to just the class that declares the other. */
export function checkInverses(drafts: Drafts, owner: ClassDraft, attribute: DraftAttribute): void {
  const spec = referenceIn(attribute.spec)
  if (spec === undefined || spec.inverseAttribute === null) return
  const what = `Class ${owner.name}, attribute ${attribute.name}`
  if (!owner.isReferenceable) {
    throw invalid(`${what}: an embeddable class has no bidirectional links, since nothing can refer to its objects.`)
  }
  const partnerClass = drafts.declaring(spec.inverseAttribute)
  const partner = partnerClass?.attributes.find(({ number }) => number === spec.inverseAttribute)
  if (partnerClass === undefined || partner === undefined)
    throw invalid(`${what}: its inverse attribute does not exist.`)
  const back = referenceIn(partner.spec)
  const there = `attribute ${partner.name} of class ${partnerClass.name}`
  if (back === undefined) throw invalid(`${what}: its inverse, ${there}, is no reference, list or set of references.`)
  if (back.inverseAttribute !== attribute.number) {
    throw invalid(`${what}: its inverse, ${there}, does not name it as inverse in turn.`)
  }
  if (spec.referencedClass !== partnerClass.number) {
    const referenced = drafts.get(spec.referencedClass).name
    throw invalid(
      `${what} refers to ${referenced}, but its inverse ${partner.name} is declared by ${partnerClass.name}; the two must be the same class.`,
    )
  }
  if (back.referencedClass !== owner.number) {
    const referenced = drafts.get(back.referencedClass).name
    throw invalid(`${what}: its inverse, ${there}, refers to ${referenced}, not to ${owner.name}.`)
  }
}

/** Throws LimitExceeded. */
export function checkAttributeCount(draft: ClassDraft, attributesMax: number): void {
  const count = allAttributes(draft).length
  if (count <= attributesMax) return
  throw new AshlarError(
    'LimitExceeded',
    `Class ${draft.name} would have ${count} attributes, inherited ones included; the limit is ${attributesMax}.`,
  )
}

/** The class that values of the type embed, alone or as elements. */
function embeddedBy(spec: TypeSpec | undefined): ClassNumber | undefined {
  if (spec?.logicalType === 'object') return spec.class
  return spec?.logicalType === 'list' && spec.element.logicalType === 'object' ? spec.element.class : undefined
}

function referenceIn(spec: TypeSpec | undefined): ReferenceSpec | undefined {
  if (spec?.logicalType === 'reference') return spec
  if (spec?.logicalType === 'set') return spec.element
  if (spec?.logicalType === 'list' && spec.element.logicalType === 'reference') return spec.element
  return undefined
}

function kindOf(isReferenceable: boolean): string {
  return isReferenceable ? 'referenceable' : 'embeddable'
}
