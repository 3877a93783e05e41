/** The pass that rewrites objects of earlier shapes: stopped and resumed, amid writers, embedded objects included. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, read, toMany, toOne, withFd } from '../engine/open-fd.ts'
import { leftOpen } from '../store/left-open.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const classes = [
  classOf('Part', { size: 'integer' }, { isReferenceable: false }),
  classOf('Car', { nr: 'integer', part: { logicalType: 'object', class: 'Part' }, hub: toOne('Hub', 'cars') }),
  classOf('Truck', { load: 'integer' }, { superClass: 'Car' }),
  classOf('Hub', { cars: toMany('Car', 'hub') }),
]

async function fill(fd: FederatedDatabase, count: number): Promise<string[]> {
  const hub = await fd.createObject('Hub', {})
  return fd.createObjects(
    Array.from({ length: count }, (_, nr) => {
      return { class: nr % 3 === 0 ? 'Truck' : 'Car', attributes: { nr, part: { size: nr }, hub } }
    }),
  )
}

const earlier = async (fd: FederatedDatabase): Promise<number> => {
  const { classes: sizes } = await fd.detailedStatistics()
  return sizes.reduce((sum, { objectsOfEarlierShapes }) => sum + objectsOfEarlierShapes, 0)
}

it('rewrites what is of an earlier shape, and nothing else', () =>
  withFd(classes, async (fd) => {
    const oids = await fill(fd, 1_200)
    expect(await fd.upgradeObjects()).toEqual({ objectsDone: 1_201, objectsTotal: 1_201, objectsRewritten: 0 })
    await fd.alterClass('Car', { attributesToChange: [{ attributeName: 'nr', logicalType: 'string' }] })
    await fd.updateObject(oids[5] as string, { nr: '5' })
    const before = await Promise.all(oids.map(async (oid) => (await fd.readObject(oid)).toString()))
    expect(await earlier(fd)).toBe(1_199)
    expect(await fd.upgradeObjects({ objectsPerSecondMax: 1e9 })).toMatchObject({ objectsRewritten: 1_199 })
    expect(await earlier(fd)).toBe(0)
    expect(await Promise.all(oids.map(async (oid) => (await fd.readObject(oid)).toString()))).toEqual(before)
    // Embedded objects have shapes of their own, which the record does not tell.
    await fd.alterClass('Part', { attributesToAdd: [{ attributeName: 'color', logicalType: 'string' }] })
    expect(await fd.upgradeObjects({ objectsPerSecondMax: 1e9 })).toMatchObject({ objectsRewritten: 1_200 })
    expect(await fd.upgradeObjects({ objectsPerSecondMax: 1e9 })).toMatchObject({ objectsRewritten: 0 })
  }))

it('goes on where it was stopped, also by another server, and begins again under another schema', async () => {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses(classes, 'create')
  await fill(fd, 3_000)
  const more = (attributeName: string): object => ({ attributesToAdd: [{ attributeName, logicalType: 'string' }] })
  await fd.alterClass('Car', more('a'))
  const stopAfter = async (objects: number): Promise<void> => {
    const controller = new AbortController()
    const stopped = fd.upgradeObjects({
      signal: controller.signal,
      objectsPerSecondMax: 1e9,
      onProgress: ({ objectsDone }) => {
        if (objectsDone >= objects) controller.abort(new Error('enough'))
      },
    })
    await expect(stopped).rejects.toThrow('enough')
  }
  await stopAfter(1_000)
  const left = await earlier(fd)
  expect(left).toBeGreaterThan(0)
  expect(left).toBeLessThan(2_500)
  const other = await FederatedDatabase.open({ alias: 'other', store: leftOpen(store) })
  const seen: number[] = []
  await other.upgradeObjects({ objectsPerSecondMax: 1e9, onProgress: ({ objectsDone }) => void seen.push(objectsDone) })
  expect(seen[0]).toBeGreaterThanOrEqual(1_000)
  expect(await earlier(fd)).toBe(0)
  await other.close()
  await fd.alterClass('Car', more('b'))
  await stopAfter(1_000)
  await fd.alterClass('Car', more('c'))
  expect(await fd.upgradeObjects({ objectsPerSecondMax: 1e9 })).toMatchObject({
    objectsDone: 3_001,
    objectsRewritten: 3_000,
  })
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})

it('does not undo what writers do meanwhile', () =>
  withFd(classes, async (fd) => {
    const oids = await fill(fd, 1_500)
    await fd.alterClass('Car', { attributesToAdd: [{ attributeName: 'note', logicalType: 'string' }] })
    const upgrading = fd.upgradeObjects({ objectsPerSecondMax: 1e9 })
    const writing = oids.map(async (oid, i) => {
      for (let turn = i % 20; turn > 0; turn--) await new Promise(setImmediate)
      if (i % 7 === 0) await fd.deleteObject(oid)
      else await fd.updateObject(oid, { note: `n${i}` })
    })
    await Promise.all([upgrading, ...writing])
    for (const [i, oid] of oids.entries())
      if (i % 7 !== 0) expect(await read(fd, oid)).toMatchObject({ note: `n${i}`, nr: i })
    await fd.upgradeObjects({ objectsPerSecondMax: 1e9 })
    expect(await earlier(fd)).toBe(0)
  }))
