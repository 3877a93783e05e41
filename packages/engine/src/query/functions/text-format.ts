/** USE … FORMAT: how dates and times are written in the texts that are cast from and to them (DO, section 3). */
import { ValueError } from '../../types/logical-type.ts'

/**
 * Patterns of yyyy (or YYYY), MM, dd (or DD), HH, mm, ss and f (a digit of the fraction each); anything else stands for
 * itself.
 */
export interface TextFormats {
  readonly date: string | undefined
  readonly time: string | undefined
  readonly datetime: string | undefined
}

export const noTextFormats: TextFormats = { date: undefined, time: undefined, datetime: undefined }

const fields = /yyyy|YYYY|MM|dd|DD|HH|mm|ss|f+/g

/** Whether a format has anything that a value could be read from. */
export function isTextFormat(format: string): boolean {
  return format.search(fields) >= 0
}

function fieldName(field: string): string {
  return field === 'YYYY' || field === 'DD' ? field.toLowerCase() : field
}

/** A text in the format that was set, as it would be written without one. Throws ValueError. */
export function plainText(kind: string, text: string, formats: TextFormats): string {
  const format = formatFor(kind, formats)
  if (format === undefined) return text
  const names: string[] = []
  const pattern = escaped(format).replace(fields, (written) => {
    const field = fieldName(written)
    names.push(field)
    return field.startsWith('f') ? '(\\d{1,9})' : `(\\d{${field === 'yyyy' ? 4 : '1,2'}})`
  })
  const match = new RegExp(`^${pattern}$`).exec(text)
  if (match === null) {
    throw new ValueError('ValueNotAllowed', `'${text.slice(0, 60)}' is not written as ${format.slice(0, 60)}`)
  }
  const part = (name: string, otherwise: string): string => {
    const at = names.indexOf(name)
    return at < 0 ? otherwise : (match[at + 1] as string).padStart(otherwise.length, '0')
  }
  const fraction = names.findIndex((name) => name.startsWith('f'))
  const date = `${part('yyyy', '0001')}-${part('MM', '01')}-${part('dd', '01')}`
  const digits = fraction < 0 ? '' : `.${match[fraction + 1]}`
  const time = `${part('HH', '00')}:${part('mm', '00')}:${part('ss', '00')}${digits}`
  if (kind === 'date') return date
  return kind === 'time' ? time : `${date}T${time}`
}

/** A date or time that is written plainly, in the format that was set. */
export function formattedText(kind: string, text: string, formats: TextFormats): string {
  const format = formatFor(kind, formats)
  if (format === undefined) return text
  const [, year = '', month = '', day = ''] = /(\d{4})-(\d{2})-(\d{2})/.exec(text) ?? []
  const [, hour = '', minute = '', second = '', fraction = ''] = /(\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?/.exec(text) ?? []
  const values: Readonly<Record<string, string>> = { yyyy: year, MM: month, dd: day, HH: hour, mm: minute, ss: second }
  return format.replace(
    fields,
    (field) => values[fieldName(field)] ?? fraction.padEnd(field.length, '0').slice(0, field.length),
  )
}

function formatFor(kind: string, formats: TextFormats): string | undefined {
  if (kind === 'date') return formats.date
  if (kind === 'time') return formats.time
  return kind === 'datetime' || kind === 'datetimeoffset' ? formats.datetime : undefined
}

function escaped(format: string): string {
  return format.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
