/** In which turn of the event loop a connection is served that arrives together with many others. */
import { EventEmitter } from 'node:events'
import type { Server, Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FairQueues } from '@ashlar/engine'
import { describe, expect, it } from 'vitest'
import { scheduleByAddress } from '../../src/http/arrivals.ts'
import { arrivalIterationsPerOther, servedOnArrivalMax, servedPerIterationMax } from '../../src/limits.ts'

class Connection extends EventEmitter {
  destroyed = false
  isRead = false
  readonly remoteAddress: string

  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }

  pause(): void {
    this.isRead = false
  }

  resume(): void {
    this.isRead = true
  }
}

function open(): { readonly served: Connection[]; accept(address: string): Connection } {
  const served: Connection[] = []
  const server = new EventEmitter()
  server.on('connection', (socket: Connection) => served.push(socket))
  scheduleByAddress(server as Server)
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
    const all = Array.from({ length: 5 * servedPerIterationMax }, () => accept('a'))
    expect(served).toEqual([])
    // In the first turn it is not known yet whether more arrive.
    await nextTurn()
    expect(served).toHaveLength(1)
    const counts: number[] = []
    while (served.length < all.length) {
      const before = served.length
      await nextTurn()
      counts.push(served.length - before)
    }
    expect(counts).toEqual([...Array(4).fill(servedPerIterationMax), servedPerIterationMax - 1])
    expect(served).toEqual(all)
    expect(all.every(({ isRead }) => isRead)).toBe(true)
  })

  it('of one address do not delay the single one of another', async () => {
    const { served, accept } = open()
    for (let i = 0; i < 900; i++) accept('a')
    const single = accept('b')
    await nextTurn()
    await nextTurn()
    expect(served.indexOf(single)).toBeLessThan(2)
  })

  it('are served as they arrive while their address has opened few, and others in some turns', async () => {
    const { served, accept } = open()
    for (let turn = 0; turn < servedOnArrivalMax; turn++) {
      accept('a')
      await nextTurn()
      expect(served).toHaveLength(turn + 1)
    }
    for (let turn = 0; turn < 10 * arrivalIterationsPerOther; turn++) {
      accept('a')
      await nextTurn()
    }
    expect(served).toHaveLength(servedOnArrivalMax + 10)
    const single = accept('b')
    await nextTurn()
    await nextTurn()
    expect(served.slice(servedOnArrivalMax + 10)).toContain(single)
  })

  it('of an address of which none waits any more are served as they arrive again, though others still wait', async () => {
    const { served, accept } = open()
    for (let i = 0; i < 900; i++) accept('a')
    for (let turn = 0; turn < 300; turn++) {
      const one = accept('b')
      // Each address has its turn among the others: one turn in so many for each of the two.
      for (let waited = 0; !served.includes(one); waited++) {
        expect(waited).toBeLessThan(2 * arrivalIterationsPerOther)
        accept('a')
        await nextTurn()
      }
    }
  })

  it('that were closed before their turn are not served', async () => {
    const { served, accept } = open()
    const [closed, other] = [accept('a'), accept('a')]
    closed.destroyed = true
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    expect(served).toEqual([other])
  })
})

it('queues by owner give each its turn, in the order in which items came', () => {
  const queues = new FairQueues<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queues.add(item[0] as string, item)
  expect(queues.size).toBe(6)
  const order = Array.from({ length: 7 }, () => queues.next())
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined])
  queues.add('a', 'a4')
  expect([queues.has('a'), queues.has('b')]).toEqual([true, false])
  expect([queues.next(), queues.next()]).toEqual(['a4', undefined])
  for (const item of ['a5', 'a6', 'b3', 'a7', 'c2', 'c3']) queues.add(item[0] as string, item)
  const byFewest = Array.from({ length: 7 }, () => queues.nextOfFewest())
  expect(byFewest).toEqual(['b3', 'c2', 'c3', 'a5', 'a6', 'a7', undefined])
  expect(queues.size).toBe(0)
})
