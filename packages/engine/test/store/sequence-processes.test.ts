/** Sequences that several processes draw from on one store, some of which are killed (contract 6.3.5). */
import { describe, expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { rowValues } from '../row-texts.ts'
import { startChild } from './children/child.ts'
import { freshAddress } from './postgres-stores.ts'
import { temporaryDirectory } from './temporary-stores.ts'

interface Draw {
  readonly asked: bigint
  readonly replied: bigint
  readonly number: number
}

const script = new URL('children/draw-numbers.ts', import.meta.url)

/** What the process has told; `killedAfter`: so many draws, if it is to be killed. */
async function drawsOf(address: string, killedAfter = Number.POSITIVE_INFINITY): Promise<Draw[]> {
  const child = startChild(script, [address, '4', '25'])
  const draws: Draw[] = []
  for await (const line of child.lines) {
    if (line === 'ready') continue
    const [asked, replied, number] = line.split(' ') as [string, string, string]
    draws.push({ asked: BigInt(asked), replied: BigInt(replied), number: Number(number) })
    if (draws.length === killedAfter) child.process.kill('SIGKILL')
  }
  const { signal, errors } = await child.ended
  expect(errors).toBe('')
  expect(signal).toBe(killedAfter < 100 ? 'SIGKILL' : null)
  return draws
}

/** None is specified twice, and each is beyond those that were replied before it was asked for. */
function expectInOrder(draws: readonly Draw[]): void {
  expect(new Set(draws.map(({ number }) => number)).size).toBe(draws.length)
  const byAsked = [...draws].sort((one, other) => (one.asked < other.asked ? -1 : 1))
  const byReplied = [...draws].sort((one, other) => (one.replied < other.replied ? -1 : 1))
  let [at, last] = [0, 0]
  for (const { asked, number } of byAsked) {
    for (let next = byReplied[at]; next !== undefined && next.replied < asked; next = byReplied[++at])
      last = Math.max(last, next.number)
    expect(number).toBeGreaterThan(last)
  }
}

describe('several processes draw from one sequence', () => {
  it.each([
    ['LMDB', async () => `lmdb:${await temporaryDirectory()}`],
    ['PostgreSQL', async () => freshAddress()],
  ])('on %s', async (_name, place) => {
    const address = await place()
    const fd = await FederatedDatabase.open({ alias: 'main', store: await openStore(address) })
    await rowValues(await fd.query({ text: 'CREATE SEQUENCE s' }))
    const all = await Promise.all([drawsOf(address), drawsOf(address), drawsOf(address, 40)])
    const draws = all.flat()
    expect(draws.length).toBeGreaterThanOrEqual(240)
    expectInOrder([...draws, ...(await drawsOf(address))])
    expect((await fd.verify()).problems).toEqual([])
    await fd.close()
  })
})
