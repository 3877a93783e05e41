/** Parses numbers, also as quoted text (contract 1.2.6). */
import { nearestDouble } from './hidden-fraction.ts'
import { formatForMessage, ValueError } from './logical-type.ts'

const form = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** Returns infinity for numbers beyond a double. Throws ValueError unless the value is a JSON number, possibly quoted. */
export function parseNumber(json: unknown): number {
  if (typeof json === 'number') return json
  if (typeof json === 'bigint' || (typeof json === 'string' && form.test(json))) return Number(json)
  if (typeof json === 'symbol') return nearestDouble(json)
  throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a number`)
}
