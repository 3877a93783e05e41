/**
 * The types datetime and datetimeoffset: a day and time without an offset (a given offset is applied, which results in UTC, and dropped), or an
 * instant with the offset it was given in.
 */

import { readKeyTicks } from '../bytes/key-reader.ts'
import { readDouble } from '../bytes/read-number.ts'
import { daysMax, formatDay, formatTime, parseDay, parseTime, ticksPerDay, ticksPerSecond } from './calendar.ts'
import { enumField } from './definition-fields.ts'
import { type Codec, formatForMessage, type LogicalType, ValueError } from './logical-type.ts'
import type { DateTimeSpec } from './type-spec.ts'

/** An instant, compared by `ticks` alone. */
export interface OffsetDateTime {
  /** 100 µs since 0001-01-01T00:00Z; may be negative by less than a day, for local times at the start of year 1. */
  readonly ticks: number
  readonly offsetMinutes: number
}

const form = /^(\d{4}[-/]\d{2}[-/]\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?: ?(Z|[+-]\d{2}:\d{2}))?$/
const offsetMinutesMax = 14 * 60
const ticksPerMinute = 60 * ticksPerSecond

export const datetime: LogicalType<DateTimeSpec> = {
  logicalType: 'datetime',
  fields: ['encoding', 'storage'],
  define(definition) {
    enumField(definition, 'encoding', ['objy'], 'objy')
    return {
      logicalType: 'datetime',
      storage: enumField(definition, 'storage', ['datetime', 'datetimeoffset'], 'datetime'),
    }
  },
  describe: ({ storage }) => ({ logicalType: 'datetime', encoding: 'objy', storage }),
  codec: ({ storage }) => (storage === 'datetime' ? plainCodec : offsetCodec),
}

interface Parsed {
  readonly local: number
  /** Undefined if the text has no offset. */
  readonly offsetMinutes: number | undefined
}

/** Throws ValueError. */
function parse(json: unknown): Parsed {
  if (typeof json !== 'string') throw new ValueError('MalformedValue', `${formatForMessage(json)} is not a string`)
  const match = form.exec(json)
  const days = match === null ? undefined : parseDay(match[1] as string)
  const ticks = match === null ? undefined : parseTime(match[2] as string)
  if (match !== null && days !== undefined && ticks !== undefined) {
    return { local: days * ticksPerDay + ticks, offsetMinutes: offsetMinutesOf(match[3], json) }
  }
  throw new ValueError(
    'ValueNotAllowed',
    `${formatForMessage(json)} is not a date and time such as 2024-02-29T08:05:09.25`,
  )
}

function offsetMinutesOf(offset: string | undefined, json: unknown): number | undefined {
  if (offset === undefined) return undefined
  const minutes = offset === 'Z' ? 0 : parseOffset(offset)
  if (minutes !== undefined) return minutes
  throw new ValueError('ValueNotAllowed', `${formatForMessage(json)} has an offset beyond 14:00`)
}

/** True for ticks of the years 1 to 9999; an instant with an offset may exceed them by less than a day. */
export function isWithinYears(ticks: number): boolean {
  return ticks >= 0 && ticks < ticksPerDay * daysMax
}

/** Converts to a plain datetime. Throws ValueError outside the years 1 to 9999. */
export function withoutOffset(moment: OffsetDateTime): number {
  if (isWithinYears(moment.ticks)) return moment.ticks
  throw beyondYears(`'${formatOffset(moment)}'`)
}

function beyondYears(text: string): ValueError {
  return new ValueError('ValueNotAllowed', `${text} is beyond the years 0001 to 9999 when its offset is applied`)
}

function formatLocal(ticks: number): string {
  const days = Math.floor(ticks / ticksPerDay)
  return `${formatDay(days)}T${formatTime(ticks - days * ticksPerDay)}`
}

const plainCodec: Codec<number> = {
  fixedBytes: 8,
  isNullable: true,
  defaultValue: null,
  range: [0, ticksPerDay * daysMax - 1],
  parse(json) {
    const { local, offsetMinutes = 0 } = parse(json)
    const ticks = local - offsetMinutes * ticksPerMinute
    if (isWithinYears(ticks)) return ticks
    throw beyondYears(formatForMessage(json))
  },
  accept(input) {
    if (isWithinYears(input as number)) return input as number
    throw new ValueError('ValueNotAllowed', 'the date is beyond the years 0001 to 9999')
  },
  write: (value, to) => to.writeDouble(value),
  read: readTicks,
  writeJson: (bytes, start, _end, json) => json.ascii(`"${formatLocal(readTicks(bytes, start))}"`),
  toJson: formatLocal,
  key: { form: 'eightBytes', write: (value, to) => to.ticks(value), read: readKeyTicks },
}

const offsetCodec: Codec<OffsetDateTime> = {
  fixedBytes: 10,
  isNullable: true,
  defaultValue: null,
  parse(json) {
    const { local, offsetMinutes = 0 } = parse(json)
    return { ticks: local - offsetMinutes * ticksPerMinute, offsetMinutes }
  },
  accept(input) {
    const { ticks, offsetMinutes } = input as OffsetDateTime
    if (isWithinYears(ticks + offsetMinutes * ticksPerMinute)) return input as OffsetDateTime
    throw new ValueError('ValueNotAllowed', 'the date is beyond the years 0001 to 9999')
  },
  write(value, to) {
    const at = to.reserve(10)
    to.bytes.writeDoubleBE(value.ticks, at)
    to.bytes.writeInt16BE(value.offsetMinutes, at + 8)
  },
  read: (bytes, start) => ({
    ticks: readTicks(bytes, start),
    offsetMinutes: Buffer.from(bytes.buffer, bytes.byteOffset + start + 8, 2).readInt16BE(0),
  }),
  writeJson: (bytes, start, end, json) => json.ascii(`"${formatOffset(offsetCodec.read(bytes, start, end))}"`),
  toJson: formatOffset,
  key: { form: 'eightBytes', write: (value, to) => to.ticks(value.ticks) },
}

function readTicks(bytes: Uint8Array, start: number): number {
  return readDouble(bytes, start)
}

function parseOffset(text: string): number | undefined {
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(4, 6))
  const total = hours * 60 + minutes
  if (minutes > 59 || total > offsetMinutesMax) return undefined
  return text.startsWith('-') && total > 0 ? -total : total
}

function formatOffset({ ticks, offsetMinutes }: OffsetDateTime): string {
  const local = formatLocal(ticks + offsetMinutes * ticksPerMinute)
  if (offsetMinutes === 0) return `${local}Z`
  const size = Math.abs(offsetMinutes)
  const hours = String(Math.floor(size / 60)).padStart(2, '0')
  return `${local}${offsetMinutes < 0 ? '-' : '+'}${hours}:${String(size % 60).padStart(2, '0')}`
}
