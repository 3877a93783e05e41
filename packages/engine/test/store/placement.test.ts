/** Placements of keys and ranges: every key of a range is in one of its segments, and a range asks no placement that it need not. */
import { describe, expect, it } from 'vitest'
import { keySpace, prefixEnd } from '../../src/bytes/key-space.ts'
import { indexRange } from '../../src/indexes/index-key.ts'
import { endedRange, endKey, receiptGroups, receiptKey } from '../../src/receipts/receipt-entry.ts'
import { containerLinksRange, linkRange, objectLinksRange } from '../../src/records/link-keys.ts'
import { containerExtent, objectKey } from '../../src/records/object-key.ts'
import type { IndexNumber } from '../../src/schema/class-definition.ts'
import { keyPlacement } from '../../src/storage/key-placement.ts'
import type { KeyRange } from '../../src/store/store.ts'
import type { Oid } from '../../src/types/oid.ts'
import type { AttributeNumber } from '../../src/types/type-spec.ts'
import { seededRandom } from './wrappers/seeded-random.ts'

const { placementOf, segmentsOf } = keyPlacement

function placementsOf(range: KeyRange): number[] {
  return segmentsOf(range).map(({ firstPlacement, lastPlacement }) => lastPlacement - firstPlacement + 1)
}

it.each([
  ['00', 0],
  ['0003000007', 0],
  ['010200000001', 0],
  ['0200030004', 0],
  ['03 0003 0004 0001 0001', 3 * 2 ** 15 + 4],
  ['04 0003 0004 0001 0001 00000005 01', 3 * 2 ** 15 + 4],
  ['03 ffff 7fff', 0xffff * 2 ** 15 + 0x7fff],
  ['03 0003 8000', 3 * 2 ** 15 + 0x7fff],
  ['05 00000001 01', 2 ** 30 + 1],
  ['05 40000001 01', 2 ** 30 + 1],
  ['06 00 00', 1],
  ['06 0f 01', 16],
  ['07', 17],
  ['07 00 00000001 0000000000000001', 17],
])('the placement of %s is %d in every store that there is', (key, placement) => {
  expect(placementOf(Buffer.from(key.replaceAll(' ', ''), 'hex'))).toBe(placement)
})

describe('one placement is asked', () => {
  it.each([3, 4, 254, 257, 32_766, 32_767])('for the extent and the links of container %i', (container) => {
    expect(placementsOf(containerExtent(3, container))).toEqual([1])
    expect(placementsOf(containerLinksRange(3, container))).toEqual([1])
  })

  it('for the links of an object, and for a range of objects', () => {
    const oid = '3-7-1-65535' as Oid
    expect(placementsOf(objectLinksRange(oid))).toEqual([1])
    expect(placementsOf(linkRange(oid, 5 as AttributeNumber, 1))).toEqual([1])
    expect(placementsOf({ from: objectKey(oid), to: containerExtent(3, 7).to })).toEqual([1])
  })

  it.each([1, 2, 254, 257])('for index %i, whole and by a prefix of its keys', (number) => {
    const { from, to } = indexRange(number as IndexNumber)
    expect(placementsOf({ from, to })).toEqual([1])
    const prefix = Buffer.concat([from, Buffer.from('ab')])
    expect(placementsOf({ from: prefix, to: prefixEnd(prefix) })).toEqual([1])
  })

  it('for a receipt and the entry that ends it, and for those of its group that have ended', () => {
    const keys = Array.from({ length: 200 }, (_, number) => receiptKey({ caller: '', key: `key ${number}` }))
    for (const key of keys) expect(placementOf(endKey(key, 30_000_000))).toBe(placementOf(key))
    expect(new Set(keys.map(placementOf)).size).toBe(receiptGroups)
    for (let group = 0; group < receiptGroups; group++) {
      expect(placementsOf(endedRange(group, 30_000_000))).toEqual([1])
    }
  })
})

describe('a range', () => {
  const seed = Number(process.env.ASHLAR_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const runs = Number(process.env.ASHLAR_RUNS ?? 1)

  it(`has each of its keys in one segment, with a placement of that segment (seed ${seed})`, () => {
    const next = seededRandom(seed)
    const random = (below: number): number => Math.floor(next() * below)
    let within = 0
    for (let round = 0; round < 1_000 * runs; round++) {
      const [from, to] = [randomKey(random), randomKey(random)].sort(Buffer.compare) as [Buffer, Buffer]
      const range = random(10) === 0 ? { from } : { from, to }
      const segments = segmentsOf(range)
      for (const key of [from, Buffer.concat([from, Buffer.of(0)]), to, randomKey(random), justBelow(to)]) {
        const isIn = Buffer.compare(key, from) >= 0 && (range.to === undefined || Buffer.compare(key, to) < 0)
        const holding = segments.filter((segment) => {
          return (
            Buffer.compare(key, segment.from) >= 0 && (segment.to === undefined || Buffer.compare(key, segment.to) < 0)
          )
        })
        expect(holding).toHaveLength(isIn ? 1 : 0)
        for (const { firstPlacement, lastPlacement } of holding) {
          expect(placementOf(key)).toBeGreaterThanOrEqual(firstPlacement)
          expect(placementOf(key)).toBeLessThanOrEqual(lastPlacement)
          within++
        }
      }
    }
    expect(within).toBeGreaterThan(500)
  })
})

/** Of few different bytes, so that keys are often neighbours or prefixes of each other. */
function randomKey(random: (below: number) => number): Buffer {
  const bytes = [0x00, 0x01, 0x02, 0x7f, 0x80, 0xff]
  const space = Object.values(keySpace)[random(Object.values(keySpace).length)] as number
  const rest = Array.from({ length: random(8) }, () => bytes[random(bytes.length)] as number)
  // Numbers of indexes stay below the size of their placements, and so do those of databases.
  if (rest[0] !== undefined) rest[0] = space === keySpace.receipt ? ([0, 1, 14, 15, 16, 255][random(6)] as number) : 0
  return Buffer.from([space, ...rest])
}

function justBelow(key: Buffer): Buffer {
  const last = key.at(-1) as number
  return last === 0
    ? key.subarray(0, -1)
    : Buffer.from([...key.subarray(0, -1), last - 1, 0xff, 0xff, 0xff, 0xff, 0xff])
}
