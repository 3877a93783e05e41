/** What a federated database reports of its commits to a listener. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { ChangeSet } from '../../src/write/change-set.ts'
import { classOf, index, toMany, toOne } from '../engine/open-fd.ts'
import { outcomeOf } from './model-run.ts'

const classes = [
  classOf('Hub', { title: 'string', spokes: toMany('Spoke', 'hub') }),
  classOf('Spoke', { n: 'integer', hub: toOne('Hub', 'spokes') }),
]

async function told(use: (fd: FederatedDatabase, changes: ChangeSet[]) => Promise<void>): Promise<void> {
  const changes: ChangeSet[] = []
  const faults: unknown[] = []
  let calls = 0
  const fd = await FederatedDatabase.open({
    alias: 'test',
    store: await openMemoryStore(),
    onFault: (error) => faults.push(error),
    onChanges(set) {
      calls++
      changes.push(set)
      throw new Error('the listener fails')
    },
  })
  await fd.defineClasses(classes, 'create')
  await use(fd, changes)
  // What the listener throws is told, and no commit fails for it.
  expect(faults).toHaveLength(calls)
  await fd.close()
}

it('reports each commit once: a request, a batch, a statement, a change of the schema; what is not committed, never', () =>
  told(async (fd, changes) => {
    const next = (): ChangeSet | undefined => changes.shift()
    expect(next()).toEqual({ objects: 0, oids: [], classes: ['Hub', 'Spoke'], hasSchema: true })
    const hub = await fd.createObject('Hub', { title: 'a' })
    expect(next()).toEqual({ objects: 1, oids: [hub], classes: ['Hub'], hasSchema: false })
    // The hub is not changed; its list is.
    const spoke = await fd.createObject('Spoke', { hub })
    expect(next()).toEqual({ objects: 2, oids: [spoke, hub], classes: ['Spoke'], hasSchema: false })
    await fd.updateObject(hub, { title: 'a' })
    expect(next()).toEqual({ objects: 1, oids: [hub], classes: ['Hub'], hasSchema: false })
    await fd.transaction(async (step) => {
      await step(1).updateObject(hub, { title: 'b' })
      await step(2).createIndex(index('byTitle', 'Hub', true, 'title'))
      await step(3).deleteObject(spoke)
    }, true)
    expect(next()).toEqual({ objects: 2, oids: [hub, spoke], classes: ['Hub', 'Spoke'], hasSchema: true })
    await fd.query({ text: 'CREATE Spoke {n: 1}; UPDATE Spoke SET n TO n + 1' })
    expect(next()).toMatchObject({ objects: 1, classes: ['Spoke'], hasSchema: false })
    await outcomeOf(() => fd.createObject('Hub', { title: 'b' }))
    await outcomeOf(() => fd.updateObject(hub, { spokes: ['3-3-1-99'] }))
    await outcomeOf(async () => fd.query({ text: 'UPDATE Hub SET title TO 1 WHERE FALSE' }))
    expect(changes).toEqual([])
  }))

it('lists the first hundred of the OIDs', () =>
  told(async (fd, changes) => {
    const oids = await fd.createObjects(Array.from({ length: 101 }, (_, n) => ({ class: 'Spoke', attributes: { n } })))
    expect(changes.at(-1)).toEqual({ objects: 101, oids: oids.slice(0, 100), classes: ['Spoke'], hasSchema: false })
  }))
