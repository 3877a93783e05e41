/** Numbers given as such or as quoted text (contract 1.2.6). */
import { nearestDouble } from './hidden-fraction.ts'
import { formatForMessage, ValueError } from './logical-type.ts'

const form = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** What is beyond a double is infinite. Throws ValueError for what is not a JSON number, alone or quoted. */
export function parseNumber(json: unknown): number {
  if (typeof json === 'number') return json
  if (typeof json === 'bigint' || (typeof json === 'string' && form.test(json))) return Number(json)
  if (typeof json === 'symbol') return nearestDouble(json)
  throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a number`)
}
