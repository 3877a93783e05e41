/** Queries on a store where each read is a trip: what many rows refer to is read together, and the schema is the present one. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import type { Snapshot, Store } from '../../src/store/store.ts'
import type { Oid } from '../../src/types/oid.ts'
import { classOf, index, toOne } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import { freshAddress } from './postgres-stores.ts'

const classes = [
  classOf('Maker', { name: 'string' }),
  classOf('Model', { name: 'string', maker: toOne('Maker') }),
  classOf('Truck', { axles: 'integer' }, { superClass: 'Model' }),
  classOf('Vehicle', { license: 'string', year: 'integer', model: toOne('Model'), spare: toOne('Model') }),
]

/** Notes how many keys each read asks for. */
function noting(store: Store, reads: number[]): Store {
  return {
    ...store,
    async snapshot(options) {
      const snapshot: Snapshot = await store.snapshot(options)
      const read = snapshot.read.bind(snapshot)
      return Object.assign(snapshot, {
        read(...[keys, ranges]: Parameters<Snapshot['read']>) {
          reads.push(keys.length)
          return read(keys, ranges)
        },
      })
    },
  }
}

async function rowsOf(fd: FederatedDatabase, text: string): Promise<unknown[]> {
  return rowValues(await fd.query({ text }))
}

it('objects that rows refer to are read once, for all rows by one read a step', async () => {
  const reads: number[] = []
  const fd = await FederatedDatabase.open({ alias: 'test', store: noting(await openStore(freshAddress()), reads) })
  await fd.defineClasses(classes, 'create')
  await fd.createIndex(index('byYear', 'Vehicle', false, 'year', 'license'))
  const makers: Oid[] = []
  for (const name of ['Ada', 'Bia', 'Cid']) makers.push(await fd.createObject('Maker', { name }))
  const models: Oid[] = []
  for (let i = 0; i < 9; i++) {
    const attributes = { name: `model ${i}`, maker: i === 4 ? null : makers[i % 3] }
    models.push(await (i % 2 === 0 ? fd.createObject('Model', attributes) : fd.createObject('Truck', attributes)))
  }
  const expected: unknown[] = []
  for (let i = 0; i < 40; i++) {
    const model = i % 10
    const license = `V${String(i).padStart(2, '0')}`
    await fd.createObject('Vehicle', { license, year: 2_000 + (i % 2), model: models[model] ?? null, spare: models[0] })
    if (i % 2 === 1) continue
    const maker = model === 4 ? null : ['Ada', 'Bia', 'Cid'][model % 3]
    expected.push({ license, 'model.name': `model ${model}`, maker, spare: 'Ada' })
  }
  const text = 'license, model.name, model.maker.name AS maker, spare.maker.name AS spare'
  reads.length = 0
  expect(await rowsOf(fd, `FROM Vehicle WHERE year = 2000 TAKE 30 RETURN ${text}`)).toEqual(expected)
  expect(reads).toEqual([5, 2])
  reads.length = 0
  expect(await rowsOf(fd, 'FROM Vehicle WHERE year = 2001 AND license > "V30" TAKE 2 RETURN model.name')).toEqual([
    { 'model.name': 'model 1' },
    { 'model.name': 'model 3' },
  ])
  expect(reads).toEqual([2])
  reads.length = 0
  const makers2000 = expected.map((row) => ({ maker: (row as { readonly maker: unknown }).maker }))
  expect(await rowsOf(fd, 'FROM Vehicle WHERE year = 2000 TAKE 30 RETURN model.maker.name AS maker')).toEqual(
    makers2000,
  )
  expect(reads).toEqual([5, 2])
  await fd.close()
})

it('all objects come in their order over many pages, filtered, skipped and taken', async () => {
  const fd = await FederatedDatabase.open({ alias: 'test', store: await openStore(freshAddress()) })
  await fd.defineClasses(
    [classOf('Point', { at: 'integer', label: 'string' }), classOf('Far', { by: 'integer' }, { superClass: 'Point' })],
    'create',
  )
  const created = async (from: number, count: number, className: string) => {
    const objects = Array.from({ length: count }, (_, i) => {
      return { class: className, attributes: { at: from + i, label: `label ${from + i}`.repeat(1 + (i % 40)) } }
    })
    await fd.createObjects(objects)
  }
  await created(0, 1_500, 'Point')
  await created(1_500, 400, 'Far')
  const all = Array.from({ length: 1_900 }, (_, at) => ({ at }))
  expect(await rowsOf(fd, 'FROM Point RETURN at')).toEqual(all)
  expect(await rowsOf(fd, 'FROM Point WHERE at >= 1300 SKIP 150 TAKE 300 RETURN at')).toEqual(all.slice(1_450, 1_750))
  expect(await rowsOf(fd, 'FROM ONLY Point SKIP 1490 RETURN at')).toEqual(all.slice(1_490, 1_500))
  expect(await rowsOf(fd, 'FROM Point WHERE label = "no such" RETURN at')).toEqual([])
  expect(await rowsOf(fd, 'FROM Point TAKE 3 RETURN at')).toEqual(all.slice(0, 3))
  await fd.close()
})

it('what reads nothing of the data is answered by the schema that there is, also where another process has changed it', async () => {
  const address = freshAddress()
  const open = async (): Promise<FederatedDatabase> => {
    return FederatedDatabase.open({ alias: 'test', store: await openStore(address) })
  }
  const one = await open()
  await one.defineClasses([classOf('Thing', { size: 'integer' })], 'create')
  const other = await open()
  const showing = (name: string) => rowsOf(other, `SHOW CAST(0-0-0-0 AS ${name})`)
  const rename = (from: string, to: string) => rowsOf(one, `UPDATE SCHEMA { RENAME CLASS ${from} TO ${to} }`)
  expect(await showing('Thing')).toEqual([null])
  await rename('Thing', 'Article')
  // What it was taken to be would answer.
  await expect(showing('Thing')).rejects.toThrow("'Thing'")
  await rename('Article', 'Product')
  // What it was taken to be would refuse.
  expect(await showing('Product')).toEqual([null])
  await other.close()
  await one.close()
})
