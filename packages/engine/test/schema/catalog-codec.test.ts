/** The catalog's parts as bytes, and what of it a change touches. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { emptyCatalogState } from '../../src/schema/build-catalog.ts'
import {
  changedParts,
  decodeClass,
  decodeCounters,
  decodeIndex,
  decodeSequence,
  decodeShape,
  encodeClass,
  encodeCounters,
  encodeIndex,
  encodeSequence,
  encodeShape,
} from '../../src/schema/catalog-codec.ts'
import type { CatalogState } from '../../src/schema/class-definition.ts'
import { withoutIndex, withReadyIndex } from '../../src/schema/index-definition.ts'
import { classOf, SchemaUnderTest } from './schema-under-test.ts'

const fleet = JSON.parse(readFileSync(new URL('./rental-fleet-schema.json', import.meta.url), 'utf8'))
const given = () => {
  const schema = new SchemaUnderTest()
  schema.put(...fleet)
  schema.index('byCity', 'FleetData.Customer', 'address.city', 'rewardPoints')
  return schema
}

it('every part comes back as it was, also from the middle of a buffer', () => {
  const { state } = given().catalog
  const around = (bytes: Buffer) =>
    Buffer.concat([Buffer.from('{'), bytes, Buffer.from('}')]).subarray(1, bytes.length + 1)
  const restored: CatalogState = {
    counters: decodeCounters(around(encodeCounters(state.counters))),
    classes: state.classes.map((part) => decodeClass(around(encodeClass(part)))),
    shapes: state.shapes.map((part) => decodeShape(new Uint8Array(encodeShape(part)))),
    indexes: state.indexes.map((part) => decodeIndex(around(encodeIndex(part)))),
    sequences: state.sequences.map((part) => decodeSequence(around(encodeSequence(part)))),
  }
  expect(restored).toEqual(state)
  const again = new SchemaUnderTest(restored)
  again.put(...fleet)
  expect(again.catalog.state).toBe(restored)
})

it('a part that lacks something is our fault', () => {
  expect(() => decodeClass(Buffer.from('{"number":1}'))).toThrow(/assertion failed/)
  expect(() => decodeCounters(Buffer.from('{}'))).toThrow(/assertion failed/)
})

it('a change touches the parts that differ, no others', () => {
  const schema = given()
  const before = schema.catalog.state
  expect(changedParts(before, before)).toEqual({
    classes: [],
    shapes: [],
    indexes: [],
    removedIndexes: [],
    sequences: [],
    removedSequences: [],
    counters: undefined,
  })
  schema.put(classOf('FleetData.Customer', { nick: 'string' }), classOf('New', {}))
  const { state } = schema.catalog
  const parts = changedParts(before, state)
  expect(parts.classes.map(({ name }) => name)).toEqual(['FleetData.Customer', 'New'])
  expect(parts.shapes.map(({ number }) => number)).toEqual([
    Number(parts.classes[0]?.shapeNumber),
    Number(parts.classes[1]?.shapeNumber),
  ])
  expect([parts.indexes, parts.removedIndexes, parts.counters]).toEqual([[], [], state.counters])
})

it('a whole schema is new to an empty state', () => {
  const { state } = given().catalog
  expect(changedParts(emptyCatalogState(), state)).toEqual({ ...state, removedIndexes: [], removedSequences: [] })
})

it('indexes that change state, and those that go', () => {
  const { state } = given().catalog
  const ready = withReadyIndex(state, 1 as never)
  expect(changedParts(state, ready)).toMatchObject({
    indexes: [{ name: 'byCity', state: 'ready' }],
    counters: undefined,
    removedIndexes: [],
  })
  expect(changedParts(ready, withoutIndex(ready, 1 as never))).toMatchObject({
    indexes: [],
    removedIndexes: [1],
    counters: undefined,
  })
  expect(withReadyIndex(state, 9 as never).indexes).toEqual(state.indexes)
})
