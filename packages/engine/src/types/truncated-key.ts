/** Types with keys of any length, of which an index stores the first `maxStoredStringLength` characters or bytes. */
import type { TypeSpec } from './type-spec.ts'

export function isTruncatedInKeys({ logicalType }: TypeSpec): boolean {
  return logicalType === 'string' || logicalType === 'bytes'
}
