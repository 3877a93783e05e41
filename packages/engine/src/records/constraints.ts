/** The constraints of a class, compiled: which values of an object violate them (contract 10.1). */
import type { CommandPlace } from '../errors.ts'
import type { ClassAttribute } from '../schema/catalog.ts'
import { type Constraint, compileConstraints, type PropertiesOfAttribute } from '../schema/properties/index.ts'
import type { Codec } from '../types/logical-type.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import { type AttributeFormat, type ClassFormat, embeddedClassOf, type FormatSource } from './class-format.ts'
import { isSameValue } from './same-value.ts'

/** A check of a class, compiled. */
export interface ObjectCheck {
  readonly name: string
  /** What an object has to be, as a sentence without a full stop. */
  readonly message: string
  /** The indexes of the attributes that it names. */
  readonly indexes: ReadonlySet<number>
  /** `values`: of the object, by index. */
  isBrokenBy(values: readonly unknown[]): boolean
}

/** Where the checks of a class come from: their expressions are compiled above this module. */
export interface CheckSource {
  /** With those that the class inherits. */
  checksOf(format: ClassFormat, formats: FormatSource): readonly ObjectCheck[]
}

export type Violation = ValueViolation | CheckViolation

/** A check is false for an object, or for one that is embedded in it. */
export interface CheckViolation {
  readonly check: ObjectCheck
  /** The attribute of the object, within which an embedded one is at fault; undefined for the object itself. */
  readonly root: AttributeNumber | undefined
  readonly className: string
  /** From the attribute of the object to the embedded one; empty for the object itself. */
  readonly path: CommandPlace
}

export interface ValueViolation {
  readonly check?: undefined
  /** The attribute of the object, within which the value at fault may be. */
  readonly root: AttributeNumber
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
export function isDeferrable(violation: Violation): boolean {
  if (violation.check !== undefined || violation.path.length > 1) return false
  const { constraint, attribute } = violation
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
  /** While the type of the attribute changes: these are of the type that it is to have. */
  readonly convert: ((value: unknown) => unknown) | undefined
  /** Of the values that are checked. */
  readonly codec: Codec
  /** Of embedded objects, alone or as elements. */
  readonly embedded: ObjectConstraints | undefined
}

export class ObjectConstraints {
  private readonly className: string
  private readonly checks: readonly AttributeChecks[]
  private readonly objectChecks: readonly ObjectCheck[]

  constructor(className: string, checks: readonly AttributeChecks[], objectChecks: readonly ObjectCheck[]) {
    this.className = className
    this.checks = checks
    this.objectChecks = objectChecks
  }

  /** Whether new values satisfy all constraints: without the cost of describing what violates them. */
  areSatisfiedBy(values: readonly unknown[]): boolean {
    for (const checks of this.checks) {
      const { attribute, own, element, embedded } = checks
      if (embedded !== undefined || element.length > 0) {
        if (this.violations(values, undefined, undefined).length > 0) return false
        continue
      }
      const value = checkedValue(checks, values[attribute.index])
      for (const one of own) if ((value !== null || one.name === 'isRequired') && !one.isSatisfied(value)) return false
    }
    return !this.objectChecks.some((one) => one.isBrokenBy(values))
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
    for (const check of this.objectChecks) {
      const isConcerned = changed === undefined || [...check.indexes].some((index) => changed.has(index))
      if (isConcerned && check.isBrokenBy(values))
        found.push({ check, root: undefined, className: this.className, path: [] })
    }
    return found
  }
}

const readOnly: Constraint = {
  name: 'isReadOnly',
  requirement: 'is read-only and cannot be changed',
  isSatisfied: () => false,
}

/** Constraints of an attribute; `pending`: those of the type that it is to have. */
type Selection = 'present' | 'pending'
type Select = (attribute: ClassAttribute, selection: Selection) => PropertiesOfAttribute | undefined

/** The constraints of classes that some of their properties state. */
class ConstraintCompiler {
  private readonly select: Select
  private readonly compiled = new WeakMap<ClassFormat, ObjectConstraints | null>()

  constructor(select: Select) {
    this.select = select
  }

  /** Undefined where the class, and what it embeds, has none of them. */
  of(format: ClassFormat, formats: FormatSource, source: CheckSource): ObjectConstraints | undefined {
    if (!format.hasProperties) return undefined
    let constraints = this.compiled.get(format)
    if (constraints === undefined) {
      const checks = format.attributes.flatMap((attribute) => this.compile(attribute, formats, source))
      const objectChecks = source.checksOf(format, formats)
      const isFree = checks.length === 0 && objectChecks.length === 0
      constraints = isFree ? null : new ObjectConstraints(format.cls.name, checks, objectChecks)
      this.compiled.set(format, constraints)
    }
    return constraints ?? undefined
  }

  private compile(attribute: AttributeFormat, formats: FormatSource, source: CheckSource): AttributeChecks[] {
    if (attribute.linkStorage !== undefined) return []
    const { select } = this
    const { spec } = attribute.attribute
    const properties = select(attribute.attribute, 'present')
    const { own, element } = properties === undefined ? noConstraints : compileConstraints(spec, properties)
    const isReadOnly = properties?.own.isReadOnly === true
    const embeddedNumber = embeddedClassOf(spec)
    const embedded =
      embeddedNumber === undefined ? undefined : this.of(formats.byNumber(embeddedNumber), formats, source)
    const isFree = own.length === 0 && element.length === 0 && !isReadOnly && embedded === undefined
    const { codec } = attribute
    const present: AttributeChecks = { attribute, own, element, isReadOnly, convert: undefined, codec, embedded }
    const pending = select(attribute.attribute, 'pending')
    return [...(isFree ? [] : [present]), ...(pending === undefined ? [] : pendingChecks(present, pending))]
  }
}

/** Those that are not asked of the value anyway. */
function pendingChecks(
  { attribute, own, element }: AttributeChecks,
  pending: PropertiesOfAttribute,
): AttributeChecks[] {
  const { format, convert } = attribute.pendingType ?? { format: attribute, convert: undefined }
  const compiled = compileConstraints(format.attribute.spec, pending)
  const checks = {
    attribute,
    own: without(own, compiled.own),
    element: without(element, compiled.element),
    isReadOnly: false,
    convert,
    codec: format.codec,
    embedded: undefined,
  }
  return checks.own.length === 0 && checks.element.length === 0 ? [] : [checks]
}

function without(known: readonly Constraint[], constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ requirement }) => !known.some((one) => one.requirement === requirement))
}

const written = new ConstraintCompiler(({ properties, becoming }, selection) => {
  return selection === 'present' ? properties : becoming?.properties
})
const validated = new ConstraintCompiler(({ properties }, selection) => {
  return selection === 'present' && properties?.isValidated !== false ? properties : undefined
})

/** What is written is held against these. Undefined where the class, and what it embeds, has no constraints. */
export function constraintsOf(
  format: ClassFormat,
  formats: FormatSource,
  source: CheckSource,
): ObjectConstraints | undefined {
  return written.of(format, formats, source)
}

/** Those that all stored objects satisfy. */
export function validatedConstraintsOf(
  format: ClassFormat,
  formats: FormatSource,
  source: CheckSource,
): ObjectConstraints | undefined {
  return validated.of(format, formats, source)
}

/** For those that look at attributes alone. */
export const noChecks: CheckSource = { checksOf: () => [] }

/** Those of some attributes alone, without checks. */
export function constraintsOfAttributes(
  attributes: ReadonlySet<AttributeNumber>,
): (format: ClassFormat, formats: FormatSource) => ObjectConstraints | undefined {
  const compiler = new ConstraintCompiler(({ number, properties }, selection) => {
    return selection === 'present' && attributes.has(number) ? properties : undefined
  })
  return (format, formats) => compiler.of(format, formats, noChecks)
}

function checkedValue({ convert }: AttributeChecks, value: unknown): unknown {
  return convert === undefined || value === null ? value : convert(value)
}

const noConstraints = { own: [], element: [] } as const

/** `before`: undefined where all of the value is new. */
function collect(
  checks: AttributeChecks,
  stored: unknown,
  before: unknown,
  path: CommandPlace,
  found: Violation[],
): void {
  const value = checkedValue(checks, stored)
  for (const one of checks.own) {
    if ((value !== null || one.name === 'isRequired') && !one.isSatisfied(value))
      found.push(violationOf(checks, one, path, value))
  }
  if (value === null) return
  const { element, embedded } = checks
  if (element.length > 0) collectElements(checks, value as readonly unknown[], path, found)
  if (embedded === undefined) return
  const root = checks.attribute.attribute.number
  if (checks.attribute.attribute.spec.logicalType === 'list') {
    for (const [position, object] of (value as readonly (readonly unknown[])[]).entries()) {
      collectEmbedded(embedded, root, object, undefined, [...path, position], found)
    }
    return
  }
  collectEmbedded(embedded, root, value as readonly unknown[], before as readonly unknown[] | undefined, path, found)
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
  root: AttributeNumber,
  values: readonly unknown[],
  before: readonly unknown[] | undefined,
  path: CommandPlace,
  found: Violation[],
): void {
  if (found.length >= violationsMax) return
  for (const violation of constraints.violations(values, before, undefined)) {
    found.push({ ...violation, root, path: [...path, ...violation.path] })
  }
}

function violationOf(
  checks: AttributeChecks,
  { name, requirement }: Constraint,
  path: CommandPlace,
  value: unknown,
): ValueViolation {
  const { attribute, codec } = checks
  const isElement = Array.isArray(value) && path.length > 1 && typeof path.at(-1) === 'number'
  const json = value === null ? null : codec.toJson(value)
  return {
    root: attribute.attribute.number,
    attribute,
    constraint: name,
    requirement,
    path,
    value: isElement ? (json as readonly unknown[])[0] : json,
  }
}
