/** What the grants of a caller come to for each class of one catalog: what of it exists for the caller. */
import type { Catalog, ClassAttribute, SchemaClass } from '../schema/catalog.ts'
import type { Attribute } from '../schema/class-definition.ts'
import { attributesNamed, isExpression, type SchemaExpression } from '../schema/expression.ts'
import { namespaceOf } from '../schema/names.ts'
import { isRootClass } from '../schema/root-class.ts'
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import type { AccessAction, Grant, GrantScope, RuledAction } from './access-policy.ts'

/** A rule, and the class whose attributes its names mean. */
export interface ClassRule {
  readonly text: string
  readonly cls: SchemaClass
}

/** Every object of the class, none, or those for which one of the rules holds. */
export type ObjectsAllowed = 'all' | 'none' | readonly ClassRule[]

export class ClassAccess {
  readonly catalog: Catalog
  private readonly grants: readonly Grant[]
  private readonly covering = new Map<ClassNumber, readonly Grant[]>()
  private readonly allowed = new Map<string, ObjectsAllowed>()
  private readonly guarded = new Map<ClassNumber, boolean>()
  private readonly visible = new Map<ClassNumber, ReadonlySet<AttributeNumber>>()
  private readonly writable = new Map<string, ReadonlySet<AttributeNumber>>()
  private readonly declaring: ReadonlyMap<AttributeNumber, SchemaClass>

  constructor(catalog: Catalog, grants: readonly Grant[]) {
    this.catalog = catalog
    this.grants = grants
    const declaring = new Map<AttributeNumber, SchemaClass>()
    for (const cls of catalog.classes) {
      for (const { number } of cls.definition.attributes) declaring.set(number, cls)
    }
    this.declaring = declaring
  }

  /** What the same grants come to under another catalog. */
  under(catalog: Catalog): ClassAccess {
    return new ClassAccess(catalog, this.grants)
  }

  /** A subclass has the grants of its superclasses, and perhaps more: so it is never hidden where they are seen. */
  grantsOn(cls: SchemaClass): readonly Grant[] {
    let found = this.covering.get(cls.number)
    if (found === undefined) {
      found = this.grants.filter((grant) => coveringClass(grant, cls) !== undefined)
      this.covering.set(cls.number, found)
    }
    return found
  }

  /** Whether the caller knows the class by a grant of its own. */
  isGranted(cls: SchemaClass): boolean {
    return this.grantsOn(cls).length > 0
  }

  /** Whether some of its objects may have that done to them. */
  allows(cls: SchemaClass, action: AccessAction): boolean {
    return this.grantsOn(cls).some(({ actions }) => actions.includes(action))
  }

  objects(cls: SchemaClass, action: RuledAction): ObjectsAllowed {
    const name = `${action} ${cls.number}`
    let allowed = this.allowed.get(name)
    if (allowed === undefined) {
      allowed = this.objectsBy(cls, action)
      this.allowed.set(name, allowed)
    }
    return allowed
  }

  private objectsBy(cls: SchemaClass, action: RuledAction): ObjectsAllowed {
    const grants = this.grantsOn(cls).filter(({ actions }) => actions.includes(action))
    if (grants.length === 0) return 'none'
    const rules: ClassRule[] = []
    for (const grant of grants) {
      const text = grant.rules?.[action]
      if (text === undefined) return 'all'
      rules.push({ text, cls: coveringClass(grant, cls) as SchemaClass })
    }
    return rules
  }

  /** Whether a reference to objects of the class may name one that is hidden. */
  mayNameHidden(referencedClass: ClassNumber): boolean {
    let isGuarded = this.guarded.get(referencedClass)
    if (isGuarded === undefined) {
      const targets = this.targetsOf(referencedClass)
      isGuarded = targets === undefined || targets.some((target) => this.objects(target, 'read') !== 'all')
      this.guarded.set(referencedClass, isGuarded)
    }
    return isGuarded
  }

  /** Whether it may name one of which a rule decides whether it is seen. */
  mayNameRuled(referencedClass: ClassNumber): boolean {
    return (this.targetsOf(referencedClass) ?? []).some((target) => typeof this.objects(target, 'read') !== 'string')
  }

  /** The classes of the objects that a reference may name. */
  private targetsOf(referencedClass: ClassNumber): readonly SchemaClass[] | undefined {
    const cls = this.catalog.classByNumber(referencedClass)
    if (cls === undefined) return undefined
    return isRootClass(cls) ? cls.subclasses : [cls, ...cls.subclasses]
  }

  /** The numbers of the attributes of the class that exist for the caller. */
  attributesOf(cls: SchemaClass): ReadonlySet<AttributeNumber> {
    let numbers = this.visible.get(cls.number)
    if (numbers === undefined) {
      const shown = cls.attributes.filter((attribute) => this.isVisible(cls, attribute))
      numbers = new Set(shown.map(({ number }) => number))
      this.visible.set(cls.number, numbers)
    }
    return numbers
  }

  /**
   * The numbers of those that may be given another value: by a grant with that action which neither hides them nor makes them read-only. Of an embedded class, whose
   * objects are changed with those that hold them, a grant without the action counts where none has it.
   */
  writableIn(cls: SchemaClass, action: 'create' | 'update'): ReadonlySet<AttributeNumber> {
    const name = `${action} ${cls.number}`
    let numbers = this.writable.get(name)
    if (numbers === undefined) {
      const all = this.grantsOn(cls)
      const writing = all.filter(({ actions }) => actions.includes(action))
      const grants = writing.length === 0 && !cls.isReferenceable ? all : writing
      const isEmbeddedFreely = all.length === 0 && !cls.isReferenceable
      const written = cls.attributes.filter(
        (attribute) => isEmbeddedFreely || grants.some((grant) => isWritableBy(grant, attribute.name)),
      )
      const shown = this.attributesOf(cls)
      numbers = new Set(written.map(({ number }) => number).filter((number) => shown.has(number)))
      this.writable.set(name, numbers)
    }
    return numbers
  }

  private isVisible(cls: SchemaClass, attribute: ClassAttribute): boolean {
    return (
      this.isShown(cls, attribute.name) &&
      referencesOf(attribute.spec).every((spec) => this.isKnown(attribute, spec)) &&
      this.isComputedOfShown(cls, attribute)
    )
  }

  /** What a computed attribute is made of would be told by its values. */
  private isComputedOfShown(cls: SchemaClass, { properties }: ClassAttribute): boolean {
    const computed = properties?.own.computed
    return !isExpression(computed) || this.isOfShown(cls, computed)
  }

  /** Whether the caller knows all that the expression of the class names. */
  isOfShown(cls: SchemaClass, expression: SchemaExpression): boolean {
    return attributesNamed(expression).every((number) => {
      const own = cls.attributes.find((one) => one.number === number)
      return own === undefined ? this.isDeclared(number) : this.isVisible(cls, own)
    })
  }

  /**
   * Whether the caller would know an attribute that the class no longer has, by the grants of now and the name that it had. Not one side of a link:
   * what the other side was called nobody can say.
   */
  hasShown(cls: SchemaClass, { name, spec }: Attribute): boolean {
    const references = referencesOf(spec)
    return (
      this.isShown(cls, name) &&
      references.every(
        ({ referencedClass, inverseAttribute }) =>
          inverseAttribute === null && this.referencedAs(referencedClass) !== undefined,
      )
    )
  }

  /** By one of the grants that read the class; where none does, by any. What is embedded without a grant of its own is shown. */
  private isShown(cls: SchemaClass, name: string): boolean {
    const grants = this.grantsOn(cls)
    if (grants.length === 0) return !cls.isReferenceable
    const reading = grants.filter(({ actions }) => actions.includes('read'))
    return (reading.length === 0 ? grants : reading).some((grant) => isShownBy(grant, name))
  }

  /** One side of a link is not seen without the other, nor a reference to what nothing is known of. */
  private isKnown(attribute: ClassAttribute, { referencedClass, inverseAttribute }: ReferenceSpec): boolean {
    if (inverseAttribute !== null && !(this.isDeclared(attribute.number) && this.isDeclared(inverseAttribute)))
      return false
    return this.referencedAs(referencedClass) !== undefined
  }

  /** Whether the class that declares the attribute shows it. */
  private isDeclared(number: AttributeNumber): boolean {
    const cls = this.declaring.get(number)
    const name = this.catalog.attribute(number)?.name
    return cls !== undefined && name !== undefined && this.isShown(cls, name)
  }

  /** The class as which the caller knows what a reference names: the root where only subclasses are known; undefined where none is. */
  referencedAs(number: ClassNumber): ClassNumber | undefined {
    const cls = this.catalog.classByNumber(number)
    if (cls === undefined) return undefined
    if (isRootClass(cls) || this.isGranted(cls)) return number
    return cls.subclasses.some((subclass) => this.isGranted(subclass)) ? this.catalog.root.number : undefined
  }
}

function isShownBy({ shown, hidden = [] }: Grant, name: string): boolean {
  return (shown === undefined || shown.includes(name)) && !hidden.includes(name)
}

function isWritableBy(grant: Grant, name: string): boolean {
  return isShownBy(grant, name) && grant.readOnly?.includes(name) !== true
}

/** The class by which the grant is about this one, which the names in its rules mean: it itself, where the grant names no class. */
export function coveringClass({ on, within = [] }: Grant, cls: SchemaClass): SchemaClass | undefined {
  return within.every((scope) => coveringByScope(scope, cls) !== undefined) ? coveringByScope(on, cls) : undefined
}

function coveringByScope(scope: GrantScope, cls: SchemaClass): SchemaClass | undefined {
  if (scope.kind === 'all') return cls
  for (let above: SchemaClass | null = cls; above !== null; above = above.superClass) {
    if (scope.kind === 'class' && above.name === scope.className) return above
    if (scope.kind === 'namespace' && namespaceOf(above.name) === scope.namespace) return cls
  }
  return undefined
}

/** The references that values of the type are, or hold outside of embedded objects. */
export function referencesOf(spec: TypeSpec): readonly ReferenceSpec[] {
  switch (spec.logicalType) {
    case 'reference':
      return [spec]
    case 'list':
      return spec.element.logicalType === 'reference' ? [spec.element] : []
    case 'set':
      return [spec.element]
    case 'map':
      return spec.key.logicalType === 'reference' ? [spec.key, spec.element] : [spec.element]
    default:
      return []
  }
}
