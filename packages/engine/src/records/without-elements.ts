/** Removes elements of a list or set by value (contract 4.3.4, 10.6.27). */
import { ByteWriter } from '../bytes/byte-writer.ts'
import { removalMasksMax } from '../limits.ts'
import { type Codec, type StepwiseWork, ValueError } from '../types/logical-type.ts'
import type { AttributeFormat, ClassFormat } from './class-format.ts'
import { unevaluated } from './creation-value.ts'

type Values = readonly unknown[]

/** By attribute of an embedded object, or element of a list of them: whether it matches any value. */
type Mask = readonly (boolean | Mask)[]

/**
 * The elements that are not equal to one of `removed`. Elements are compared in stored form, in which -0 is 0; each is encoded once for each set of
 * attributes that those to be removed leave to expressions. Throws ValueError if there are too many such sets.
 */
export function* withoutElements(
  { codec, elements: format }: Pick<AttributeFormat, 'codec' | 'elements'>,
  elements: readonly unknown[],
  removed: readonly unknown[],
): StepwiseWork<readonly unknown[]> {
  const formOf = formWriter(codec)
  if (format === undefined || !format.isEvaluated) {
    const forms = new Set<string>()
    yield* each(removed, (element) => forms.add(formOf(element)))
    return yield* rejected(elements, (element) => forms.has(formOf(element)))
  }
  const byMask = new Map<string, { readonly mask: Mask; readonly forms: Set<string> }>()
  yield* each(removed as readonly Values[], (element) => {
    const mask = maskOf(format, element)
    const key = JSON.stringify(mask)
    const same = byMask.get(key) ?? { mask, forms: new Set() }
    same.forms.add(formOf(masked(format, element, mask)))
    byMask.set(key, same)
  })
  if (byMask.size > removalMasksMax) throw tooManyMasks(byMask.size)
  let rest = elements as readonly Values[]
  for (const { mask, forms } of byMask.values()) {
    rest = yield* rejected(rest, (element) => forms.has(formOf(masked(format, element, mask))))
  }
  return rest
}

const elementsPerYield = 100

function* each<T>(all: readonly T[], use: (one: T) => unknown): StepwiseWork<void> {
  for (const [i, one] of all.entries()) {
    use(one)
    if (i % elementsPerYield === elementsPerYield - 1) yield
  }
}

function* rejected<T>(all: readonly T[], isRemoved: (one: T) => boolean): StepwiseWork<T[]> {
  const rest: T[] = []
  yield* each(all, (one) => isRemoved(one) || rest.push(one))
  return rest
}

function tooManyMasks(count: number): ValueError {
  const words = `leave ${count} different sets of attributes to expressions; those of one removal may leave ${removalMasksMax}`
  return new ValueError('ValueNotAllowed', `the elements to be removed ${words}`)
}

/** `codec`: of the collection. */
function formWriter(codec: Codec): (element: unknown) => string {
  const writer = new ByteWriter(64)
  return (element) => {
    if (typeof element === 'string') return element
    writer.reset()
    codec.write([element === 0 ? 0 : element], writer)
    return writer.bytes.toString('latin1', 0, writer.length)
  }
}

function maskOf(format: ClassFormat, values: Values): Mask {
  return format.attributes.map(({ index, embedded, elements }) => {
    const value = values[index] as Values | undefined
    if (value === unevaluated) return true
    if (embedded !== undefined) return maskOf(embedded, value)
    return elements === undefined ? false : value.map((element) => maskOf(elements, element as Values))
  })
}

/** Null in place of what matches any value. */
function masked(format: ClassFormat, values: Values, mask: Mask): Values {
  return format.attributes.map(({ index, embedded, elements }) => {
    const part = mask[index] as boolean | Mask
    if (part === true) return null
    const value = format.valueAt(values, index)
    if (part === false) return value
    if (embedded !== undefined) return masked(embedded, value as Values, part)
    const list = value as readonly Values[]
    return list.map((one, i) => (part[i] === undefined ? one : masked(elements as ClassFormat, one, part[i] as Mask)))
  })
}
