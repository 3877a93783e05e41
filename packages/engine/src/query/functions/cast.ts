/** CAST: a value as one of another type (docs/query-language.md, Operators). A text that is no such value gives null. */
import { ValueError } from '../../types/logical-type.ts'
import type { TypeExpression } from '../language/ast.ts'
import { valueOfText } from '../values/coerce.ts'
import type { Convert } from '../values/scalars/scalar-kind.ts'
import { scalarKinds } from '../values/scalars/scalar-kinds.ts'
import type { TextFormats } from '../values/text-format.ts'
import {
  isReference,
  isScalar,
  isText,
  type ScalarKind,
  type ScalarType,
  type ValueType,
  wordOfType,
} from '../values/value-type.ts'

const kindOfWord: ReadonlyMap<string, ScalarKind> = new Map(
  Object.entries(scalarKinds).flatMap(([kind, { words }]) => words.map((word) => [word, kind as ScalarKind])),
)

/** Undefined for a name that is no logical type of single values, and so may be a class. */
export function castTarget(type: TypeExpression): ScalarType | undefined {
  const word = type.name.toLowerCase()
  const kind = kindOfWord.get(word)
  if (kind === undefined) return undefined
  const storage = type.settings.find(({ name }) => name.toLowerCase() === 'storage')?.value
  const isSingle =
    storage === undefined ? word === 'float' : typeof storage === 'object' && storage.name.toLowerCase() === 'b32'
  return kind === 'real' && isSingle ? { kind, isSingle: true } : { kind }
}

/** Types that are younger than CAST: it still means a class of that name, where there is one. */
export function mayBeClass({ name }: TypeExpression): boolean {
  return ['bytes', 'json'].includes(name.toLowerCase())
}

/** Types as CAST takes them, for near names. */
export const castTypes: readonly string[] = [...kindOfWord.keys()].map((word) => wordOfType(word))

/** Undefined where there is no way from one to the other. */
export function castFor(from: ValueType, to: ScalarType, formats: TextFormats): Convert | undefined {
  const convert = conversion(from, to, formats)
  return convert && to.isSingle === true ? (value) => single(convert(value)) : convert
}

function conversion(from: ValueType, to: ScalarType, formats: TextFormats): Convert | undefined {
  const convert = isScalar(from)
    ? (scalarKinds[to.kind].castFrom[from.kind] ?? scalarKinds[from.kind].castTo[to.kind])
    : undefined
  if (convert !== undefined) return convert
  if (from.kind === to.kind) return (value) => value
  if (to.kind === 'string') return toText(from)
  return isText(from) ? (value) => fromText(value as string, to, formats) : undefined
}

function single(value: unknown): unknown {
  return value === null ? null : Math.fround(value as number)
}

function toText(from: ValueType): Convert | undefined {
  if (isReference(from)) return (value) => value
  return isScalar(from) ? (value) => scalarKinds[from.kind].toText(value, from) : undefined
}

function fromText(text: string, to: ScalarType, formats: TextFormats): unknown {
  try {
    return valueOfText(to, text.trim(), formats)
  } catch (error) {
    if (error instanceof ValueError) return null
    throw error
  }
}
