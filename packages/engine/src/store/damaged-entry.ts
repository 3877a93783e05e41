/** The error of a read that found bytes other than those that were written. */
import { AshlarError } from '../errors.ts'
import type { Bytes } from './store.ts'

/** What to do about it, for whoever reads an error or a report. */
const damageAdvice = "Run 'ashlar verify' on the store, and restore a backup."

/** Type DataCorruption: one entry cannot be trusted. */
export class DamagedEntry extends AshlarError {
  /** As it is stored; where the key itself is damaged, no entry may ever have had it. */
  readonly key: Bytes
  /** What is wrong with the entry, as part of a sentence. */
  readonly why: string

  /** `name`: what the entry is to people, such as an object by its OID. */
  constructor(key: Bytes, why: string, name: string) {
    super('DataCorruption', `${name} is damaged in the store: ${why}. ${damageAdvice}`)
    this.key = Buffer.from(key)
    this.why = why
  }
}

/** Type DataCorruption: the store's file cannot be read at some place. */
export function damagedFile(reason: string, options: ErrorOptions): AshlarError {
  const error = new AshlarError('DataCorruption', `The file of the store is damaged: ${reason}. ${damageAdvice}`)
  return Object.assign(error, options)
}
