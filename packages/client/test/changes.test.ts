/** Changes through the client: followed over pages, failures and ends. */
import { expect, it } from 'vitest'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'
import type { ChangeRecord } from '../src/index.ts'

it('follows every change once, over failures, until it is ended', async () => {
  const { app } = await openServer()
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  let failures = 0
  const failing: typeof fetch = async (...asked) => {
    if (String(asked[0]).includes('/v1/changes') && ++failures % 3 === 0) throw new TypeError('fetch failed')
    return fetch(...asked)
  }
  const client = new AshlarClient({ baseUrl, fdAlias: 'default' })
  await client.createClasses([
    { className: 'Car', isReferenceable: true, attributes: [{ attributeName: 'year', logicalType: 'integer' }] },
  ])
  const ending = new AbortController()
  const positions: string[] = []
  const followed: ChangeRecord[] = []
  const following = (async () => {
    const options = { limit: 2, wait: 5, className: 'Car', where: 'year >= 0', signal: ending.signal }
    const changes = new AshlarClient({ baseUrl, fdAlias: 'default', fetch: failing, retriesMax: 0 })
    for await (const change of changes.followChanges(options, (position) => positions.push(position))) {
      followed.push(change)
      if (followed.length === 6) ending.abort(new Error('enough'))
    }
  })()
  for (let year = 0; year < 6; year++) await client.createObject('Car', { year })
  await expect(following).rejects.toThrow('enough')
  expect(followed.map(({ after }) => after?.year)).toEqual([0, 1, 2, 3, 4, 5])
  expect(new Set(followed.map(({ position }) => position)).size).toBe(6)
  const last = await client.listChanges({ since: followed[2]?.position as string, include: 'keys' })
  expect(last.changes.map(({ change, after }) => [change, after])).toEqual(Array(3).fill(['created', undefined]))
  expect(last.position).toBe(followed.at(-1)?.position)
  await expect(client.followChanges({ since: '1-1' }).next()).rejects.toMatchObject({ type: 'ChangesGone' })
  await expect(client.listChanges({ since: '1-1' })).rejects.toMatchObject({ status: 410, type: 'ChangesGone' })
})
