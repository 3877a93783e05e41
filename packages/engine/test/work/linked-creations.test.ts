/** What a transaction costs that creates objects linked to one: counted, since time depends on the machine. */
import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, read, toMany, toOne, withFd } from '../engine/open-fd.ts'
import { comparisonsOf } from './count-work.ts'

const classes = [classOf('Hub', { spokes: toMany('Spoke', 'hub') }), classOf('Spoke', { hub: toOne('Hub', 'spokes') })]

/** Comparisons an object, where `create` makes `n` that refer to a new hub. */
async function comparisonsEach(
  fd: FederatedDatabase,
  n: number,
  create: (hub: string, n: number) => Promise<unknown>,
): Promise<number> {
  const hub = await fd.createObject('Hub', {})
  const comparisons = await comparisonsOf(() => create(hub, n))
  expect((await read(fd, hub)).spokes).toHaveLength(n)
  return comparisons / n
}

const creations: Record<string, (fd: FederatedDatabase) => (hub: string, n: number) => Promise<unknown>> = {
  'a transaction': (fd) => (hub, n) =>
    fd.transaction(async (step) => {
      for (let i = 1; i <= n; i++) await step(i).createObject('Spoke', { hub })
    }, false),
  'a transaction that deletes each second one again': (fd) => (hub, n) =>
    fd.transaction(async (step) => {
      for (let i = 1; i <= n; i++) {
        await step(3 * i).createObject('Spoke', { hub })
        await step(3 * i + 2).deleteObject(await step(3 * i + 1).createObject('Spoke', { hub }))
      }
    }, false),
  'FOR EACH … CREATE': (fd) => async (hub, n) => {
    const list = Array.from({ length: n }, (_, i) => i)
    const text = 'FOR EACH i IN $list => (CREATE Spoke {hub: $hub})'
    const { chunks } = await fd.query({ text, parameters: { hub, list } })
    for await (const _ of chunks);
  },
}

for (const [name, creating] of Object.entries(creations)) {
  it(`${name}: the hundredth object linked to one costs a search less than the eight hundredth, and no more`, () =>
    withFd(classes, async (fd) => {
      const few = await comparisonsEach(fd, 100, creating(fd))
      const many = await comparisonsEach(fd, 800, creating(fd))
      expect(many).toBeLessThan(2 * few)
    }))
}
