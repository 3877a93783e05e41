/** The classes of a batch while they are being defined, together with those that exist. */
import { AshlarError } from '../errors.ts'
import type { AttributeNumber, ClassNumber, TypeSpec } from '../types/type-spec.ts'
import type { Catalog } from './catalog.ts'
import type { Attribute, ClassDefinition } from './class-definition.ts'
import { hintFor } from './names.ts'

export interface DraftAttribute {
  readonly number: AttributeNumber
  readonly name: string
  /** Undefined until the types of the batch are defined. */
  spec: TypeSpec | undefined
}

export interface ClassDraft {
  readonly number: ClassNumber
  readonly name: string
  isReferenceable: boolean
  superClass: ClassDraft | null
  readonly attributes: DraftAttribute[]
  /** The class as it was; undefined for a new one. */
  readonly existing: ClassDefinition | undefined
  /** True once attributes are added or the kind changes: the class and its subclasses need new shapes. */
  isReshaped: boolean
}

export class Drafts {
  private readonly byNumber = new Map<ClassNumber, ClassDraft>()
  private readonly byName = new Map<string, ClassDraft>()

  constructor(catalog: Catalog) {
    for (const { definition } of catalog.classes) {
      this.add({
        number: definition.number,
        name: definition.name,
        isReferenceable: definition.isReferenceable,
        superClass: null,
        attributes: definition.attributes.map((attribute: Attribute) => ({ ...attribute })),
        existing: definition,
        isReshaped: false,
      })
    }
    for (const { definition } of catalog.classes) {
      if (definition.superClass === null) continue
      const draft = this.byNumber.get(definition.number) as ClassDraft
      draft.superClass = this.byNumber.get(definition.superClass) ?? null
    }
  }

  add(draft: ClassDraft): void {
    this.byNumber.set(draft.number, draft)
    this.byName.set(draft.name, draft)
  }

  all(): ClassDraft[] {
    return [...this.byNumber.values()]
  }

  /** By full name or digits. */
  find(text: string): ClassDraft | undefined {
    return /^\d{1,15}$/.test(text) ? this.byNumber.get(Number(text) as ClassNumber) : this.byName.get(text)
  }

  get(number: ClassNumber): ClassDraft {
    return this.byNumber.get(number) as ClassDraft
  }

  /** Throws UnknownClass. */
  resolve(text: string, pointer: string): ClassDraft {
    const found = this.find(text)
    if (found !== undefined) return found
    throw new AshlarError(
      'UnknownClass',
      `There is no class '${text.slice(0, 60)}'.${hintFor(text, [...this.byName.keys()])}`,
      [{ pointer, message: 'is not a class' }],
    )
  }

  /** The nearest declaration of the name: the class's own, or an inherited one. */
  findAttribute(cls: ClassDraft, name: string): DraftAttribute | undefined {
    for (let at: ClassDraft | null = cls; at !== null; at = at.superClass) {
      const own = at.attributes.find((attribute) => attribute.name === name)
      if (own !== undefined) return own
    }
    return undefined
  }

  /** The class that declares the attribute. */
  declaring(number: AttributeNumber): ClassDraft | undefined {
    return this.all().find(({ attributes }) => attributes.some((attribute) => attribute.number === number))
  }
}

/** Inherited ones first. */
export function allAttributes(draft: ClassDraft): DraftAttribute[] {
  return draft.superClass === null ? draft.attributes : [...allAttributes(draft.superClass), ...draft.attributes]
}
