/** Probes of a receipt: its expiry entry exists, and conversely. */
import { decodeReceipt, endKey, readEndKey } from '../receipts/receipt-entry.ts'
import type { Bytes } from '../store/store.ts'
import { mustExist, type Probe, type VerifyContext } from './probe.ts'

export function probeReceipt(_context: VerifyContext, key: Bytes, value: Bytes): Probe[] {
  const end = readEndKey(key)
  const name = Buffer.from(key).toString('hex')
  if (end !== undefined) return [mustExist(end.key, `The receipt that entry ${name} ends does not exist.`)]
  const { endMinute } = decodeReceipt(value)
  return [mustExist(endKey(key, endMinute), `Receipt ${name} has no entry that ends it.`)]
}
