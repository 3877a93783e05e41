/** Evaluates a caller's grants for the classes of one catalog: which classes, attributes and objects exist for the caller. */
import type { Catalog, ClassAttribute, DatabaseAction, SchemaClass } from '../schema/catalog.ts'
import type { Attribute } from '../schema/class-definition.ts'
import { attributesNamed, isDefaultExpression, isExpression, type SchemaExpression } from '../schema/expression.ts'
import { namespaceOf } from '../schema/names.ts'
import { isRootClass } from '../schema/root-class.ts'
import type { AttributeNumber, ClassNumber, ReferenceSpec, TypeSpec } from '../types/type-spec.ts'
import { type AccessAction, coversEverything, type Grant, type GrantScope, type RuledAction } from './access-policy.ts'

/** A rule, and the class whose attributes its names refer to. */
export interface ClassRule {
  readonly text: string
  readonly cls: SchemaClass
}

/** Every object of the class, none, or the objects that match one of the rules. */
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

  /** Access of the same grants to another catalog. */
  under(catalog: Catalog): ClassAccess {
    return new ClassAccess(catalog, this.grants)
  }

  /** A subclass has the grants of its superclasses, and perhaps more, so that it is never hidden where they are visible. */
  grantsOn(cls: SchemaClass): readonly Grant[] {
    let found = this.covering.get(cls.number)
    if (found === undefined) {
      found = this.grants.filter((grant) => coveringClass(grant, cls) !== undefined)
      this.covering.set(cls.number, found)
    }
    return found
  }

  /** Whether a grant applies to the class. */
  isGranted(cls: SchemaClass): boolean {
    return this.grantsOn(cls).length > 0
  }

  /** Whether the action is allowed on some of its objects. */
  allows(cls: SchemaClass, action: AccessAction): boolean {
    return this.grantsOn(cls).some(({ actions }) => actions.includes(action))
  }

  /** Whether one grant covers all classes and hides nothing; required for everything that belongs to no class. */
  allowsOnDatabase(action: DatabaseAction): boolean {
    return this.grants.some((grant) => {
      return coversEverything(grant) && databaseActions[action].every((each) => grant.actions.includes(each))
    })
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

  /** Whether a reference to objects of the class may refer to a hidden one. */
  mayNameHidden(referencedClass: ClassNumber): boolean {
    let isGuarded = this.guarded.get(referencedClass)
    if (isGuarded === undefined) {
      const targets = this.targetsOf(referencedClass)
      isGuarded = targets === undefined || targets.some((target) => this.objects(target, 'read') !== 'all')
      this.guarded.set(referencedClass, isGuarded)
    }
    return isGuarded
  }

  /** Whether it may refer to an object whose visibility depends on a rule. */
  mayNameRuled(referencedClass: ClassNumber): boolean {
    return (this.targetsOf(referencedClass) ?? []).some((target) => typeof this.objects(target, 'read') !== 'string')
  }

  /** Classes of the objects that a reference may refer to. */
  private targetsOf(referencedClass: ClassNumber): readonly SchemaClass[] | undefined {
    const cls = this.catalog.classByNumber(referencedClass)
    if (cls === undefined) return undefined
    return isRootClass(cls) ? cls.subclasses : [cls, ...cls.subclasses]
  }

  /** Numbers of the class's attributes that are visible to the caller. */
  attributesOf(cls: SchemaClass): ReadonlySet<AttributeNumber> {
    let numbers = this.visible.get(cls.number)
    if (numbers === undefined) {
      const visibleAttributes = cls.attributes.filter((attribute) => this.isVisible(cls, attribute))
      numbers = new Set(visibleAttributes.map(({ number }) => number))
      this.visible.set(cls.number, numbers)
    }
    return numbers
  }

  /** The attributes that a grant with the action neither hides nor makes read-only; for an embedded class, any grant if none has the action. */
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
      const visibleNumbers = this.attributesOf(cls)
      numbers = new Set(written.map(({ number }) => number).filter((number) => visibleNumbers.has(number)))
      this.writable.set(name, numbers)
    }
    return numbers
  }

  private isVisible(cls: SchemaClass, attribute: ClassAttribute): boolean {
    return this.isReadable(cls, attribute) && this.namesOnlyVisible(cls, ...expressionsOf(attribute))
  }

  /** Regardless of its expressions. */
  private isReadable(cls: SchemaClass, attribute: ClassAttribute): boolean {
    return (
      this.isExposed(cls, attribute.name) &&
      referencesOf(attribute.spec).every((spec) => this.isReferenceExposed(attribute, spec))
    )
  }

  /** Whether the caller knows all that the expressions of the class name: values that they give would reveal the attributes. */
  namesOnlyVisible(cls: SchemaClass, ...expressions: readonly SchemaExpression[]): boolean {
    const seen = new Set<AttributeNumber>()
    const open = expressions.map((expression) => ({ cls, expression }))
    for (const { cls: owner, expression } of open) {
      for (const number of attributesNamed(expression)) {
        if (seen.has(number)) continue
        seen.add(number)
        const holder = owner.attributes.some((one) => one.number === number) ? owner : this.declaring.get(number)
        const named = holder?.attributes.find((one) => one.number === number)
        if (holder === undefined || named === undefined || !this.isReadable(holder, named)) return false
        open.push(...expressionsOf(named).map((inner) => ({ cls: holder, expression: inner })))
      }
    }
    return true
  }

  /** Whether a dropped attribute would be visible by its last name. False for link attributes, since the name of the inverse is unknown. */
  isDroppedVisible(cls: SchemaClass, { name, spec }: Attribute): boolean {
    const references = referencesOf(spec)
    return (
      this.isExposed(cls, name) &&
      references.every(
        ({ referencedClass, inverseAttribute }) =>
          inverseAttribute === null && this.referencedAs(referencedClass) !== undefined,
      )
    )
  }

  /** Decided by the grants that allow to read the class, or else by any. Embedded classes without a grant are visible. */
  private isExposed(cls: SchemaClass, name: string): boolean {
    const grants = this.grantsOn(cls)
    if (grants.length === 0) return !cls.isReferenceable
    const reading = grants.filter(({ actions }) => actions.includes('read'))
    return (reading.length === 0 ? grants : reading).some((grant) => isExposedBy(grant, name))
  }

  /** A link is only visible from both sides, and a reference only if some class of its targets is granted. */
  private isReferenceExposed(attribute: ClassAttribute, { referencedClass, inverseAttribute }: ReferenceSpec): boolean {
    if (inverseAttribute !== null && !(this.isDeclared(attribute.number) && this.isDeclared(inverseAttribute)))
      return false
    return this.referencedAs(referencedClass) !== undefined
  }

  /** Whether the attribute is visible in the class that declares it. */
  private isDeclared(number: AttributeNumber): boolean {
    const cls = this.declaring.get(number)
    const name = this.catalog.attribute(number)?.name
    return cls !== undefined && name !== undefined && this.isExposed(cls, name)
  }

  /** The class that the caller sees as the target of references: the root if only subclasses are granted; undefined if none is. */
  referencedAs(number: ClassNumber): ClassNumber | undefined {
    const cls = this.catalog.classByNumber(number)
    if (cls === undefined) return undefined
    if (isRootClass(cls) || this.isGranted(cls)) return number
    return cls.subclasses.some((subclass) => this.isGranted(subclass)) ? this.catalog.root.number : undefined
  }
}

const databaseActions: Readonly<Record<DatabaseAction, readonly AccessAction[]>> = {
  write: ['create', 'update', 'delete'],
  define: ['define', 'index'],
}

function expressionsOf({ properties, spec }: ClassAttribute): SchemaExpression[] {
  const { computed, default: initial, onUpdate } = properties?.own ?? {}
  const values = [computed, isDefaultExpression(initial, spec) ? initial : undefined, onUpdate]
  return values.filter((value) => isExpression(value))
}

function isExposedBy({ shown, hidden = [] }: Grant, name: string): boolean {
  return (shown === undefined || shown.includes(name)) && !hidden.includes(name)
}

function isWritableBy(grant: Grant, name: string): boolean {
  return isExposedBy(grant, name) && grant.readOnly?.includes(name) !== true
}

/** The class that the grant applies through, to which names in its rules refer: the class itself, unless the grant names a class. */
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

/** References in values of the type, excluding those within embedded objects. */
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
