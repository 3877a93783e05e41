/** The classes of a batch while they are being defined, together with existing classes. */
import { AshlarError, type CommandPlace, truncateForMessage } from '../errors.ts'
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'
import type { ClassDefinition, ClassValidation, IndexNumber, PendingCheck, PendingType } from './class-definition.ts'
import { didYouMean, simpleNameOf } from './names.ts'
import type { ClassProperties } from './properties/class-properties.ts'
import type { PropertiesOfAttribute } from './properties/index.ts'
import { rootClassName, rootClassNumber, rootDefinition } from './root-class.ts'

export interface DraftAttribute {
  readonly number: AttributeNumber
  readonly name: string
  /** Undefined until the types of the batch are defined. */
  spec: TypeSpec | undefined
  properties?: PropertiesOfAttribute | undefined
  /** See `Attribute`. */
  readonly referrers?: IndexNumber | undefined
  /** The place in the batch; undefined for an attribute that it does not list. */
  place: CommandPlace | undefined
  /** A type change in progress. */
  readonly pendingType?: PendingType | undefined
  /** Set if its type changes to this one and stored values are converted by rules other than those of the first versions. */
  readonly conversion?: 'strict' | undefined
  /** Set if its stored values become obsolete. */
  isRecomputed?: true
}

export interface ClassDraft {
  readonly number: ClassNumber
  readonly name: string
  isReferenceable: boolean
  superClass: ClassDraft | null
  properties: ClassProperties | undefined
  /** Own attributes by name, in schema order. */
  readonly attributes: Map<string, DraftAttribute>
  /** See `ClassDefinition`. */
  arriving: readonly DraftAttribute[]
  /** See `ClassDefinition`. */
  pendingChecks: readonly PendingCheck[]
  /** Of a change under way. */
  readonly validation: ClassValidation | undefined
  /** The present class; undefined for a new one. */
  readonly existing: ClassDefinition | undefined
  /** Set when attributes are added, deleted or retyped, or the kind changes: the class and its subclasses need new shapes. */
  needsNewShape: boolean
  /** Names or properties change, which all shapes share. */
  isRedefined: boolean
  /** The names of checks that stored objects may violate and must not. */
  readonly newChecks: string[]
  /** The place in the batch; undefined for a class that it does not describe. */
  place: CommandPlace | undefined
}

/** `ooObj`, a valid target of references and superclass, which never changes. */
const rootDraft: ClassDraft = {
  number: rootClassNumber,
  name: rootClassName,
  isReferenceable: true,
  superClass: null,
  properties: undefined,
  attributes: new Map(),
  arriving: [],
  pendingChecks: [],
  validation: undefined,
  existing: rootDefinition,
  needsNewShape: false,
  isRedefined: false,
  newChecks: [],
  place: undefined,
}

export class SchemaBuilder {
  private readonly byNumber = new Map<ClassNumber, ClassDraft>()
  private readonly byName = new Map<string, ClassDraft>()
  private readonly byAttribute = new Map<AttributeNumber, { owner: ClassDraft; attribute: DraftAttribute }>()

  constructor(catalog: Catalog) {
    for (const { definition } of catalog.classes) {
      const draft: ClassDraft = {
        number: definition.number,
        name: definition.name,
        isReferenceable: definition.isReferenceable,
        superClass: null,
        properties: definition.properties,
        attributes: new Map(),
        arriving: (definition.arriving ?? []).map((attribute) => ({ ...attribute, place: undefined })),
        pendingChecks: definition.pendingChecks ?? [],
        validation: definition.validation?.session === undefined ? undefined : definition.validation,
        existing: definition,
        needsNewShape: false,
        isRedefined: false,
        newChecks: [],
        place: undefined,
      }
      this.add(draft)
      for (const { becoming: pendingType, ...attribute } of definition.attributes) {
        this.addAttribute(draft, { ...attribute, place: undefined, pendingType })
      }
    }
    for (const { definition } of catalog.classes) {
      if (definition.superClass !== null) this.get(definition.number).superClass = this.get(definition.superClass)
    }
  }

  add(draft: ClassDraft): void {
    this.byNumber.set(draft.number, draft)
    this.byName.set(draft.name, draft)
  }

  addAttribute(owner: ClassDraft, attribute: DraftAttribute): void {
    owner.attributes.set(attribute.name, attribute)
    this.byAttribute.set(attribute.number, { owner, attribute })
  }

  removeAttribute(owner: ClassDraft, attribute: DraftAttribute): void {
    owner.attributes.delete(attribute.name)
    this.byAttribute.delete(attribute.number)
    owner.needsNewShape = true
  }

  /** The replacement takes the position of the original among the attributes. */
  replaceAttribute(owner: ClassDraft, attribute: DraftAttribute, other: DraftAttribute): void {
    const all = [...owner.attributes.values()].map((one) => (one === attribute ? other : one))
    owner.attributes.clear()
    for (const one of all) owner.attributes.set(one.name, one)
    this.byAttribute.delete(attribute.number)
    this.byAttribute.set(other.number, { owner, attribute: other })
  }

  all(): IterableIterator<ClassDraft> {
    return this.byNumber.values()
  }

  /** By full name or class number in digits. */
  find(text: string): ClassDraft | undefined {
    return /^\d{1,15}$/.test(text) ? this.byNumber.get(Number(text) as ClassNumber) : this.byName.get(text)
  }

  get(number: ClassNumber): ClassDraft {
    return number === rootClassNumber ? rootDraft : (this.byNumber.get(number) as ClassDraft)
  }

  /** `what`: the class or attribute that refers to it. Throws UnknownClass. */
  resolve(text: string, what: string, place: CommandPlace): ClassDraft {
    const found = this.find(text)
    if (found !== undefined) return found
    if (text === rootClassName) return rootDraft
    const hint = didYouMean(text, [...this.byName.keys()])
    throw new AshlarError('UnknownClass', `${what}: there is no class '${truncateForMessage(text)}'.${hint}`, [
      { place, message: 'is not a class' },
    ])
  }

  /**
   * The nearest declaration of the name, own or inherited; for `Super::name`, the one in the superclass of that full name or in
   * the nearest superclass of that simple name.
   */
  findAttribute(cls: ClassDraft, name: string): DraftAttribute | undefined {
    const separator = name.lastIndexOf('::')
    if (separator >= 0) {
      const [above, lineage] = [name.slice(0, separator), selfAndAncestors(cls)]
      const from = lineage.find((one) => one.name === above) ?? lineage.find((one) => simpleNameOf(one.name) === above)
      return from === undefined ? undefined : this.findAttribute(from, name.slice(separator + 2))
    }
    for (let at: ClassDraft | null = cls; at !== null; at = at.superClass) {
      const own = at.attributes.get(name)
      if (own !== undefined) return own
    }
    return undefined
  }

  /** The attribute and the class that declares it. */
  declared(number: AttributeNumber): { readonly owner: ClassDraft; readonly attribute: DraftAttribute } | undefined {
    return this.byAttribute.get(number)
  }
}

/** The class itself first, then its superclasses, nearest first. */
export function selfAndAncestors(draft: ClassDraft): ClassDraft[] {
  const lineage: ClassDraft[] = []
  for (let at: ClassDraft | null = draft; at !== null; at = at.superClass) lineage.push(at)
  return lineage
}

/** The number of attributes, including inherited ones. */
export function countAttributes(draft: ClassDraft): number {
  let count = 0
  for (let at: ClassDraft | null = draft; at !== null; at = at.superClass) count += at.attributes.size
  return count
}

/** The attributes in records of the class: inherited ones first, including those not yet visible to readers. */
export function storedAttributes(draft: ClassDraft): DraftAttribute[] {
  return selfAndAncestors(draft)
    .reverse()
    .flatMap(({ attributes, arriving }) => [...attributes.values(), ...arriving])
}

/** Inherited ones first. */
export function allAttributes(draft: ClassDraft): DraftAttribute[] {
  return selfAndAncestors(draft)
    .reverse()
    .flatMap(({ attributes }) => [...attributes.values()])
}

/** Whether the batch makes an embeddable class referenceable. */
export function isConverted(draft: ClassDraft): boolean {
  return draft.isReferenceable && draft.existing?.isReferenceable === false
}

/** The reference in the type, or in the type of the elements of a list or set. */
export function referenceIn(spec: TypeSpec | undefined): ReferenceSpec | undefined {
  if (spec?.logicalType === 'reference') return spec
  if (spec?.logicalType === 'set') return spec.element
  if (spec?.logicalType === 'list' && spec.element.logicalType === 'reference') return spec.element
  return undefined
}
