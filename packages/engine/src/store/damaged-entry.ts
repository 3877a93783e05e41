/** The failure of a read that met an entry whose bytes are not those that were written. */
import type { Bytes } from './store.ts'

export class DamagedEntry extends Error {
  /** As it is stored; where the key itself is damaged, no object may have ever had it. */
  readonly key: Bytes

  /** `why`: what is wrong with the entry, as part of a sentence. */
  constructor(key: Bytes, why: string) {
    super(`the entry under key ${Buffer.from(key).toString('hex')} is damaged: ${why}`)
    this.name = 'DamagedEntry'
    this.key = Buffer.from(key)
  }
}
