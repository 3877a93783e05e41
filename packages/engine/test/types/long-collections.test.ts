/** Sets and maps of very many elements: what they hold, and in which order. */
import { expect, it } from 'vitest'
import { ByteWriter } from '../../src/bytes/byte-writer.ts'
import { JsonWriter } from '../../src/bytes/json-writer.ts'
import { compareOids, type Oid, oidBytes } from '../../src/types/oid.ts'
import { codecOf } from './type-under-test.ts'

const count = 40_000
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

for (const [name, { definition, given }] of Object.entries(kinds)) {
  it(`a long ${name} is parsed, written, read and shown`, () => {
    const codec = codecOf(definition)
    const value = codec.parse(given)
    expect(codec.accept(value)).toEqual(value)
    const writer = new ByteWriter()
    codec.write(value, writer)
    const bytes = writer.written()
    expect(codec.read(bytes, 0, bytes.length)).toEqual(value)
    const json = new JsonWriter()
    codec.writeJson(bytes, 0, bytes.length, json)
    expect(json.to.written().toString()).toBe(JSON.stringify(codec.toJson(value)))
    expect(codec.parse(JSON.parse(json.to.written().toString()))).toEqual(value)
  })
}

it('the references of a set, and those that are keys of a map, are each there once and in order', () => {
  const inOrder = [...new Set(oids as Oid[])].sort(compareOids)
  expect(codecOf(kinds.set?.definition ?? {}).parse([...oids, ...oids.slice(0, 1_000)])).toEqual(inOrder)
  const pairs = codecOf(kinds['map by references']?.definition ?? {}).parse(kinds['map by references']?.given)
  expect((pairs as { key: Oid }[]).map(({ key }) => key)).toEqual(inOrder)
})

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
