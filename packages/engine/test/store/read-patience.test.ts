/** How long reads wait for a database that cannot be used: from the moment they were asked for, also behind others. */
import type { PoolClient } from 'pg'
import { afterEach, expect, it, vi } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { keyPlacement } from '../../src/storage/key-placement.ts'
import type { Connections } from '../../src/store/postgres/connections.ts'
import { GroupReads, keysOfAnyPlacement } from '../../src/store/postgres/group-reads.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

it('ends for each read by its own time, whatever it waited behind', async () => {
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  /** By each that is under way. */
  const asked: { readonly end: number; fail(): void; give(): void }[] = []
  const unavailable = new AshlarError('StoreUnavailable', 'It is read-only.')
  const query = ({ callback }: { callback(error: null): void }): void => callback(null)
  const client = { query, release: () => undefined } as unknown as PoolClient
  const reader = (_isNested: boolean, end: number): Promise<PoolClient> =>
    new Promise((resolve, reject) => {
      asked.push({ end, fail: () => reject(unavailable), give: () => resolve(client) })
    })
  const connections = { address: { location: 'here', patienceMs: 10_000 }, reader } as unknown as Connections
  const reads = new GroupReads(connections, keysOfAnyPlacement({ schema: 'ashlar', keys: keyPlacement }))
  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
  const read = async (key: string, atMs: number): Promise<{ told: unknown }> => {
    nowMs = atMs
    const seen: { told: unknown } = { told: undefined }
    reads.read([Buffer.from(key)]).then(
      () => Object.assign(seen, { told: 'read' }),
      (error) => Object.assign(seen, { told: error }),
    )
    await turn()
    return seen
  }
  const [first, second] = [await read('a', 0), await read('b', 1_000)]
  const [third, fourth] = [await read('c', 6_000), await read('d', 9_000)]
  expect(asked.map(({ end }) => end)).toEqual([10_000, 11_000])
  nowMs = 10_000
  asked[0]?.fail()
  await turn()
  expect([first.told, second.told, third.told]).toEqual([unavailable, undefined, undefined])
  // Not as long again as it has waited behind the others.
  expect(asked[2]?.end).toBe(16_000)
  nowMs = 16_000
  asked[2]?.fail()
  await turn()
  expect([third.told, fourth.told, asked[3]?.end]).toEqual([unavailable, undefined, 19_000])
  asked[3]?.give()
  await turn()
  expect(fourth.told).toBe('read')
  asked[1]?.fail()
  await turn()
  expect(second.told).toBe(unavailable)
})
