/** The constraints of a class, compiled: which values of an object violate them (contract 10.1). */
import type { CommandPlace } from '../errors.ts'
import { type Constraint, compileConstraints } from '../schema/properties/index.ts'
import { type AttributeFormat, type ClassFormat, embeddedClassOf, type FormatSource } from './class-format.ts'
import { isSameValue } from './same-value.ts'

export interface Violation {
  readonly attribute: AttributeFormat
  /** The field of the definition that states the constraint. */
  readonly constraint: string
  /** What the value has to be, to follow the name of the attribute. */
  readonly requirement: string
  /** From the attribute of the object to the value at fault. */
  readonly path: CommandPlace
  /** As JSON. */
  readonly value: unknown
}

/** Whether a later step of the transaction may mend it. */
export function isDeferrable({ constraint, attribute, path }: Violation): boolean {
  if (path.length > 1) return false
  return (
    constraint === 'minItems' || (constraint === 'isRequired' && attribute.attribute.spec.logicalType === 'reference')
  )
}

/** What is checked of one attribute. */
interface AttributeChecks {
  readonly attribute: AttributeFormat
  readonly own: readonly Constraint[]
  readonly element: readonly Constraint[]
  readonly isReadOnly: boolean
  /** Of embedded objects, alone or as elements. */
  readonly embedded: ObjectConstraints | undefined
}

export class ObjectConstraints {
  private readonly checks: readonly AttributeChecks[]

  constructor(checks: readonly AttributeChecks[]) {
    this.checks = checks
  }

  /** Whether new values satisfy all constraints: without the cost of describing what violates them. */
  areSatisfiedBy(values: readonly unknown[]): boolean {
    for (const { attribute, own, element, embedded } of this.checks) {
      if (embedded !== undefined || element.length > 0) {
        if (this.violations(values, undefined, undefined).length > 0) return false
        continue
      }
      const value = values[attribute.index]
      for (const one of own) if ((value !== null || one.name === 'isRequired') && !one.isSatisfied(value)) return false
    }
    return true
  }

  /**
   * `before`: the values of a stored object as they were read, from which only those that differ are checked; undefined for a new one.
   * `changed`: the indexes of the attributes that a change has set; undefined if any may differ. `excused`: of those that deletions of other objects have changed.
   */
  violations(
    values: readonly unknown[],
    before: readonly unknown[] | undefined,
    changed: ReadonlySet<number> | undefined,
    excused?: ReadonlySet<number>,
  ): Violation[] {
    const found: Violation[] = []
    for (const checks of this.checks) {
      const { attribute, isReadOnly } = checks
      const { index } = attribute
      if (before !== undefined && changed !== undefined && !changed.has(index)) continue
      const first = found.length
      collect(checks, values[index], before?.[index], [attribute.attribute.outputName], found)
      if (before === undefined || (found.length === first && !isReadOnly)) continue
      if (isSameValue(attribute.codec, values[index], before[index])) found.length = first
      else if (isReadOnly && excused?.has(index) !== true)
        found.push(violationOf(checks, readOnly, [attribute.attribute.outputName], values[index]))
    }
    return found
  }
}

const readOnly: Constraint = {
  name: 'isReadOnly',
  requirement: 'is read-only and cannot be changed',
  isSatisfied: () => false,
}

const compiled = new WeakMap<ClassFormat, ObjectConstraints | null>()

/** Undefined where the class, and what it embeds, has no constraints. */
export function constraintsOf(format: ClassFormat, formats: FormatSource): ObjectConstraints | undefined {
  if (!format.hasProperties) return undefined
  let constraints = compiled.get(format)
  if (constraints === undefined) {
    const checks = format.attributes.flatMap((attribute) => compileAttribute(attribute, formats) ?? [])
    constraints = checks.length === 0 ? null : new ObjectConstraints(checks)
    compiled.set(format, constraints)
  }
  return constraints ?? undefined
}

function compileAttribute(attribute: AttributeFormat, formats: FormatSource): AttributeChecks | undefined {
  const { spec, properties } = attribute.attribute
  if (attribute.linkStorage !== undefined) return undefined
  const { own, element } = properties === undefined ? noConstraints : compileConstraints(spec, properties)
  const isReadOnly = properties?.own.isReadOnly === true
  const embeddedNumber = embeddedClassOf(spec)
  const embedded = embeddedNumber === undefined ? undefined : constraintsOf(formats.byNumber(embeddedNumber), formats)
  const isFree = own.length === 0 && element.length === 0 && !isReadOnly && embedded === undefined
  return isFree ? undefined : { attribute, own, element, isReadOnly, embedded }
}

const noConstraints = { own: [], element: [] } as const

/** `before`: undefined where all of the value is new. */
function collect(
  checks: AttributeChecks,
  value: unknown,
  before: unknown,
  path: CommandPlace,
  found: Violation[],
): void {
  for (const one of checks.own) {
    if ((value !== null || one.name === 'isRequired') && !one.isSatisfied(value))
      found.push(violationOf(checks, one, path, value))
  }
  if (value === null) return
  const { element, embedded } = checks
  if (element.length > 0) collectElements(checks, value as readonly unknown[], path, found)
  if (embedded === undefined) return
  if (checks.attribute.attribute.spec.logicalType === 'list') {
    for (const [position, object] of (value as readonly (readonly unknown[])[]).entries()) {
      collectEmbedded(embedded, object, undefined, [...path, position], found)
    }
    return
  }
  collectEmbedded(embedded, value as readonly unknown[], before as readonly unknown[] | undefined, path, found)
}

function collectElements(
  checks: AttributeChecks,
  elements: readonly unknown[],
  path: CommandPlace,
  found: Violation[],
): void {
  for (const [position, part] of elements.entries()) {
    if (part === null) continue
    const broken = checks.element.find((one) => !one.isSatisfied(part))
    if (broken !== undefined) found.push(violationOf(checks, broken, [...path, position], [part]))
    if (found.length >= violationsMax) return
  }
}

/** An element of every kind of violation suffices: a list may have millions of elements. */
const violationsMax = 1_000

function collectEmbedded(
  constraints: ObjectConstraints,
  values: readonly unknown[],
  before: readonly unknown[] | undefined,
  path: CommandPlace,
  found: Violation[],
): void {
  if (found.length >= violationsMax) return
  for (const violation of constraints.violations(values, before, undefined)) {
    found.push({ ...violation, path: [...path, ...violation.path] })
  }
}

function violationOf(
  checks: AttributeChecks,
  { name, requirement }: Constraint,
  path: CommandPlace,
  value: unknown,
): Violation {
  const { attribute } = checks
  const { codec } = attribute
  const isElement = Array.isArray(value) && path.length > 1 && typeof path.at(-1) === 'number'
  const json = value === null ? null : codec.toJson(value)
  return {
    attribute,
    constraint: name,
    requirement,
    path,
    value: isElement ? (json as readonly unknown[])[0] : json,
  }
}
