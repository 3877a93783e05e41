/** Compiles `v IN` a long constant list as a hash lookup. */
import { isLongText, textDigest } from '../../bytes/text-digest.ts'
import { canonicalDecimal, Decimal } from '../../types/decimal-number.ts'
import { type Bound, isConstant } from '../bind/bound.ts'
import { isMany, isReference, isScalarType, type ValueType } from '../values/value-type.ts'
import { toInteger } from '../values/whole-number.ts'
import { elementsIn } from './element-slot.ts'
import type { EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { elementBytes } from './value-bytes.ts'

type Quantifier = Extract<Bound, { kind: 'quantifier' }>

const membersMin = 8
/** Work steps per member that is added. */
const memberSteps = 16

interface Members {
  /** Undefined where equal elements need not be identical. */
  readonly set: ReadonlySet<unknown> | undefined
  readonly hasNull: boolean
}

const noMembers: Members = { set: undefined, hasNull: false }

/** Whether the collection is constant, and its element kind makes equal values identical. */
export function canBeSet({ mode, test, collection }: Quantifier): boolean {
  if (mode !== 'any' || test.kind !== 'equal' || !isConstant(collection) || !isMany(collection.type)) return false
  const { element } = collection.type
  if (!isScalarType(element) && !isReference(element)) return false
  const kinds = [element.kind, test.value.type.kind]
  return kinds[0] === kinds[1] || identicalKinds.some((alike) => kinds.every((kind) => alike.includes(kind)))
}

const identicalKinds: readonly (readonly ValueType['kind'][])[] = [
  ['integer', 'real'],
  ['integer', 'decimal'],
  ['string', 'character'],
  ['reference', 'object'],
]

export function membership(
  { collection }: Quantifier,
  compiler: ExpressionCompiler,
): { has(evaluation: EvaluationContext, value: unknown): boolean | null | undefined } {
  const evaluate = compiler.compile(collection)
  const elements = elementsIn(collection.type)
  const cache = new WeakMap<object, Members>()
  const membersOf = (evaluation: EvaluationContext): Members => {
    const list = evaluate(evaluation) as object
    let members = cache.get(list)
    if (members === undefined) {
      members = membersAmong(elements(list), evaluation)
      cache.set(list, members)
    }
    return members
  }
  return {
    // Undefined where the elements must be compared one by one.
    has(evaluation, value) {
      const member = identity(value)
      if (member === undefined) return undefined
      const { set, hasNull } = membersOf(evaluation)
      if (set === undefined) return undefined
      if (set.has(member)) return true
      return hasNull ? null : false
    },
  }
}

/** Identical for equal values and distinct for different ones; undefined where there is no such representation. */
function identity(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      return textIdentity(value)
    case 'boolean':
      return value
    case 'number':
      // A larger real may equal an integer that is a bigint.
      return Number.isNaN(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)) ? undefined : value
    case 'bigint':
      // Smaller integers are numbers.
      return Number.isSafeInteger(Number(value)) ? undefined : value
    default:
      if (value instanceof Decimal) return decimalIdentity(value)
      // Times with an offset are equal by instant.
      return typeof value === 'object' && value !== null && 'ticks' in value ? value.ticks : undefined
  }
}

/** A whole number is the same as an integer. */
function decimalIdentity(value: Decimal): unknown {
  return value.isInteger
    ? identity(toInteger(BigInt(canonicalDecimal(value))) ?? BigInt(canonicalDecimal(value)))
    : canonicalDecimal(value)
}

/** Prefix of digests that replace long texts; it is doubled in texts that begin with it. */
const digestMark = '\uffff'

function textIdentity(text: string): string {
  if (isLongText(text)) return `${digestMark}${textDigest(text)}`
  return text.startsWith(digestMark) ? `${digestMark}${text}` : text
}

function membersAmong(all: readonly unknown[], { memory, work }: EvaluationContext): Members {
  if (all.length < membersMin) return noMembers
  memory.chargeStatement(all.length * elementBytes)
  const set = new Set<unknown>()
  let hasNull = false
  for (const element of all) {
    work.spend(memberSteps)
    if (element === null) hasNull = true
    else {
      const member = identity(element)
      if (member === undefined) return noMembers
      set.add(member)
    }
  }
  return { set, hasNull }
}
