/** The type date: a day of the years 0001 to 9999. */

import { readKeyTicks } from '../bytes/key-reader.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { daysMax, formatDay, parseDay } from './calendar.ts'
import { enumField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { DateSpec } from './type-spec.ts'

export const date: LogicalType<DateSpec> = {
  logicalType: 'date',
  fields: ['encoding'],
  define(definition) {
    enumField(definition, 'encoding', ['objy'], 'objy')
    return { logicalType: 'date' }
  },
  describe: () => ({ logicalType: 'date', encoding: 'objy' }),
  codec: () => codec,
}

const codec: Codec<number> = {
  fixedBytes: 4,
  isNullable: true,
  defaultValue: null,
  range: [0, daysMax - 1],
  parse(json) {
    if (typeof json !== 'string') throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a string`)
    const days = parseDay(json)
    if (days !== undefined) return days
    throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is not a date such as 2024-02-29`)
  },
  accept(input) {
    const days = input as number
    if (days >= 0 && days < daysMax) return days
    throw new ValueError('ValueNotAllowed', 'the date is beyond the years 0001 to 9999')
  },
  write: (value, to) => to.writeUint32(value),
  read: (bytes, start) => readUint32(bytes, start),
  writeJson: (bytes, start, end, json) => json.ascii(`"${formatDay(codec.read(bytes, start, end))}"`),
  toJson: formatDay,
  key: { form: 'eightBytes', write: (value, to) => to.ticks(value), read: readKeyTicks },
}
