/** Which content types a request may send and ask for (REST interface, section 1). */
import { ServerError } from './server-errors.ts'

const jsonType = /^application\/json\s*(;|,|$)/i

/**
 * JSON, with any parameters; also the malformed header `application/json,Accept:application/json` that clients in the
 * field send, and none at all. Throws UnsupportedMediaType.
 */
export function checkContentType(contentType: string | undefined): void {
  if (contentType === undefined || contentType === '' || jsonType.test(contentType.trim())) return
  throw new ServerError('UnsupportedMediaType', `Bodies are application/json, not '${contentType.slice(0, 60)}'.`)
}

const writable = ['application/json', 'application/problem+json', 'application/*', '*/*']

/** Throws NotAcceptable where `accept` excludes JSON. */
export function checkAccept(accept: string | undefined): void {
  if (accept === undefined || accept === '*/*' || accept === 'application/json' || accept.trim() === '') return
  const ranges = accept.split(',').map(readRange)
  const refused = new Set(ranges.filter(({ quality }) => quality === 0).map(({ type }) => type))
  const isAcceptable = ranges.some(({ type, quality }) => {
    return quality > 0 && writable.includes(type) && !(type.includes('*') && refused.has('application/json'))
  })
  if (isAcceptable) return
  throw new ServerError('NotAcceptable', `Replies are application/json; Accept asks for '${accept.slice(0, 60)}'.`)
}

function readRange(range: string): { type: string; quality: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = weight === undefined ? 1 : Number(weight.slice(2))
  return { type, quality: Number.isFinite(quality) ? quality : 0 }
}
