/** How the entries of one open store are verified, and how damaged ones are reported. */
import type { AshlarError } from '../../errors.ts'
import { DamagedEntry, damagedFile } from '../damaged-entry.ts'
import type { Bytes } from '../store.ts'
import { checkedLength, checksumBytes } from './entry-checksum.ts'
import type { StorageLayout } from './storage-layout.ts'

/** LMDB's own words for pages that cannot be what they should be; any other failure is not one of the file. */
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
/** lmdb-js's own, for a length that no key has. */
const invalidKeySize = /^Invalid key size/

/** To sum up values from here on takes so long that it is remembered what came of it. */
export const longValueBytes = 65_536
/** Of so many keys. */
const rememberedMax = 256

export class EntryChecks {
  /** Whoever knows what the keys stand for gives it. */
  nameOf: (key: Bytes) => string = keyInDigits
  readonly hasChecksums: boolean
  /** Keys of long values that were found intact, each with the length and the checksum that the value had. */
  private readonly intact = new Map<string, string>()

  constructor(layout: StorageLayout) {
    this.hasChecksums = layout === 'checked'
  }

  /**
   * Of the value without its checksum; -1 where that does not fit. `storedLength`: what of `stored` is the stored value. `view`: of the bytes of
   * `stored`, where there is one, with which they are summed up sooner.
   */
  valueLength(key: Bytes, stored: Bytes, storedLength: number, view?: DataView): number {
    return this.hasChecksums ? checkedLength(key, stored, storedLength, view) : storedLength
  }

  /**
   * Whether an entry that stands next to what is looked for is intact: its key proves that there is nothing between. A checksum that fitted the key and a
   * value of that length proves the key again without the value being summed up: whoever reads the value has it verified.
   */
  isKeyIntact(key: Bytes, stored: Bytes, storedLength: number): boolean {
    if (!this.hasChecksums || storedLength < longValueBytes) return this.valueLength(key, stored, storedLength) >= 0
    const name = Buffer.from(key).toString('latin1')
    const sum = Buffer.from(stored.subarray(storedLength - checksumBytes, storedLength)).toString('hex')
    const found = `${storedLength} ${sum}`
    if (this.intact.get(name) === found) return true
    if (this.valueLength(key, stored, storedLength) < 0) return false
    if (this.intact.size >= rememberedMax) this.intact.clear()
    this.intact.set(name, found)
    return true
  }

  damaged(key: Bytes, why: string): DamagedEntry {
    return new DamagedEntry(key, why, this.nameOf(key))
  }

  /** The error to throw for one of LMDB. */
  ofRead(error: unknown): unknown {
    return pageDamage(error) ?? error
  }
}

/** What an error of LMDB says about the file; undefined where it says nothing. */
export function pageDamage(error: unknown): AshlarError | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error && typeof error.code === 'number' ? damageCodes.get(error.code) : undefined
  if (code === undefined && !invalidKeySize.test(error.message)) return undefined
  return damagedFile(error.message, { cause: error })
}

function keyInDigits(key: Bytes): string {
  return `The entry under key ${Buffer.from(key).toString('hex')}`
}
