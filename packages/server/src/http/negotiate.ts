/** Content types that a request may send and accept (contract 1.2). */

import type { ReplyType } from '../dispatch/operation.ts'
import { quoteForMessage } from '../errors/problem.ts'
import { ServerError } from '../errors/server-errors.ts'

export type BodyType = 'json' | 'text' | 'ndjson'

const jsonType = /^application\/json\s*(;|,|$)/i
const textType = /^text\/plain\s*(;|$)/i
const linesType = /^application\/(x-)?ndjson\s*(;|$)/i
const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i
const utf8Name = /^(utf-?8|us-ascii)$/i

/**
 * Accepts JSON with any parameters, no header, and the malformed `application/json,Accept:application/json` of some clients; text and lines in UTF-8
 * if the operation takes them. Throws UnsupportedMediaType.
 */
export function readContentType(contentType: string, isText: boolean, isLines = false): BodyType {
  if (contentType === '' || jsonType.test(contentType.trim())) return 'json'
  if (isLines && linesType.test(contentType.trim())) return 'ndjson'
  if (isText && textType.test(contentType.trim())) {
    if (utf8Name.test(charset.exec(contentType)?.[1] ?? 'utf-8')) return 'text'
    throw unsupported('Text is in UTF-8', contentType, 'text/plain; charset=utf-8')
  }
  const other = isText ? ' or text/plain' : isLines ? ' or application/x-ndjson' : ''
  throw unsupported(`Bodies are application/json${other}`, contentType)
}

function unsupported(rule: string, contentType: string, type = 'application/json'): ServerError {
  return new ServerError(
    'UnsupportedMediaType',
    `${rule}, not ${quoteForMessage(contentType)}: send the header Content-Type: ${type}.`,
  )
}

const nameOf: Record<ReplyType, string> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  text: 'text/plain',
  csv: 'text/csv',
  gzip: 'application/gzip',
  events: 'text/event-stream',
  metrics: 'text/plain',
}

export const contentTypeOf: Record<ReplyType, string> = {
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  gzip: 'application/gzip',
  events: 'text/event-stream; charset=utf-8',
  metrics: 'text/plain; version=0.0.4; charset=utf-8',
}

interface MediaRange {
  readonly type: string
  readonly quality: number
}

/** Selects a type of the operation by `accept`: by quality, then named types before wildcards, then the first. Throws NotAcceptable. */
export function negotiate(accept: string | undefined, writable: readonly [ReplyType, ...ReplyType[]]): ReplyType {
  const [usual] = writable
  if (accept === undefined || accept === '*/*' || accept.trim() === '') return usual
  if (accept === 'application/json' && usual === 'json') return usual
  const ranges = accept.split(',').map(readRange)
  const acceptable = writable
    .map((type) => ({ type, ...weigh(nameOf[type], ranges) }))
    .filter(({ quality }) => quality > 0)
    // Sorting is stable.
    .sort((one, other) => other.quality - one.quality || other.precision - one.precision)
  if (acceptable[0] !== undefined) return acceptable[0].type
  // A client that accepts only problem documents means errors; replies are JSON as well, if possible.
  const acceptsProblems = ranges.some(({ type, quality }) => type === 'application/problem+json' && quality > 0)
  if (acceptsProblems && usual === 'json') return usual
  const names = writable.map((type) => nameOf[type]).join(' or ')
  throw new ServerError(
    'NotAcceptable',
    `Not acceptable: this operation returns ${names}, but Accept allows ${quoteForMessage(accept)}.`,
  )
}

/** The most specific range that covers the type decides (RFC 9110, 12.5.1). */
function weigh(name: string, ranges: readonly MediaRange[]): { quality: number; precision: number } {
  const family = `${name.split('/', 1)[0]}/*`
  for (const [i, covering] of [name, family, '*/*'].entries()) {
    const range = ranges.find(({ type }) => type === covering)
    if (range !== undefined) return { quality: range.quality, precision: -i }
  }
  return { quality: 0, precision: 0 }
}

function readRange(range: string): MediaRange {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = weight === undefined ? 1 : Number(weight.slice(2))
  return { type, quality: Number.isFinite(quality) ? quality : 0 }
}
