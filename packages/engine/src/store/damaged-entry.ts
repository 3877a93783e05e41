/** The error for stored bytes that differ from the bytes written. */
import { AshlarError } from '../errors.ts'
import type { Bytes } from './store.ts'

const damageAdvice = "Run 'ashlar verify' on the store, and restore a backup."

/** DataCorruption: one entry failed verification. */
export class DamagedEntry extends AshlarError {
  /** The stored key; if the key itself is damaged, no entry may ever have had it. */
  readonly key: Bytes
  /** The fault, as part of a sentence. */
  readonly why: string

  /** `name`: how messages refer to the entry, such as by the OID of its object. */
  constructor(key: Bytes, why: string, name: string) {
    super('DataCorruption', `${name} is damaged in the store: ${why}. ${damageAdvice}`)
    this.key = Buffer.from(key)
    this.why = why
  }
}

/** DataCorruption: part of the data file is unreadable. */
export function damagedFile(reason: string, options: ErrorOptions): AshlarError {
  const error = new AshlarError('DataCorruption', `The file of the store is damaged: ${reason}. ${damageAdvice}`)
  return Object.assign(error, options)
}
