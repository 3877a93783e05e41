/** Compiles bound expressions to closures, once per plan. Operators on null give null. */
import { AshlarError } from '../../errors.ts'
import { isComputed } from '../../records/computed.ts'
import type { RecordFormats } from '../../records/record-formats.ts'
import type { ClassAttribute } from '../../schema/catalog.ts'
import { ticksPerDay, ticksPerSecond } from '../../types/calendar.ts'
import type { Oid } from '../../types/oid.ts'
import { type Bound, type BoundAttribute, isConstant, operandsOf } from '../bind/bound.ts'
import type { TextRoom } from '../functions/function-definition.ts'
import { canSearchInOneStep, searchBytes, searchYielding } from '../functions/long-texts.ts'
import { LongWork, type Work } from '../functions/work.ts'
import type { Span } from '../language/ast.ts'
import { placed, queryError } from '../language/query-error.ts'
import { isNothing, isNullOf } from '../values/compare.ts'
import type { Edge } from '../values/edge.ts'
import { isLong } from '../values/type-rules.ts'
import { aTypeName, isMany, isText, type ValueType } from '../values/value-type.ts'
import { toInteger } from '../values/whole-number.ts'
import { compileCollection } from './compile-collection.ts'
import { compileComparedCount } from './compile-links.ts'
import { compileLogical, partSteps, partsSpentMin } from './compile-logical.ts'
import { textSteps, valueSteps } from './compile-loop.ts'
import { compileComparison, compileMatches, compileQuantifier } from './compile-predicate.ts'
import { compileShape, evaluateAll } from './compile-shape.ts'
import { compileOwner } from './compile-target.ts'
import { compileUnion } from './compile-union.ts'
import type { Evaluate, EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { NewObject } from './new-object.ts'
import type { ObjectView } from './object-view.ts'
import { valueInMemory } from './rows-on-disk.ts'
import { elementBytes, textBytes, valueBytes } from './value-bytes.ts'

/** Compiles expressions and assigns indexes to values that are the same for all rows. */
export class Compiler implements ExpressionCompiler {
  readonly formats: RecordFormats
  /** Number of indexes assigned. */
  constants = 0
  private readonly constantIndexes = new Map<Bound, number>()
  /** Set while operands of an expression without row-dependent parts are compiled. */
  private isConstantPart = false

  constructor(formats: RecordFormats) {
    this.formats = formats
  }

  compile(bound: Bound): Evaluate {
    if (bound.kind === 'given') return this.compile(bound.operand)
    if (plainKinds.includes(bound.kind) || !isConstant(bound)) return compileNode(bound, this)
    // Operands need not be checked again at every level.
    const { isConstantPart } = this
    if (!isConstantPart && variesByRow(bound)) return compileNode(bound, this)
    this.isConstantPart = true
    try {
      return this.memoize(compileNode(bound, this))
    } finally {
      this.isConstantPart = isConstantPart
    }
  }

  placeOf(bound: Bound): number {
    let index = this.constantIndexes.get(bound)
    if (index === undefined) {
      index = this.constants++
      this.constantIndexes.set(bound, index)
    }
    return index
  }

  compileAll(bounds: readonly Bound[]): Evaluate[] {
    return bounds.map((bound) => this.compile(bound))
  }

  /** Evaluated for the first row that needs it. */
  memoize(evaluate: Evaluate): Evaluate {
    const index = this.constants++
    return (evaluation) => {
      const cached = evaluation.constants[index]
      if (cached !== undefined) return cached
      const value = evaluate(evaluation) ?? null
      evaluation.memory.chargeStatement(valueBytes(value))
      evaluation.constants[index] = value
      return value
    }
  }
}

/** Kinds that need no evaluation. */
const plainKinds: readonly Bound['kind'][] = ['constant', 'variable', 'now', 'user', 'nested']

/** Whether it contains a part that is constant within a row, but differs between rows. */
function variesByRow(bound: Bound): boolean {
  return bound.kind === 'given' || operandsOf(bound).some(variesByRow)
}

function compileNode(bound: Exclude<Bound, { kind: 'given' }>, compiler: Compiler): Evaluate {
  switch (bound.kind) {
    case 'constant': {
      const { value } = bound
      return () => value
    }
    case 'variable':
      return compileVariable(bound)
    case 'now':
      return ({ now }) => now
    case 'user':
      return ({ user }) => user
    case 'nested': {
      const { index } = bound
      return ({ nested }) => nested[index] ?? null
    }
    case 'self': {
      const { slot } = bound
      return ({ slots }) => (slots[slot] as ObjectView | undefined)?.oid ?? null
    }
    case 'window': {
      const { index } = bound
      return ({ windows }) => windows[index] ?? null
    }
    case 'slot': {
      const { slot } = bound
      return ({ slots }) => slots[slot] ?? null
    }
    case 'attribute':
      return compileAttribute(bound.slot, bound.attribute, bound.type)
    case 'follow':
      return compileFollow(bound, compiler)
    case 'field':
      return compileField(bound, compiler)
    case 'edgeField': {
      const object = compiler.compile(bound.object)
      const field = bound.field as keyof Edge
      return (evaluation) => (object(evaluation) as Edge | null)?.[field] ?? null
    }
    case 'logical':
      return compileLogical(bound, compiler)
    case 'compare':
      return compileComparison(bound, ...comparedSides(bound, compiler))
    case 'matches':
      return compileMatches(bound, compiler.compile(bound.text), compiler.compile(bound.pattern))
    case 'once':
      return compileOnce(bound, compiler)
    case 'quantifier':
      return compileQuantifier(bound, compiler)
    case 'each':
    case 'elementAt':
    case 'valueOfKey':
    case 'slice':
    case 'choose':
    case 'fold':
    case 'isEmpty':
    case 'elements':
    case 'pairs':
      return compileCollection(bound, compiler)
    case 'union':
      return compileUnion(bound, compiler)
    default:
      return compileValue(bound, compiler)
  }
}

function compileField({ object, index }: Extract<Bound, { kind: 'field' }>, compiler: Compiler): Evaluate {
  const evaluate = compiler.compile(object)
  const cls = object.type.kind === 'embedded' ? object.type.cls : undefined
  if (cls === undefined || !isComputed(cls.attributes[index] as ClassAttribute)) {
    return (evaluation) => (evaluate(evaluation) as readonly unknown[] | null)?.[index] ?? null
  }
  const format = compiler.formats.of(cls)
  return (evaluation) => {
    const values = evaluate(evaluation) as readonly unknown[] | null | undefined
    return values === null || values === undefined ? null : format.valueAt(values, index)
  }
}

function comparedSides({ left, right }: Extract<Bound, { kind: 'compare' }>, compiler: Compiler): [Evaluate, Evaluate] {
  return [
    compileComparedCount(left, right, compiler) ?? compiler.compile(left),
    compileComparedCount(right, left, compiler) ?? compiler.compile(right),
  ]
}

function compileVariable({ name, type }: Extract<Bound, { kind: 'variable' }>): Evaluate {
  if (isMany(type)) return ({ variables }) => valueInMemory(variables.get(name)?.value ?? null, name)
  return ({ variables }) => variables.get(name)?.value ?? null
}

function compileOnce({ slot, value, body }: Extract<Bound, { kind: 'once' }>, compiler: Compiler): Evaluate {
  const [evaluateValue, evaluateBody] = [compiler.compile(value), compiler.compile(body)]
  return (evaluation) => {
    evaluation.slots[slot] = evaluateValue(evaluation) ?? null
    return evaluateBody(evaluation)
  }
}

type ValueNode = Extract<
  Bound,
  {
    kind:
      | 'shape'
      | 'inner'
      | 'arithmetic'
      | 'unary'
      | 'contains'
      | 'call'
      | 'case'
      | 'coalesce'
      | 'concat'
      | 'isNull'
      | 'isValid'
      | 'aggregate'
      | 'convert'
      | 'instanceOf'
      | 'interval'
      | 'structure'
      | 'create'
      | 'next'
  }
>

function compileValue(bound: ValueNode, compiler: Compiler): Evaluate {
  switch (bound.kind) {
    case 'shape':
      return compileShape(bound, compiler)
    case 'inner':
      return compileInner(bound, compiler)
    case 'arithmetic':
      return compileCalculation(bound, [compiler.compile(bound.left), compiler.compile(bound.right)])
    case 'unary':
      return compileCalculation(bound, [compiler.compile(bound.operand)])
    case 'call':
      return compileCall(bound, compiler)
    case 'contains': {
      const [text, part] = [compiler.compile(bound.text), compiler.compile(bound.part)]
      return (evaluation) => {
        const [subject, substring] = [text(evaluation), part(evaluation)] as [string | null, string | null]
        if (subject === null || substring === null) return null
        if (canSearchInOneStep(subject, substring)) {
          evaluation.work.spend(textSteps(subject.length))
          return subject.includes(substring)
        }
        evaluation.memory.chargeRow(searchBytes(substring))
        return evaluation.work.run(searchYielding(subject, substring))
      }
    }
    case 'concat':
      return compileConcat(bound, compiler.compileAll(bound.operands))
    case 'case':
      return compileCase(bound, compiler)
    case 'coalesce':
      return compileCoalesce(bound, compiler)
    case 'isNull':
    case 'isValid':
    case 'instanceOf':
      return compileReferenceTest(bound, compiler)
    case 'aggregate': {
      const { index } = bound
      return ({ aggregates }) => aggregates[index] ?? null
    }
    case 'convert': {
      const operand = compiler.compile(bound.operand)
      const { convert } = bound
      if (isText(bound.type) || isText(bound.operand.type)) return converted(operand, convert)
      return (evaluation) => {
        const value = operand(evaluation)
        return value === null || value === undefined ? null : convert(value)
      }
    }
    case 'interval':
      return compileInterval(bound, compiler)
    case 'structure':
      return compileStructure(bound, compiler)
    case 'next': {
      const { sequence } = bound
      return ({ numbers }) => toInteger(numbers.next(sequence))
    }
    case 'create': {
      const { cls, assignments } = bound.create
      const values = compiler.compileAll(assignments.map(({ value }) => value))
      return (evaluation) => {
        evaluation.memory.chargeRow(objectBytes)
        const assigned = values.map((value) => value(evaluation) ?? null)
        return new NewObject(cls, assignments, assigned)
      }
    }
  }
}

function compileCoalesce(bound: Extract<Bound, { kind: 'coalesce' }>, compiler: Compiler): Evaluate {
  const operands = bound.operands.map((operand) => ({ type: operand.type, evaluate: compiler.compile(operand) }))
  return (evaluation) => {
    for (const { type, evaluate } of operands) {
      const value = evaluate(evaluation)
      if (!isNullOf(type, value)) return value
    }
    return null
  }
}

/** Branches that do not apply are not evaluated. */
function compileCase(bound: Extract<Bound, { kind: 'case' }>, compiler: Compiler): Evaluate {
  const branches = bound.branches.map(({ condition, value }) => ({
    condition: compiler.compile(condition),
    value: compiler.compile(value),
  }))
  const otherwise = bound.otherwise && compiler.compile(bound.otherwise)
  const evaluate: Evaluate = (evaluation) => {
    for (const { condition, value } of branches) if (condition(evaluation) === true) return value(evaluation) ?? null
    return otherwise?.(evaluation) ?? null
  }
  if (branches.length < partsSpentMin) return evaluate
  return (evaluation) => {
    evaluation.work.spend(branches.length * partSteps)
    return evaluate(evaluation)
  }
}

function compileInner({ index, operands }: Extract<Bound, { kind: 'inner' }>, compiler: Compiler): Evaluate {
  const values = compiler.compileAll(operands)
  return (evaluation) => evaluation.inner.value(index, evaluateAll(values, evaluation))
}

const objectBytes = 200

function converted(operand: Evaluate, convert: (value: unknown) => unknown): Evaluate {
  return (evaluation) => {
    const value = operand(evaluation)
    if (value === null || value === undefined) return null
    if (typeof value === 'string') evaluation.work.spend(textSteps(value.length))
    const result = convert(value)
    if (typeof result === 'string' && result !== value) evaluation.memory.chargeRow(textBytes(result.length))
    return result
  }
}

function compileReferenceTest(
  bound: Extract<Bound, { kind: 'isNull' | 'isValid' | 'instanceOf' }>,
  compiler: Compiler,
): Evaluate {
  const operand = compiler.compile(bound.operand)
  switch (bound.kind) {
    case 'isNull': {
      const { type } = bound.operand
      return (evaluation) => isNullOf(type, operand(evaluation))
    }
    case 'isValid':
      return (evaluation) => {
        const oid = operand(evaluation)
        return !isNothing(oid) && evaluation.reader.object(oid as Oid).format !== undefined
      }
    case 'instanceOf': {
      const { number } = bound.cls
      return (evaluation) => {
        const oid = operand(evaluation)
        if (isNothing(oid)) return null
        return evaluation.reader.object(oid as Oid).format?.cls.isOrInherits(number) === true ? oid : null
      }
    }
  }
}

/** An attribute of the object in a slot. */
function compileAttribute(slot: number, attribute: BoundAttribute, type: ValueType): Evaluate {
  const { index, linkStorage } = attribute
  if (linkStorage !== undefined) {
    return ({ slots, reader }) => {
      const view = slots[slot] as ObjectView | undefined
      return view?.format === undefined ? null : reader.links(view, attribute)
    }
  }
  if (isLong(type)) {
    return ({ slots, work }) => {
      const view = slots[slot] as ObjectView | undefined
      return view === undefined ? null : longValue(view, index, work, false)
    }
  }
  return ({ slots }) => {
    const view = slots[slot] as ObjectView | undefined
    return view === undefined ? null : view.value(index)
  }
}

/** Null for null, for a dangling reference, and for an object without the attribute. The reader charges for its reads. */
function compileFollow(bound: Extract<Bound, { kind: 'follow' }>, compiler: ExpressionCompiler): Evaluate {
  const { attribute, type } = bound
  const { index, linkStorage } = attribute
  const owner = compileOwner(bound, compiler)
  const readValue = isLong(type)
    ? (view: ObjectView, { work }: EvaluationContext): unknown => longValue(view, index, work, true)
    : (view: ObjectView): unknown => view.cachedValue(index)
  return (evaluation) => {
    const view = owner(evaluation)
    if (view === undefined) return null
    return linkStorage === undefined ? readValue(view, evaluation) : evaluation.reader.links(view, attribute)
  }
}

/** Charges for a value that may be long. `isFollowed`: other rows may refer to the object as well, so that the value is cached. */
function longValue(view: ObjectView, index: number, work: Work, isFollowed: boolean): unknown {
  const value = isFollowed ? view.cachedValue(index) : view.value(index)
  work.spend(valueSteps(value))
  return value
}

type Calculated = Extract<Bound, { kind: 'arithmetic' | 'unary' | 'call' }>

function compileCalculation(bound: Calculated, operands: readonly Evaluate[]): Evaluate {
  const [first, second] = operands
  const work = bound.calculate as (...values: unknown[]) => unknown
  const hasTexts =
    'operands' in bound ? bound.operands.some(({ type }) => isText(type) || type.kind === 'json') : isText(bound.type)
  if (hasTexts) return compileTextCalculation(bound, operands, work)
  const overflow = (evaluation: EvaluationContext): Error =>
    queryError(evaluation.text, bound, `the result is beyond what ${aTypeName(bound.type)} holds`)
  if (first !== undefined && second === undefined) {
    return (evaluation) => {
      const value = first(evaluation)
      if (value === null || value === undefined) return null
      const result = work(value)
      if (result === undefined) throw overflow(evaluation)
      return result
    }
  }
  return (evaluation) => {
    const values: unknown[] = []
    for (const operand of operands) {
      const value = operand(evaluation)
      if (value === null || value === undefined) return null
      values.push(value)
    }
    const result = work(...values)
    if (result === undefined) throw overflow(evaluation)
    return result
  }
}

/** Charges for results before they are created: no function returns more than three times the characters of its operands unless it reserves room. */
function compileTextCalculation(
  bound: Calculated,
  operands: readonly Evaluate[],
  calculate: (...values: unknown[]) => unknown,
): Evaluate {
  const takesRoom = bound.kind === 'call' && bound.takesRoom
  return (evaluation) => {
    const values: unknown[] = []
    let characters = 0
    for (const operand of operands) {
      const value = operand(evaluation)
      if (value === null || value === undefined) return null
      if (typeof value === 'string') characters += value.length
      values.push(value)
    }
    if (bound.kind === 'arithmetic') checkLength(characters, bound, evaluation)
    evaluation.memory.chargeRow(textBytes(characters))
    evaluation.work.spend(textSteps(characters))
    const returned = takesRoom ? calculate(roomFor(bound, evaluation), ...values) : calculate(...values)
    const result = returned instanceof LongWork ? evaluation.work.run(returned.pieces) : returned
    return checked(result, characters, bound, evaluation)
  }
}

function roomFor(bound: Calculated, evaluation: EvaluationContext): TextRoom {
  const { memory } = evaluation
  return {
    text(characters) {
      checkLength(characters, bound, evaluation)
      memory.chargeRow(textBytes(characters))
    },
    element: (characters) => memory.chargeRow(elementBytes + textBytes(characters)),
  }
}

/** Concatenates strings; nulls are skipped. */
function compileConcat(bound: Extract<Bound, { kind: 'concat' }>, operands: readonly Evaluate[]): Evaluate {
  return (evaluation) => {
    const texts: string[] = []
    let characters = 0
    for (const operand of operands) {
      const text = operand(evaluation)
      if (typeof text !== 'string') continue
      characters += text.length
      texts.push(text)
    }
    checkLength(characters, bound, evaluation)
    evaluation.memory.chargeRow(textBytes(characters))
    evaluation.work.spend(textSteps(characters))
    return texts.join('')
  }
}

/** `characters`: number that is already charged. */
function checked(result: unknown, characters: number, bound: Calculated, evaluation: EvaluationContext): unknown {
  if (typeof result === 'string') checkLength(result.length, bound, evaluation)
  evaluation.memory.chargeRow(textBytes((typeof result === 'string' ? result.length : 0) - characters))
  return result
}

function checkLength(characters: number, bound: Span, evaluation: EvaluationContext): void {
  const { textCharactersMax, text } = evaluation
  if (characters <= textCharactersMax) return
  throw placed(
    text,
    bound,
    new AshlarError(
      'LimitExceeded',
      `The text would have ${characters} characters; one has at most ${textCharactersMax} (textCharactersMax).`,
    ),
  )
}

function compileCall(bound: Extract<Bound, { kind: 'call' }>, compiler: Compiler): Evaluate {
  const operands = bound.operands.map((operand, i) => {
    const evaluate = compiler.compile(operand)
    const read = bound.readers[i]
    if (read === undefined) return evaluate
    return (evaluation: EvaluationContext) => {
      const value = evaluate(evaluation)
      return value === null || value === undefined ? null : read(value)
    }
  })
  return compileCalculation(bound, operands)
}

const ticksOfUnit = {
  days: ticksPerDay,
  hours: 3_600 * ticksPerSecond,
  minutes: 60 * ticksPerSecond,
  seconds: ticksPerSecond,
  milliseconds: ticksPerSecond / 1_000,
} as const
const intervalTicksMax = 5_000_000 * ticksPerDay

function compileInterval(bound: Extract<Bound, { kind: 'interval' }>, compiler: Compiler): Evaluate {
  const parts = bound.parts.map(({ unit, amount }) => ({
    perUnit: ticksOfUnit[unit],
    amount: compiler.compile(amount),
  }))
  return (evaluation) => {
    let ticks = 0
    for (const { perUnit, amount } of parts) {
      const value = amount(evaluation)
      if (value === null) return null
      ticks += Math.round(Number(value) * perUnit)
    }
    if (Math.abs(ticks) <= intervalTicksMax) return ticks + 0
    throw queryError(evaluation.text, bound, 'an interval is at most 5,000,000 days')
  }
}

/** Values of the embedded class's attributes; defaults where there is no assignment. */
function compileStructure(bound: Extract<Bound, { kind: 'structure' }>, compiler: Compiler): Evaluate {
  const { cls, assignments } = bound
  const assigned = assignments.map(({ path, value }) => ({ path, value: compiler.compile(value) }))
  const defaults = compiler.formats.of(cls).defaultValues().values
  return (evaluation) =>
    assigned.reduce<readonly unknown[]>(
      (values, { path, value }) => withValue(values, path, value(evaluation) ?? null),
      defaults,
    )
}

/** Sets one attribute of an embedded value, possibly nested. */
function withValue(values: readonly unknown[], path: readonly BoundAttribute[], value: unknown): readonly unknown[] {
  const [first, ...rest] = path
  if (first === undefined) return values
  const inner = rest.length === 0 ? value : withValue(values[first.index] as readonly unknown[], rest, value)
  return values.with(first.index, inner)
}
