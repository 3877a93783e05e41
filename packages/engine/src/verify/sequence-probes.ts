/** Probes of a sequence definition: the entry with its next number exists, and conversely. */
import { catalogPart } from '../bytes/key-layout.ts'
import { keySpace } from '../bytes/key-space.ts'
import { numberOfCatalogKey } from '../catalog/catalog-keys.ts'
import { decodeNextNumber, nextNumberKey } from '../catalog/next-number.ts'
import { decodeSequence } from '../schema/catalog-codec.ts'
import type { Bytes } from '../store/store.ts'
import type { SequenceNumber } from '../types/type-spec.ts'
import { mustExist, type Probe, type VerifyContext } from './probe.ts'

/** For the key spaces before that of objects, where only sequence definitions have probes. */
export function probeDefinition(_context: VerifyContext, key: Bytes, value: Bytes): Probe[] {
  if (key[0] !== keySpace.catalog || key[1] !== catalogPart.sequence) return []
  const { name } = decodeSequence(value)
  const number = numberOfCatalogKey(key) as SequenceNumber
  return [mustExist(nextNumberKey(number), `Sequence ${name} has no entry for its next number.`)]
}

/** For an entry with a next number. */
export function probeNextNumber({ catalog, problems }: VerifyContext, key: Bytes, value: Bytes): Probe[] {
  const number = Buffer.from(key).readUInt32BE(1)
  decodeNextNumber(value)
  const exists = catalog.state.sequences.some((sequence) => sequence.number === number)
  if (!exists) problems.push(`an entry holds the next number of sequence number ${number}, which does not exist`)
  return []
}
