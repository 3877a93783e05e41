/** Compiled constraints of a class, which find the values of an object that violate them (contract 10.1). */
import type { CommandPlace } from '../errors.ts'
import type { StoredConstraints } from '../schema/alter-plan.ts'
import type { ClassAttribute } from '../schema/catalog.ts'
import { type Constraint, compileConstraints, type PropertiesOfAttribute } from '../schema/properties/index.ts'
import { runToEnd } from '../store/time-slice.ts'
import type { Codec, StepwiseWork } from '../types/logical-type.ts'
import type { AttributeNumber, ClassNumber } from '../types/type-spec.ts'
import { embeddedClassOf } from './attribute-type.ts'
import type { AttributeFormat, ClassFormat, FormatSource } from './class-format.ts'
import { unevaluated } from './creation-value.ts'
import { isSameValue } from './same-value.ts'

/** A compiled check of a class. */
export interface ObjectCheck {
  readonly name: string
  /** The class that declares it. */
  readonly owner: ClassNumber
  /** Stored objects are known to satisfy it. */
  readonly isValidated: boolean
  /** It is about the values that attributes will have once their types have changed. */
  readonly usesPendingTypes?: true
  /** The requirement as a sentence without a full stop. */
  readonly message: string
  /** The indexes of the attributes that it depends on. */
  readonly indexes: ReadonlySet<number>
  /**
   * The collections stored as links whose elements it counts, by index. The value is the number from which on further elements
   * make no difference.
   */
  readonly counts: ReadonlyMap<number, number>
  /** It counts references, which other steps of a transaction may add. */
  readonly isDeferrable: boolean
  /** `values`: of the object, by index; for the collections in `counts`, the number of elements. */
  isBrokenBy(values: readonly unknown[]): boolean
}

/** The source of the checks of a class: their expressions are compiled in a layer above this module. */
export interface CheckSource {
  /** Includes inherited checks. */
  checksOf(format: ClassFormat, formats: FormatSource): readonly ObjectCheck[]
}

export type Violation = ValueViolation | CheckViolation

/** A check that is false for an object or for an embedded one. */
export interface CheckViolation {
  readonly check: ObjectCheck
  /** The attribute that contains the embedded object; undefined for the object itself. */
  readonly root: AttributeNumber | undefined
  readonly className: string
  /** Of the object or embedded object, as `ObjectCheck.isBrokenBy` expects them. */
  readonly values: readonly unknown[]
  /** The path to the embedded object; empty for the object itself. */
  readonly path: CommandPlace
}

export interface ValueViolation {
  readonly check?: undefined
  /** The attribute of the object that contains the invalid value. */
  readonly root: AttributeNumber
  readonly attribute: AttributeFormat
  /** The field of the definition that states the constraint. */
  readonly constraint: string
  /** The requirement, to follow the name of the attribute. */
  readonly requirement: string
  /** The path from the attribute of the object to the invalid value. */
  readonly path: CommandPlace
  /** As JSON. */
  readonly value: unknown
  /** The position of the command that last changed a collection stored as links, among several commands. */
  readonly position?: number
}

/** Identifies the constraint of an object that is violated. */
export function constraintKey(violation: Violation): string {
  const { check } = violation
  if (check !== undefined) return checkKey(check)
  return `${violation.attribute.attribute.number} ${violation.constraint}`
}

function checkKey({ owner, name }: ObjectCheck): string {
  return `check ${owner} ${name}`
}

/** Whether a later step of the transaction may repair the violation. */
export function isDeferrable(violation: Violation): boolean {
  if (violation.check !== undefined) return violation.check.isDeferrable && violation.path.length === 0
  if (violation.path.length > 1) return false
  const { constraint, attribute } = violation
  if (constraint === 'maxItems') return attribute.linkStorage !== undefined
  return (
    constraint === 'minItems' || (constraint === 'isRequired' && attribute.attribute.spec.logicalType === 'reference')
  )
}

/** The checks of one attribute. */
interface AttributeChecks {
  readonly attribute: AttributeFormat
  readonly own: readonly Constraint[]
  readonly element: readonly Constraint[]
  readonly isReadOnly: boolean
  /** Set while the type of the attribute changes, if the checks apply to the new type. */
  readonly convert: ((value: unknown) => unknown) | undefined
  /** The codec of the checked values. */
  readonly codec: Codec
  /** For embedded objects, single or as elements. */
  readonly embedded: ObjectConstraints | undefined
}

export class ObjectConstraints {
  private readonly className: string
  private readonly checks: readonly AttributeChecks[]
  private readonly objectChecks: readonly ObjectCheck[]
  private readonly countsLinks: boolean
  /** Checks that count references, whose links would be read again with each step of a transaction. */
  private readonly deferrableChecks: readonly ObjectCheck[]
  /** The other constraints. */
  readonly withoutDeferrableChecks: ObjectConstraints

  constructor(className: string, checks: readonly AttributeChecks[], objectChecks: readonly ObjectCheck[]) {
    this.className = className
    this.checks = checks
    this.objectChecks = objectChecks
    this.countsLinks = objectChecks.some(({ counts }) => counts.size > 0)
    this.deferrableChecks = objectChecks.filter((one) => one.isDeferrable)
    const others = objectChecks.filter((one) => !one.isDeferrable)
    this.withoutDeferrableChecks =
      this.deferrableChecks.length === 0 ? this : new ObjectConstraints(className, checks, others)
  }

  /** The keys of the checks to be judged at the end of a transaction. `changed`: as for `countedLinks`. */
  deferrableCheckKeys(changed?: ReadonlySet<number>): readonly string[] {
    return this.deferrableChecks.filter((check) => isConcerned(check, changed)).map(checkKey)
  }

  /**
   * The collections whose elements are counted to check a change, as in `ObjectCheck.counts`. `changed`: the indexes of the
   * attributes that were set; undefined for all checks.
   */
  countedLinks(changed?: ReadonlySet<number>): ReadonlyMap<number, number> {
    if (!this.countsLinks) return noCounts
    const counted = new Map<number, number>()
    for (const check of this.objectChecks) {
      if (!isConcerned(check, changed)) continue
      for (const [index, max] of check.counts) counted.set(index, Math.max(counted.get(index) ?? 0, max))
    }
    return counted
  }

  /** Whether new values satisfy all constraints, without the cost of describing violations. */
  areSatisfiedBy(values: readonly unknown[]): boolean {
    for (const checks of this.checks) {
      const { attribute, own, element, embedded } = checks
      if (embedded !== undefined) return this.violations(values, undefined, undefined).length === 0
      const value = checkedValue(checks, values[attribute.index])
      for (const one of own) if ((value !== null || one.name === 'isRequired') && !one.isSatisfied(value)) return false
      if (element.length === 0 || !Array.isArray(value)) continue
      for (const part of value as readonly unknown[]) {
        if (part !== null && element.some((one) => !one.isSatisfied(part))) return false
      }
    }
    return !this.objectChecks.some((one) => one.isBrokenBy(values))
  }

  /**
   * `before`: the values of a stored object as read; only changed values are checked. Undefined for a new object. `changed`:
   * the indexes of the attributes that were set; undefined if any may differ. `excused`: indexes of attributes changed by
   * deletions of other objects.
   */
  violations(
    values: readonly unknown[],
    before: readonly unknown[] | undefined,
    changed: ReadonlySet<number> | undefined,
    excused?: ReadonlySet<number>,
  ): Violation[] {
    return runToEnd(this.violationsStepwise(values, before, changed, excused))
  }

  /** `violations` in pieces. */
  *violationsStepwise(
    values: readonly unknown[],
    before: readonly unknown[] | undefined,
    changed: ReadonlySet<number> | undefined,
    excused?: ReadonlySet<number>,
  ): StepwiseWork<Violation[]> {
    const found: Violation[] = []
    for (const checks of this.checks) {
      const { attribute, isReadOnly } = checks
      const { index } = attribute
      if (before !== undefined && changed !== undefined && !changed.has(index)) continue
      const first = found.length
      yield* collect(checks, values[index], before?.[index], [attribute.attribute.outputName], found)
      if (before === undefined || (found.length === first && !isReadOnly)) continue
      if (isSameValue(attribute.codec, values[index], before[index])) found.length = first
      else if (isReadOnly && excused?.has(index) !== true)
        found.push(violationOf(checks, readOnly, [attribute.attribute.outputName], values[index]))
    }
    for (const check of this.objectChecks) {
      if (isConcerned(check, before === undefined ? undefined : changed) && check.isBrokenBy(values))
        found.push({ check, root: undefined, className: this.className, values, path: [] })
    }
    return found
  }
}

const noCounts: ReadonlyMap<number, number> = new Map()

function isConcerned({ indexes }: ObjectCheck, changed: ReadonlySet<number> | undefined): boolean {
  return changed === undefined || [...indexes].some((index) => changed.has(index))
}

const readOnly: Constraint = {
  name: 'isReadOnly',
  requirement: 'is read-only and cannot be changed',
  isSatisfied: () => false,
}

/** Constraints of an attribute; `pending`: of its new type. */
type Selection = 'present' | 'pending'
type Select = (attribute: ClassAttribute, selection: Selection) => PropertiesOfAttribute | undefined

/** Compiles the constraints given by selected properties and checks of classes. */
class ConstraintCompiler {
  private readonly select: Select
  private readonly selectCheck: (check: ObjectCheck) => boolean
  private readonly compiled = new WeakMap<ClassFormat, ObjectConstraints | null>()

  constructor(select: Select, selectCheck: (check: ObjectCheck) => boolean) {
    this.select = select
    this.selectCheck = selectCheck
  }

  /** Undefined if the class and its embedded classes have none. */
  of(format: ClassFormat, formats: FormatSource, source: CheckSource): ObjectConstraints | undefined {
    if (!format.hasProperties) return undefined
    let constraints = this.compiled.get(format)
    if (constraints === undefined) {
      const checks = format.attributes.flatMap((attribute) => this.compile(attribute, formats, source))
      const objectChecks = source.checksOf(format, formats).filter(this.selectCheck)
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

/** The checks of the new type that differ from the present ones. */
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

function without(excluded: readonly Constraint[], constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ requirement }) => !excluded.some((one) => one.requirement === requirement))
}

const written = new ConstraintCompiler(
  ({ properties, becoming }, selection) => (selection === 'present' ? properties : becoming?.properties),
  () => true,
)
const validated = new ConstraintCompiler(
  ({ properties }, selection) => {
    return selection === 'present' && properties?.isValidated !== false ? properties : undefined
  },
  ({ isValidated, counts }) => isValidated && counts.size === 0,
)

/** The constraints of writes. Undefined if the class and its embedded classes have none. */
export function constraintsOf(
  format: ClassFormat,
  formats: FormatSource,
  source: CheckSource,
): ObjectConstraints | undefined {
  return written.of(format, formats, source)
}

/** The constraints that all stored objects are known to satisfy and that depend on the record alone. */
export function validatedConstraintsOf(
  format: ClassFormat,
  formats: FormatSource,
  source: CheckSource,
): ObjectConstraints | undefined {
  return validated.of(format, formats, source)
}

/** For constraints of attributes only. */
export const noChecks: CheckSource = { checksOf: () => [] }

/** Only the given ones. */
export function selectedConstraints(
  { attributes, checks }: StoredConstraints,
  source: CheckSource,
): (format: ClassFormat, formats: FormatSource) => ObjectConstraints | undefined {
  const compiler = new ConstraintCompiler(
    ({ number, properties }, selection) => {
      return selection === 'present' && attributes.has(number) ? properties : undefined
    },
    (check) =>
      check.usesPendingTypes !== true && checks.some(({ owner, name }) => owner === check.owner && name === check.name),
  )
  return (format, formats) => compiler.of(format, formats, source)
}

function checkedValue({ convert }: AttributeChecks, value: unknown): unknown {
  return convert === undefined || value === null ? value : convert(value)
}

const noConstraints = { own: [], element: [] } as const

/** `before`: undefined if the whole value is new. */
function* collect(
  checks: AttributeChecks,
  stored: unknown,
  before: unknown,
  path: CommandPlace,
  found: Violation[],
): StepwiseWork<void> {
  if (stored === unevaluated) return
  const value = checkedValue(checks, stored)
  for (const one of checks.own) {
    if (value === null && one.name !== 'isRequired') continue
    const { isSatisfiedStepwise } = one
    const isSatisfied = isSatisfiedStepwise === undefined ? one.isSatisfied(value) : yield* isSatisfiedStepwise(value)
    if (!isSatisfied) found.push(violationOf(checks, one, path, value))
  }
  if (value === null) return
  const { element, embedded } = checks
  if (element.length > 0) yield* collectElements(checks, value as readonly unknown[], path, found)
  if (embedded === undefined) return
  const root = checks.attribute.attribute.number
  if (checks.attribute.attribute.spec.logicalType === 'list') {
    for (const [position, object] of (value as readonly (readonly unknown[])[]).entries()) {
      yield* collectEmbedded(embedded, root, object, undefined, [...path, position], found)
      if (position % elementsPerYield === elementsPerYield - 1) yield
    }
    return
  }
  const previous = before as readonly unknown[] | undefined
  yield* collectEmbedded(embedded, root, value as readonly unknown[], previous, path, found)
}

const elementsPerYield = 100

function* collectElements(
  checks: AttributeChecks,
  elements: readonly unknown[],
  path: CommandPlace,
  found: Violation[],
): StepwiseWork<void> {
  for (const [position, part] of elements.entries()) {
    if (position % elementsPerYield === elementsPerYield - 1) yield
    if (part === null) continue
    const broken = checks.element.find((one) => !one.isSatisfied(part))
    if (broken !== undefined) found.push(violationOf(checks, broken, [...path, position], [part]))
    if (found.length >= violationsMax) return
  }
}

/** Limits the reported violations: a list may have millions of elements. */
const violationsMax = 1_000

function* collectEmbedded(
  constraints: ObjectConstraints,
  root: AttributeNumber,
  values: readonly unknown[],
  before: readonly unknown[] | undefined,
  path: CommandPlace,
  found: Violation[],
): StepwiseWork<void> {
  if (found.length >= violationsMax) return
  for (const violation of yield* constraints.violationsStepwise(values, before, undefined)) {
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
