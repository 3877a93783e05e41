/** Writes to a class of twenty attributes, of which none to all have an index. */
import type { Figures } from '../rows/figures.ts'
import type { Bench } from '../rows/measure.ts'
import type { Curve, ScaleOptions } from './curve.ts'
import { createMany, measureAsked, post, put, withServer } from './own-server.ts'

const sizes = [0, 1, 2, 5, 10, 20]
const attributes = 20
const objects = 20_000
const onceRequests = 5_000
const bulkObjects = 1_000
const operations = [
  'create',
  'bulk (objects)',
  'update of one attribute without index',
  'update of all twenty',
  'delete',
]

export const indexes: Curve = {
  name: 'indexes',
  title: 'Indexes',
  async measure(bench, _stores, options) {
    const found: Figures[][] = []
    for (const size of sizes) found.push(await measureIndexes(bench, size, options))
    const lines = operations.map((name, at) => ({ name, figures: found.map((figures) => figures[at]) }))
    const notes = [
      `A class of ${attributes} integers and a text; ${objects.toLocaleString('en')} objects to begin with; indexes are not unique; 32 clients, bulk 4. Each index is an entry more for each object.`,
      'The values are random: a commit of 1,000 objects touches 1,000 places of each index. With many indexes it copies nearly every leaf of the store, and frees as many pages, whose list the next commits go through. An update without an index, which is measured after bulk, costs more for that, until these pages are in use again.',
    ]
    return { axis: 'indexes', columns: sizes, reference: 0, lines, notes }
  },
}

function measureIndexes(bench: Bench, size: number, options: ScaleOptions): Promise<Figures[]> {
  return withServer(bench, async (own) => {
    const names = Array.from({ length: attributes }, (_, nth) => `a${nth}`)
    const described = [
      ...names.map((attributeName) => ({ attributeName, logicalType: 'integer' })),
      { attributeName: 'note', logicalType: 'string' },
    ]
    await own.client.defineClasses([{ className: 'Item', isReferenceable: true, attributes: described }] as never)
    for (const name of names.slice(0, size)) {
      await own.client.createIndex({
        name,
        indexedClass: 'Item',
        isUnique: false,
        keyAttributes: [{ attributeName: name }],
      })
    }
    const values = (): object => Object.fromEntries(names.map((name) => [name, Math.floor(Math.random() * 1e6)]))
    const object = (): { class: string; attributes: object } => ({
      class: 'Item',
      attributes: { ...values(), note: 'note' },
    })
    const ids = await createMany(own, objects, object)
    const any = (): string => ids[Math.floor(Math.random() * ids.length)] as string
    const doomed = await createMany(own, onceRequests * (options.rounds + 1), object)
    const writers = { connections: 32 }
    const asked = [
      { ...writers, request: () => post('/v1/object', object()), count: onceRequests },
      {
        connections: 4,
        request: () => post('/v1/object', Array.from({ length: bulkObjects }, object)),
        count: 10,
        objects: bulkObjects,
      },
      {
        ...writers,
        count: onceRequests,
        request: (nth: number) => put(`/v1/object/${any()}`, { attributes: { note: `note ${nth}` } }),
      },
      { ...writers, count: onceRequests, request: () => put(`/v1/object/${any()}`, { attributes: values() }) },
      {
        ...writers,
        request: (nth: number) => ({ method: 'DELETE' as const, path: `/v1/object/${doomed[nth]}` }),
        count: onceRequests,
      },
    ]
    const found: Figures[] = []
    for (const one of asked) found.push(await measureAsked(own, one, options))
    return found
  })
}
