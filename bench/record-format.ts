/** Compares encodings of a record: to reply JSON, one attribute, size. Run: node --import tsx bench/record-format.ts */
import { Packr } from 'msgpackr'
import { JsonWriter } from '../packages/engine/src/bytes/json-writer.ts'
import {
  decodeRecord,
  encodeRecord,
  recordHeaderBytes,
  shapeNumberOf,
} from '../packages/engine/src/records/record-format.ts'
import { recordFormats } from '../packages/engine/src/records/record-formats.ts'
import { readDefineClasses } from '../packages/engine/src/requests/read-class-descriptions.ts'
import { buildCatalog, emptyCatalogState } from '../packages/engine/src/schema/build-catalog.ts'
import { defineClasses } from '../packages/engine/src/schema/define-classes.ts'
import { vehicleSchema } from './vehicles.ts'

const rounds = 300_000

const empty = buildCatalog(emptyCatalogState(), Buffer.alloc(8))
const { state } = defineClasses(empty, readDefineClasses(vehicleSchema, 'create'), { attributesMax: 1_000 })
const catalog = buildCatalog(state, Buffer.alloc(8))
const cls = catalog.classByName('Vehicle')
if (cls === undefined) throw new Error('the schema has a class Vehicle')
const format = recordFormats(catalog).of(cls)
const names = format.attributes.map(({ attribute }) => attribute.name)
const values = ['L-12345', 'Ashlar', 2011, true, 86_415, '3-4-1-17']

const own = encodeRecord(format, Buffer.alloc(8), { values, positions: [] })
const object = Object.fromEntries(names.map((name, i) => [name, values[i]]))
const packr = new Packr({ structures: [] })
const packed = packr.pack(object)
const text = Buffer.from(JSON.stringify(object))
const json = new JsonWriter()
const unreachable = (): never => {
  throw new Error('a vehicle has no links')
}

interface Candidate {
  readonly name: string
  readonly bytes: number
  toJson(): Uint8Array | string
  oneAttribute(): unknown
  write(): Uint8Array
}

const candidates: Candidate[] = [
  {
    name: 'fixed part and ends (ours)',
    bytes: own.length - recordHeaderBytes,
    toJson() {
      json.to.reset()
      format.writeAttributesJson(json, own, recordHeaderBytes, shapeNumberOf(own), unreachable)
      return json.to.copy()
    },
    oneAttribute: () => format.readValue(own, recordHeaderBytes, shapeNumberOf(own), 4),
    write: () => encodeRecord(format, own.subarray(4, 12), { values, positions: [] }),
  },
  {
    name: 'ours, by way of values',
    bytes: own.length - recordHeaderBytes,
    toJson() {
      const read = decodeRecord(format, own).values
      return JSON.stringify(Object.fromEntries(names.map((name, i) => [name, read[i]])))
    },
    oneAttribute: () => decodeRecord(format, own).values[4],
    write: () => encodeRecord(format, own.subarray(4, 12), { values, positions: [] }),
  },
  {
    name: 'msgpackr with shared structures',
    bytes: packed.length,
    toJson: () => JSON.stringify(packr.unpack(packed)),
    oneAttribute: () => packr.unpack(packed).mileage,
    write: () => packr.pack(object),
  },
  {
    name: 'JSON text',
    bytes: text.length,
    toJson: () => Buffer.from(text),
    oneAttribute: () => JSON.parse(text.toString()).mileage,
    write: () => Buffer.from(JSON.stringify(object)),
  },
]

function nanoseconds(act: () => unknown): number {
  for (let i = 0; i < rounds / 10; i++) act()
  const start = performance.now()
  for (let i = 0; i < rounds; i++) act()
  return Math.round(((performance.now() - start) / rounds) * 1e6)
}

console.table(
  candidates.map(({ name, bytes, toJson, oneAttribute, write }) => ({
    encoding: name,
    bytes,
    'to JSON ns': nanoseconds(toJson),
    'one attribute ns': nanoseconds(oneAttribute),
    'write ns': nanoseconds(write),
  })),
)
