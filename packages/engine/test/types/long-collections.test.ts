/** Sets and maps of very many elements: taken, stored and shown in pieces, and the same as at once. */
import { expect, it } from 'vitest'
import { ByteWriter } from '../../src/bytes/byte-writer.ts'
import { JsonWriter } from '../../src/bytes/json-writer.ts'
import type { Pieces } from '../../src/types/logical-type.ts'
import { compareOids, type Oid, oidBytes } from '../../src/types/oid.ts'
import { codecOf } from './type-under-test.ts'

const count = 40_000
const elementsOfPiece = 1_024
const elementSpecification = { logicalType: 'reference', referencedClass: 'Fleet.Vehicle' }
const oids = Array.from({ length: count }, (_, i) => `3-${3 + (i % 7)}-${1 + (i % 90)}-${1 + ((i * 7_919) % 65_535)}`)
const names = oids.map((_, i) => `${['a', 'Z', '\uffee', '😀', 'é'][i % 5]}${(i * 104_729) % 30_011}`)

const kinds: Record<string, { definition: object; given: unknown }> = {
  set: { definition: { logicalType: 'set', elementSpecification }, given: oids },
  'map by texts': {
    definition: { logicalType: 'map', elementSpecification },
    given: Object.fromEntries(names.map((name, i) => [name, oids[i]])),
  },
  'pairs by texts': {
    definition: { logicalType: 'map', elementSpecification },
    given: names.map((key, i) => ({ key, value: oids[i] })),
  },
  'map by references': {
    definition: { logicalType: 'map', keySpecification: elementSpecification, elementSpecification },
    given: Object.fromEntries(oids.map((oid, i) => [oid, oids[count - 1 - i]])),
  },
}

/** The result, after at least as many pieces as its elements are worth. */
function inPieces<T>(work: Pieces<T>, pieces: number): T {
  for (let counted = 0; ; counted++) {
    const step = work.next()
    if (step.done !== true) continue
    expect(counted).toBeGreaterThanOrEqual(pieces)
    return step.value
  }
}

for (const [name, { definition, given }] of Object.entries(kinds)) {
  it(`a long ${name} is parsed, written, read and shown in pieces`, () => {
    const codec = codecOf(definition)
    const value = inPieces(codec.inPieces?.parse(given) as Pieces<unknown[]>, Math.floor(count / elementsOfPiece))
    expect(value).toEqual(codec.parse(given))
    expect(codec.inPieces?.isLong(value)).toBe(true)
    const least = Math.floor(value.length / elementsOfPiece)
    const [once, pieces] = [new ByteWriter(), new ByteWriter()]
    codec.write(value, once)
    inPieces(codec.inPieces?.write(value, pieces) as Pieces<void>, least)
    expect(pieces.written().equals(once.written())).toBe(true)
    const bytes = pieces.written()
    expect(inPieces(codec.inPieces?.read(bytes, 0, bytes.length) as Pieces<unknown>, least)).toEqual(value)
    const [shown, shownInPieces] = [new JsonWriter(), new JsonWriter()]
    codec.writeJson(bytes, 0, bytes.length, shown)
    inPieces(codec.inPieces?.writeJson(bytes, 0, bytes.length, shownInPieces) as Pieces<void>, least)
    expect(shownInPieces.to.written().equals(shown.to.written())).toBe(true)
  })
}

it('the pairs of a map by texts are in the order of their bytes, and of two with one key the last is taken', () => {
  const value = codecOf(kinds['map by texts']?.definition ?? {}).parse(kinds['pairs by texts']?.given) as {
    key: string
    value: string
  }[]
  const last = new Map(names.map((key, i) => [key, oids[i]]))
  expect(new Map(value.map((pair) => [pair.key, pair.value]))).toEqual(last)
  expect(value.length).toBe(last.size)
  const keys = value.map(({ key }) => Buffer.from(key))
  expect(keys.every((key, i) => i === 0 || Buffer.compare(keys[i - 1] as Buffer, key) < 0)).toBe(true)
})

it('OIDs are in the order of their bytes', () => {
  const some = [
    '1-2-3-4',
    '1-2-3-40',
    '1-2-30-4',
    '1-2-3-5',
    '10-2-3-4',
    '9-65535-1-1',
    '1-2-3-4',
    '0-0-0-0',
    '1-20-3-4',
  ]
  for (const one of [...some, ...oids.slice(0, 40)] as Oid[]) {
    for (const other of [...some, ...oids.slice(0, 40)] as Oid[]) {
      expect(Math.sign(compareOids(one, other))).toBe(Buffer.compare(oidBytes(one), oidBytes(other)))
    }
  }
})
