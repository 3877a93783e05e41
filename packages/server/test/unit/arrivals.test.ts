/** In which turn of the event loop a connection is served that arrives together with many others. */
import { EventEmitter } from 'node:events'
import type { Server, Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { AddressQueues } from '../../src/http/address-queues.ts'
import { serveByAddress } from '../../src/http/arrivals.ts'
import { servedInATurnMax, waitingPerServed } from '../../src/limits.ts'

class Connection extends EventEmitter {
  destroyed = false
  isRead = false
  readonly remoteAddress: string

  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }

  resume(): void {
    this.isRead = true
  }
}

function open(): { readonly served: Connection[]; accept(address: string): Connection } {
  const served: Connection[] = []
  const server = new EventEmitter()
  server.on('connection', (socket: Connection) => served.push(socket))
  serveByAddress(server as Server)
  return {
    served,
    accept(address) {
      const connection = new Connection(address)
      server.emit('connection', connection as unknown as Socket)
      return connection
    },
  }
}

describe('connections', () => {
  it('are served so many in a turn of the event loop, and read only then', async () => {
    const { served, accept } = open()
    const all = Array.from({ length: 100 }, () => accept('a'))
    expect(served).toEqual([])
    // In the first turn it is not known yet whether more arrive.
    await nextTurn()
    expect(served).toHaveLength(2)
    const counts: number[] = []
    while (served.length < 100) {
      const before = served.length
      await nextTurn()
      counts.push(served.length - before)
    }
    expect(counts).toEqual([servedInATurnMax, servedInATurnMax, servedInATurnMax, 98 - 3 * servedInATurnMax])
    expect(served).toEqual(all)
    expect(all.every(({ isRead }) => isRead)).toBe(true)
  })

  it('of one address do not delay the single one of another', async () => {
    const { served, accept } = open()
    for (let i = 0; i < 900; i++) accept('a')
    const single = accept('b')
    await nextTurn()
    expect(served.indexOf(single)).toBe(0)
    await nextTurn()
    expect(served).toHaveLength(Math.ceil(901 / waitingPerServed) + servedInATurnMax)
  })

  it('are served a few in a turn while more arrive, first those of an address that has fewest', async () => {
    const { served, accept } = open()
    for (let i = 0; i < 3 * waitingPerServed; i++) accept('a')
    await nextTurn()
    expect(served).toHaveLength(3)
    const single = accept('b')
    await nextTurn()
    expect(served[3]).toBe(single)
    expect(served).toHaveLength(6)
  })

  it('are served as fast as they arrive, however long turns are', async () => {
    const { served, accept } = open()
    for (let turn = 0; turn < 20; turn++) {
      accept('a')
      await nextTurn()
    }
    expect(served.length).toBeGreaterThanOrEqual(19)
  })

  it('that were closed before their turn are not served', async () => {
    const { served, accept } = open()
    const [closed, other] = [accept('a'), accept('a')]
    closed.destroyed = true
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    expect(served).toEqual([other])
  })
})

it('queues by address give each its turn, in the order in which items came', () => {
  const queues = new AddressQueues<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queues.add(item[0] as string, item)
  expect(queues.size).toBe(6)
  const order = Array.from({ length: 7 }, () => queues.next())
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined])
  queues.add('a', 'a4')
  expect(queues.next()).toBe('a4')
  for (const item of ['a5', 'a6', 'b3', 'c2', 'c3']) queues.add(item[0] as string, item)
  const [fewest, next] = [queues.nextOfFewest(), queues.next()]
  expect([fewest, next, queues.nextOfFewest(), queues.nextOfFewest()]).toEqual(['b3', 'a5', 'a6', 'c2'])
  expect([queues.nextOfFewest(), queues.nextOfFewest()]).toEqual(['c3', undefined])
  expect(queues.size).toBe(0)
})
