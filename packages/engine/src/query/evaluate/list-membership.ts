/** `v IN` a long list that is the same for all rows: whether a value is among its elements, without going through them. */
import { isLongText, textDigest } from '../../bytes/text-digest.ts'
import { type Bound, isConstant } from '../bind/bound.ts'
import { LongWork, type Pieces } from '../functions/work.ts'
import { isMany, isReference, isScalar, type ValueType } from '../values/value-type.ts'
import { elementsIn } from './element-slot.ts'
import type { EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import { inParts } from './in-parts.ts'
import { elementBytes } from './value-bytes.ts'

type Quantifier = Extract<Bound, { kind: 'quantifier' }>

const membersMin = 8
/** Members that are added without a turn for others. */
const membersAtOnce = 4_096

interface Members {
  /** Undefined where equal elements need not be identical. */
  readonly set: ReadonlySet<unknown> | undefined
  readonly hasNull: boolean
}

interface BegunMembers {
  members: Members | undefined
  /** Until they are there. Other rows go on with it. */
  making: LongWork | undefined
}

const noMembers: Members = { set: undefined, hasNull: false }

/** Where the collection is the same for all rows, and what is equal in it has one kind, or kinds whose equal values are identical. */
export function canBeSet({ mode, test, collection }: Quantifier): boolean {
  if (mode !== 'any' || test.kind !== 'equal' || !isConstant(collection) || !isMany(collection.type)) return false
  const { element } = collection.type
  if (!isScalar(element) && !isReference(element)) return false
  const kinds = [element.kind, test.value.type.kind]
  return kinds[0] === kinds[1] || identicalKinds.some((alike) => kinds.every((kind) => alike.includes(kind)))
}

const identicalKinds: readonly (readonly ValueType['kind'][])[] = [
  ['integer', 'real'],
  ['string', 'character'],
  ['reference', 'object'],
]

export function membership(
  { collection }: Quantifier,
  compiler: ExpressionCompiler,
): { has(evaluation: EvaluationContext, value: unknown): boolean | null | undefined } {
  const evaluate = compiler.compile(collection)
  const elements = elementsIn(collection.type)
  const known = new WeakMap<object, BegunMembers>()
  const membersOf = inParts(compiler, (evaluation) => {
    const held = evaluate(evaluation) as object
    let begun = known.get(held)
    if (begun === undefined) {
      begun = beginMembers(elements(held), evaluation)
      known.set(held, begun)
    }
    return begun.making ?? begun.members
  })
  return {
    // Undefined where the elements have to be gone through.
    has(evaluation, value) {
      const wanted = identity(value)
      if (wanted === undefined) return undefined
      const { set, hasNull } = membersOf(evaluation) as Members
      if (set === undefined) return undefined
      if (set.has(wanted)) return true
      return hasNull ? null : false
    },
  }
}

/** The same for equal values, and for no others; undefined where a value has none. */
function identity(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      return textIdentity(value)
    case 'boolean':
      return value
    case 'number':
      // A real number beyond them may equal an integer that is a bigint.
      return Number.isNaN(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)) ? undefined : value
    case 'bigint':
      // Smaller ones are numbers.
      return Number.isSafeInteger(Number(value)) ? undefined : value
    default:
      // Times with an offset are equal by instant.
      return typeof value === 'object' && value !== null && 'ticks' in value ? value.ticks : undefined
  }
}

/** Of those that stand for a long text; others that begin so have one more. */
const digestMark = '\uffff'

function textIdentity(text: string): string {
  if (isLongText(text)) return `${digestMark}${textDigest(text)}`
  return text.startsWith(digestMark) ? `${digestMark}${text}` : text
}

function beginMembers(all: readonly unknown[], { memory }: EvaluationContext): BegunMembers {
  if (all.length < membersMin) return { members: noMembers, making: undefined }
  memory.chargeStatement(all.length * elementBytes)
  const begun: BegunMembers = { members: undefined, making: undefined }
  begun.making = new LongWork(membersInPieces(all), (members) => {
    begun.members = members as Members
    begun.making = undefined
    return members
  })
  return begun
}

function* membersInPieces(all: readonly unknown[]): Pieces {
  const set = new Set<unknown>()
  let hasNull = false
  for (const [i, element] of all.entries()) {
    if (element === null) hasNull = true
    else {
      const member = identity(element)
      if (member === undefined) return noMembers
      set.add(member)
    }
    if (i % membersAtOnce === membersAtOnce - 1) yield membersAtOnce * memberSteps
  }
  return { set, hasNull } satisfies Members
}

const memberSteps = 16
