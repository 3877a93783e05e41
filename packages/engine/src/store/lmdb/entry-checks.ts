/** Verification of the entries of an open store, and errors for damaged ones. */
import type { AshlarError } from '../../errors.ts'
import { DamagedEntry, damagedFile } from '../damaged-entry.ts'
import type { Bytes } from '../store.ts'
import { checkedLength, checksumBytes } from './entry-checksum.ts'
import type { StorageLayout } from './storage-layout.ts'

/** LMDB's error codes for invalid pages; other failures are not caused by the file. */
const damageCodes = new Map([
  [-30_797, 'MDB_PAGE_NOTFOUND'],
  [-30_796, 'MDB_CORRUPTED'],
  [-30_793, 'MDB_INVALID'],
  [-30_787, 'MDB_CURSOR_FULL'],
  [-30_786, 'MDB_PAGE_FULL'],
  [-30_784, 'MDB_INCOMPATIBLE'],
  [-30_782, 'MDB_BAD_TXN'],
  [-30_779, 'MDB_PROBLEM'],
])
/** The message of lmdb-js for a key length that is impossible. */
const invalidKeySize = /^Invalid key size/

/** From this length, results of verification are cached, since checksumming takes long. */
export const longValueBytes = 65_536
const cachedMax = 256

export class EntryChecks {
  /** Replaced by the layer that knows the meaning of keys. */
  nameOf: (key: Bytes) => string = keyInDigits
  readonly hasChecksums: boolean
  /** Keys of long values that were found intact, with length and checksum of the value. */
  private readonly intact = new Map<string, string>()

  constructor(layout: StorageLayout) {
    this.hasChecksums = layout === 'checked'
  }

  /**
   * Length of the value without its checksum; -1 if the checksum does not match. `storedLength`: length of the stored value at the start of `stored`.
   * `view`: of the same bytes, if available, for a faster checksum.
   */
  valueLength(key: Bytes, stored: Bytes, storedLength: number, view?: DataView): number {
    return this.hasChecksums ? checkedLength(key, stored, storedLength, view) : storedLength
  }

  /**
   * Whether an entry adjacent to a sought key is intact, so that it proves that no entry is between. For a long value, a checksum verified earlier
   * with the same key and length is enough: a read of the value verifies it.
   */
  isKeyIntact(key: Bytes, stored: Bytes, storedLength: number): boolean {
    if (!this.hasChecksums || storedLength < longValueBytes) return this.valueLength(key, stored, storedLength) >= 0
    const name = Buffer.from(key).toString('latin1')
    const sum = Buffer.from(stored.subarray(storedLength - checksumBytes, storedLength)).toString('hex')
    const found = `${storedLength} ${sum}`
    if (this.intact.get(name) === found) return true
    if (this.valueLength(key, stored, storedLength) < 0) return false
    if (this.intact.size >= cachedMax) this.intact.clear()
    this.intact.set(name, found)
    return true
  }

  damaged(key: Bytes, why: string): DamagedEntry {
    return new DamagedEntry(key, why, this.nameOf(key))
  }

  /** Converts an error of LMDB into the one to throw. */
  translateError(error: unknown): unknown {
    return pageDamage(error) ?? error
  }
}

/** The DataCorruption for an error of LMDB; undefined if the error does not indicate damage. */
export function pageDamage(error: unknown): AshlarError | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error && typeof error.code === 'number' ? damageCodes.get(error.code) : undefined
  if (code === undefined && !invalidKeySize.test(error.message)) return undefined
  return damagedFile(error.message, { cause: error })
}

function keyInDigits(key: Bytes): string {
  return `The entry under key ${Buffer.from(key).toString('hex')}`
}
