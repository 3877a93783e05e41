/** A node of a distributed store that cannot be reached: what lies on it waits and fails, and everything else goes on. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { startThreeNodes, type ThreeNodes } from './three-nodes.ts'

let nodes: ThreeNodes
beforeAll(async () => {
  nodes = await startThreeNodes()
})
afterAll(() => nodes?.stop())

/** What each work has come to: its result, or the type of its error. */
async function outcomes<T>(
  oids: readonly string[],
  work: (oid: string) => T | Promise<T>,
): Promise<Map<string, string>> {
  const settled = await Promise.allSettled(oids.map(async (oid) => work(oid)))
  const told = settled.map((one) =>
    one.status === 'fulfilled' ? 'done' : ((one.reason as { type?: string }).type ?? `${one.reason}`),
  )
  return new Map(oids.map((oid, i) => [oid, told[i] as string]))
}

function failing(told: ReadonlyMap<string, string>): string[] {
  return [...told].filter(([, outcome]) => outcome !== 'done').map(([oid]) => oid)
}

describe('a node that is down', () => {
  it('fails reads and changes of what lies on it, and nothing else', async () => {
    const address = await nodes.freshAddress(`test_${randomBytes(6).toString('hex')}`)
    const open = async (alias: string) =>
      FederatedDatabase.open({ alias, store: await openStore(`${address}&patienceMs=2000`) })
    const fds = [await open('fd0'), await open('fd1'), await open('fd2')]
    const [fd] = fds as [FederatedDatabase]
    const attributes = [{ attributeName: 'count', logicalType: 'integer' }]
    await fd.defineClasses([{ className: 'Car', isReferenceable: true, attributes }], 'create')
    const oids: string[] = []
    for (let nth = 0; nth < 24; nth++) oids.push((await fds[nth % fds.length]?.createObject('Car', { count: 0 })) ?? '')
    const read = (oid: string) => fd.readObject(oid)
    const update = (oid: string) => fd.updateObject(oid, { count: 1 })
    expect(failing(await outcomes(oids, read))).toEqual([])

    const bringBack = nodes.cut()
    const unread = await outcomes(oids, read)
    const lost = failing(unread)
    expect(lost.length).toBeGreaterThan(0)
    expect(lost.length).toBeLessThan(oids.length)
    for (const oid of lost) expect(unread.get(oid)).toBe('StoreUnavailable')
    // Of those that wait in vain, two.
    for (const oid of oids.filter((one) => !lost.slice(2).includes(one))) {
      const told = await outcomes([oid], update)
      expect(failing(told)).toEqual(lost.includes(oid) ? [oid] : [])
    }
    await bringBack()
    expect(failing(await outcomes(oids, update))).toEqual([])
    for (const oid of oids) expect(JSON.parse(String(await fd.readObject(oid))).count).toBe(1)
    expect((await fd.verify()).problems).toEqual([])
    for (const one of fds) await one.close()
  })
})
