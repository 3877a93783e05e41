/** The type time: a time of day, to 100 µs; further digits are truncated. */

import { readKeyTicks } from '../bytes/key-reader.ts'
import { readUint32 } from '../bytes/read-number.ts'
import { formatTime, parseTime, ticksPerDay } from './calendar.ts'
import { enumField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { TimeSpec } from './type-spec.ts'

export const time: LogicalType<TimeSpec> = {
  logicalType: 'time',
  fields: ['encoding'],
  define(definition) {
    enumField(definition, 'encoding', ['objy'], 'objy')
    return { logicalType: 'time' }
  },
  describe: () => ({ logicalType: 'time', encoding: 'objy' }),
  codec: () => codec,
}

const codec: Codec<number> = {
  fixedBytes: 4,
  isNullable: true,
  defaultValue: null,
  range: [0, ticksPerDay - 1],
  parse(json) {
    if (typeof json !== 'string') throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a string`)
    const ticks = parseTime(json)
    if (ticks !== undefined) return ticks
    throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} is not a time of day such as 08:05:09.25`)
  },
  accept(input) {
    const ticks = input as number
    if (ticks >= 0 && ticks < ticksPerDay) return ticks
    throw new ValueError('ValueNotAllowed', 'the time is beyond a day')
  },
  write: (value, to) => to.writeUint32(value),
  read: (bytes, start) => readUint32(bytes, start),
  writeJson: (bytes, start, end, json) => json.ascii(`"${formatTime(codec.read(bytes, start, end))}"`),
  toJson: formatTime,
  key: { form: 'eightBytes', write: (value, to) => to.ticks(value), read: readKeyTicks },
}
