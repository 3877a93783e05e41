/** The dialects of the query language, by the words that configuration and requests have for them. */
import type { Dialect } from '@ashlar/engine'

const dialects: readonly Dialect[] = ['ashlar', 'objectivity']

/** In any case; undefined for what is none. */
export function dialectNamed(word: unknown): Dialect | undefined {
  return typeof word === 'string' ? dialects.find((dialect) => dialect === word.toLowerCase()) : undefined
}

/** For messages. */
export const dialectWords = dialects.join(' or ')
