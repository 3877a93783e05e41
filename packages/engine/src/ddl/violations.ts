/** Counts the stored objects that violate constraints, by constraint, for ObjectsViolateConstraint (contract 10.5). */
import { AshlarError } from '../errors.ts'
import { type EqualKeys, namedOidsMax } from '../indexes/equal-keys.ts'
import type { Attribute } from '../schema/class-definition.ts'
import type { NewCheck } from '../schema/pending-checks.ts'
import type { Oid } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'

/** The objects that violate one constraint. */
export interface ConstraintViolations {
  readonly className: string
  /** Absent for constraints on a class. */
  readonly attributeName?: string
  /** For a check, whose `constraint` is `checks`. */
  readonly checkName?: string
  /** The field of the definition that states the constraint. */
  readonly constraint: string
  readonly objects: number
  /** The first OIDs. */
  readonly oids: readonly Oid[]
}

type ViolatedAttribute = Pick<Attribute, 'number' | 'name'>

/** Counts by constraint. */
export class Violations {
  private readonly found = new Map<
    string,
    { -readonly [field in keyof ConstraintViolations]: ConstraintViolations[field] }
  >()

  private readonly attributes = new Set<AttributeNumber>()
  private readonly checks = new Set<string>()

  isViolated(attribute: AttributeNumber): boolean {
    return this.attributes.has(attribute)
  }

  isCheckViolated(check: NewCheck): boolean {
    return this.checks.has(checkKey(check))
  }

  /** Must be called once per object and constraint. */
  add(className: string, attribute: ViolatedAttribute | undefined, constraint: string, oid: Oid): void {
    if (attribute !== undefined) this.attributes.add(attribute.number)
    this.count(attribute === undefined ? { className } : { className, attributeName: attribute.name }, constraint, oid)
  }

  /** Like `add`, for a check of a class. */
  addCheck(className: string, check: NewCheck, oid: Oid): void {
    this.checks.add(checkKey(check))
    this.count({ className, checkName: check.name }, 'checks', oid)
  }

  private count(of: Omit<ConstraintViolations, 'constraint' | 'objects' | 'oids'>, constraint: string, oid: Oid): void {
    const key = `${of.className}::${of.attributeName ?? ''}::${constraint}::${of.checkName ?? ''}`
    const before = this.found.get(key)
    if (before === undefined) {
      this.found.set(key, { ...of, constraint, objects: 1, oids: [oid] })
      return
    }
    before.objects++
    if (before.oids.length < namedOidsMax) before.oids = [...before.oids, oid]
  }

  get all(): readonly ConstraintViolations[] {
    return [...this.found.values()]
  }

  /**
   * Throws ObjectsViolateConstraint if there are violations, otherwise the first of `equalKeys`. `outcome`: what became of the
   * request. `equalKeys`: what `equalKeysOf` has returned, each of which is also a violation.
   */
  refuse(outcome = 'nothing was changed.', equalKeys: readonly EqualKeys[] = []): void {
    const [first] = equalKeys
    const counted = equalKeys.flatMap((error) => error.extensions.violations)
    if (this.found.size === 0) {
      if (first === undefined) return
      const messages = equalKeys.map(({ message }) => message).join(' ')
      throw new AshlarError(first.type, messages, first.errors, { violations: counted })
    }
    const violations = [...this.all, ...counted]
    const message = `${violations.map(describe).join(', ')}: ${outcome}`
    throw new AshlarError('ObjectsViolateConstraint', message, [], { violations })
  }
}

/** For example `2 objects violate minimum of attribute age of class Person (3-3-1-1 and others)`. */
function describe({ className, attributeName, checkName, constraint, objects, oids }: ConstraintViolations): string {
  const what = checkName === undefined ? constraint : `check ${checkName}`
  const of = attributeName === undefined ? '' : ` of attribute ${attributeName}`
  const [subject, others] = objects === 1 ? ['1 object violates', ''] : [`${objects} objects violate`, ' and others']
  return `${subject} ${what}${of} of class ${className} (${oids[0]}${others})`
}

export function checkKey({ owner, name }: NewCheck): string {
  return `${owner} ${name}`
}
