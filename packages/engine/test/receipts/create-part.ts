/** A request that creates an object once. */
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { AlreadyDone } from '../../src/receipts/receipt.ts'

export const part = {
  className: 'Part',
  isReferenceable: true,
  attributes: [{ attributeName: 'code', logicalType: 'integer' }],
}

/** The OID that is replied. Throws what `Receipt.check` does, save AlreadyDone. */
export async function createPart(fd: FederatedDatabase, key: string, code = 1): Promise<string> {
  const fingerprint = Buffer.alloc(32, code)
  const once = { request: { caller: '', key, fingerprint }, replyOf: (oid: string) => Buffer.from(oid) }
  try {
    return await fd.transaction((step) => step(1).createObject('Part', { code }), false, once)
  } catch (error) {
    if (error instanceof AlreadyDone) return Buffer.from(error.reply).toString()
    throw error
  }
}
