/** Compiles references to the objects they point to, found by the OID bytes in the records without building OID texts. */
import type { JsonWriter } from '../../bytes/json-writer.ts'
import type { Oid } from '../../types/oid.ts'
import type { Bound, BoundAttribute } from '../bind/bound.ts'
import { isNothing } from '../values/compare.ts'
import type { EvaluationContext } from './evaluation-context.ts'
import type { ExpressionCompiler } from './expression-compiler.ts'
import type { ObjectView } from './object-view.ts'

/** Undefined for null; an object without a format where the reference dangles. */
export type EvaluateTarget = (evaluation: EvaluationContext) => ObjectView | undefined

/** The object that an expression refers to. */
export function compileTarget(bound: Bound, compiler: ExpressionCompiler): EvaluateTarget {
  if ((bound.kind === 'attribute' || bound.kind === 'follow') && isReferenceOfRecord(bound.attribute)) {
    const { index } = bound.attribute
    const owner = compileOwner(bound, compiler)
    return (evaluation) => owner(evaluation)?.target(index, evaluation.reader)
  }
  const reference = compiler.compile(bound)
  return (evaluation) => {
    const oid = reference(evaluation)
    return isNothing(oid) ? undefined : evaluation.reader.object(oid as Oid)
  }
}

type AttributeOf = Extract<Bound, { kind: 'attribute' | 'follow' }>

/** The object that has the attribute; undefined where there is none. */
export function compileOwner(bound: AttributeOf, compiler: ExpressionCompiler): EvaluateTarget {
  if (bound.kind === 'attribute') {
    const { slot } = bound
    return ({ slots }) => slots[slot] as ObjectView | undefined
  }
  const { cls } = bound.attribute
  const target = compileTarget(bound.object, compiler) as EvaluateTarget
  return (evaluation) => {
    const view = target(evaluation)
    return view?.format?.cls.isOrInherits(cls.number) === true ? view : undefined
  }
}

export function isReferenceOfRecord({ spec, linkStorage }: BoundAttribute): boolean {
  return spec.logicalType === 'reference' && linkStorage === undefined
}

/** Writes the value as JSON from where it is stored; false, with nothing written, where that is not possible. */
export type WriteStored = (json: JsonWriter, evaluation: EvaluationContext) => boolean

/** Types whose JSON in a query equals that in an object. */
const storedKinds: ReadonlySet<string> = new Set(['string', 'integer', 'boolean'])

/** Undefined for expressions other than attributes in records, and for values that queries represent differently. */
export function compileStoredJson(bound: Bound, compiler: ExpressionCompiler): WriteStored | undefined {
  if (bound.kind !== 'attribute' && bound.kind !== 'follow') return undefined
  const { index, linkStorage, type } = bound.attribute
  if (linkStorage !== undefined || !storedKinds.has(type.kind) || bound.type.kind !== type.kind) return undefined
  const owner = compileOwner(bound, compiler)
  return (json, evaluation) => {
    const view = owner(evaluation)
    if (view !== undefined) return view.writeStoredJson(json, index)
    json.ascii('null')
    return true
  }
}

/** A reference in the record of an object of the row. */
export interface RowReference {
  /** Slot of the object. */
  readonly slot: number
  /** Index of the attribute in the object's class. */
  readonly index: number
}

/** The reference that a path of attributes begins with, which determines the path's value. Undefined for other expressions. */
export function firstReference(bound: Bound): RowReference | undefined {
  if (bound.kind !== 'follow') return undefined
  const { object } = bound
  if (object.kind === 'follow') return firstReference(object)
  if (object.kind !== 'attribute' || !isReferenceOfRecord(object.attribute)) return undefined
  return { slot: object.slot, index: object.attribute.index }
}
