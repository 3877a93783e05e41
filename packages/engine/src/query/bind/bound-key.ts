/** When two expressions are the same, however names in them are spelled. */
import type { Bound } from './bound.ts'

/** The same for expressions of the same value: paths by their attributes, anything else by what is written. */
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
      // The reference to nothing as null: the same expression.
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

/** Each expression has slots of its own for elements: they do not tell expressions apart. */
function elementKey(body: Bound, slot: number, text: string): string {
  const key = boundKey(body, text)
  const own = `${slot}.`
  return key.startsWith(own) ? key.slice(own.length) : key
}
