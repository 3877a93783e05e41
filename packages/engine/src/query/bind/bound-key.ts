/** Compares expressions independently of the spelling of names. */
import type { Bound } from './bound.ts'

/** Returns equal keys for equal expressions: paths are compared by attribute, anything else by source text. */
export function boundKey(bound: Bound, text: string): string {
  switch (bound.kind) {
    case 'attribute':
      return `${bound.slot}.${bound.attribute.number}`
    case 'follow':
      return `${boundKey(bound.object, text)}.${bound.attribute.number}`
    case 'field':
      return `${boundKey(bound.object, text)}/${bound.index}`
    case 'each':
      return `${boundKey(bound.collection, text)}*${elementKey(bound.body, bound.slot, text)}`
    case 'convert':
      // A reference with nothing read as null is the same expression.
      return bound.type === bound.operand.type ? boundKey(bound.operand, text) : written(bound, text)
    case 'constant':
      return String(bound.value)
    case 'aggregate':
      return `aggregate ${bound.index}`
    default:
      return written(bound, text)
  }
}

function written({ start, end }: Bound, text: string): string {
  return text.slice(start, end).replace(/\s+/g, ' ')
}

/** Replaces the element's slot, which is unique to each expression. */
function elementKey(body: Bound, slot: number, text: string): string {
  const key = boundKey(body, text)
  const own = `${slot}.`
  return key.startsWith(own) ? key.slice(own.length) : key
}
