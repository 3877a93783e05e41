/** A view of the schema for completion and \d. */
import type { AttributeDefinition, ClassRepresentation, IndexRecord, TypeDefinition } from '@ashlar/client'

export interface AttributeEntry {
  readonly attribute: AttributeDefinition
  /** The declaring class, which may be a superclass. */
  readonly className: string
}

export class SchemaView {
  /** Sorted by name, without internal classes. */
  readonly classes: readonly ClassRepresentation[]
  readonly indexes: readonly IndexRecord[]
  private readonly byName: ReadonlyMap<string, ClassRepresentation>
  private readonly bySimpleName: ReadonlyMap<string, readonly ClassRepresentation[]>

  constructor(classes: readonly ClassRepresentation[], indexes: readonly IndexRecord[]) {
    this.classes = classes
      .filter(({ isInternal, isDeleted }) => !isInternal && !isDeleted)
      .sort((one, other) => (one.className < other.className ? -1 : 1))
    this.indexes = indexes
    this.byName = new Map(this.classes.map((cls) => [cls.className, cls]))
    const bySimpleName = new Map<string, ClassRepresentation[]>()
    for (const cls of this.classes) {
      const name = simpleName(cls.className)
      const same = bySimpleName.get(name)
      if (same === undefined) bySimpleName.set(name, [cls])
      else same.push(cls)
    }
    this.bySimpleName = bySimpleName
  }

  /** Finds a class by its full name, or by its simple name if that is unique, also in the plural with `s`. */
  classNamed(name: string): ClassRepresentation | undefined {
    return (
      this.byName.get(name) ??
      this.onlyOne(name) ??
      (name.endsWith('s') ? this.classNamed(name.slice(0, -1)) : undefined)
    )
  }

  private onlyOne(name: string): ClassRepresentation | undefined {
    const found = this.bySimpleName.get(name) ?? []
    return found.length === 1 ? found[0] : undefined
  }

  /** Names of classes: the simple name if it is unique, and the full name. */
  get classNames(): string[] {
    return this.classes.flatMap(({ className }) => {
      const simple = simpleName(className)
      return simple === className || this.onlyOne(simple) === undefined ? [className] : [simple, className]
    })
  }

  /** Returns the class and its superclasses, from bottom to top. */
  lineOf(cls: ClassRepresentation): ClassRepresentation[] {
    const line: ClassRepresentation[] = []
    for (let at: ClassRepresentation | undefined = cls; at !== undefined && !line.includes(at); ) {
      line.push(at)
      at = at.superClass === null ? undefined : this.byName.get(at.superClass)
    }
    return line
  }

  /** Returns visible attributes in display order, with inherited ones first. */
  attributesOf(cls: ClassRepresentation): AttributeEntry[] {
    const line = this.lineOf(cls)
    const all = line
      .toReversed()
      .flatMap(({ className, attributes }) => attributes.map((attribute) => ({ attribute, className })))
    const last = new Map(all.map((entry) => [entry.attribute.attributeName, entry]))
    return all.filter((entry) => last.get(entry.attribute.attributeName) === entry)
  }

  attributeOf(cls: ClassRepresentation, name: string): AttributeDefinition | undefined {
    return this.attributesOf(cls).find(({ attribute }) => attribute.attributeName === name)?.attribute
  }

  subclassesOf({ className }: ClassRepresentation): ClassRepresentation[] {
    return this.classes.filter(({ superClass }) => superClass === className)
  }

  /** Returns the class that the attribute or its elements refer to or embed. */
  classBehind(type: TypeDefinition): ClassRepresentation | undefined {
    const { referencedClass, edgeClass, class: embedded, elementSpecification } = type
    const name = referencedClass ?? edgeClass ?? embedded
    if (name !== undefined) return this.byName.get(name)
    return elementSpecification === undefined ? undefined : this.classBehind(elementSpecification)
  }
}

function simpleName(className: string): string {
  return className.slice(className.lastIndexOf('.') + 1)
}
