/** If-Match and If-None-Match (RFC 9110, 13.1): conditions on the version of an object. */
import { AshlarError, type TagCondition } from '@ashlar/engine'
import { quoteForMessage } from '../errors/problem.ts'
import type { OperationRequest } from './operation.ts'

type Headers = OperationRequest['headers']

/** `*`, or entity tags; undefined without the header. */
type EntityTags = '*' | readonly string[] | undefined

const entityTag = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g
const entityTagList = new RegExp(`^\\s*${entityTag.source}(?:\\s*,\\s*${entityTag.source})*\\s*$`)

/** Returns the tag in `If-None-Match` of the client's current copy, compressed or not, with which GET replies 304. */
export function tagNotModified(headers: Headers, current: string): string | undefined {
  const tags = read(headers['if-none-match'])
  if (tags === undefined || tags === '*') return tags && current
  return tags.find((tag) => weakly(tag, current))?.replace(/^W\//, '')
}

/** Returns the tag of an encoded representation: `"abc"` becomes `"abc.gzip"`, which conditions accept as `"abc"`. Tags themselves have no dot. */
export function encodedTag(tag: string, encoding: string): string {
  return tag.replace(/"$/, `.${encoding}"`)
}

function plainTag(tag: string): string {
  return tag.replace(/\.(?:gzip|br)"$/, '"')
}

/** Returns the condition of a change; undefined without one. Throws MalformedRequest. */
export function conditionOf(headers: Headers): TagCondition | undefined {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined
  requireEntityTags(ifMatch)
  const match = read(ifMatch)
  const noneMatch = read(ifNoneMatch)
  return (current) => holds(match, noneMatch, current)
}

/** Refuses a condition that can only be a mistake. Throws MalformedRequest. */
function requireEntityTags(header: Headers[string]): void {
  const text = Array.isArray(header) ? header.join(', ') : header
  if (text === undefined || isEntityTags(text)) return
  const message = `If-Match is * or ETags in double quotes, as replies have them ("abc"), not ${quoteForMessage(text)}.`
  throw new AshlarError('MalformedRequest', message)
}

/** Returns the condition of a read, which a transaction checks again at its commit. */
export function matchOf(headers: Headers): TagCondition | undefined {
  requireEntityTags(headers['if-match'])
  return headers['if-match'] === undefined ? undefined : (current) => isMatch(headers, current)
}

/** Returns true for a valid header value: `*`, or a list of entity tags. */
export function isEntityTags(text: string): boolean {
  return text.trim() === '*' || entityTagList.test(text)
}

/** Evaluates If-Match on GET. */
export function isMatch(headers: Headers, current: string): boolean {
  requireEntityTags(headers['if-match'])
  const tags = read(headers['if-match'])
  return tags === undefined || isAny(tags, current, strongly)
}

function holds(match: EntityTags, noneMatch: EntityTags, current: string): boolean {
  if (match !== undefined && !isAny(match, current, strongly)) return false
  return noneMatch === undefined || !isAny(noneMatch, current, weakly)
}

/** Tests an existing object, for which `*` always matches. */
function isAny(
  tags: NonNullable<EntityTags>,
  current: string,
  isSame: (one: string, other: string) => boolean,
): boolean {
  return tags === '*' || tags.some((tag) => isSame(tag, current))
}

function strongly(tag: string, current: string): boolean {
  return plainTag(tag) === current
}

function weakly(tag: string, current: string): boolean {
  return plainTag(tag.replace(/^W\//, '')) === current
}

function read(header: Headers[string]): EntityTags {
  if (header === undefined) return undefined
  const text = Array.isArray(header) ? header.join(', ') : header
  return text.trim() === '*' ? '*' : (text.match(entityTag) ?? [])
}
