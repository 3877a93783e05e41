/** Live queries through the client: the rows follow what is written, over failures and ends. */
import { expect, it } from 'vitest'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'
import { LiveRows } from '../src/index.ts'

it('follows a query, begins anew after a failure, and ends', async () => {
  const { app } = await openServer()
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  const client = new AshlarClient({ baseUrl, fdAlias: 'default' })
  await client.createClasses([
    { className: 'Car', isReferenceable: true, attributes: [{ attributeName: 'year', logicalType: 'integer' }] },
  ])
  const { __identifier__: first } = await client.createObject('Car', { year: 2 })
  let requests = 0
  const failing: typeof fetch = async (...asked) => {
    if (++requests === 1) throw new TypeError('fetch failed')
    return fetch(...asked)
  }
  const following = new AshlarClient({ baseUrl, fdAlias: 'default', fetch: failing, retriesMax: 0 })
  const ending = new AbortController()
  const live = new LiveRows<{ year: number }>()
  const years: number[][] = []
  const text = 'FROM Car WHERE year >= $from ORDER BY year RETURN year'
  const events = following.followQuery<{ year: number }>(text, { from: 1 }, { signal: ending.signal })
  const ended = (async () => {
    for await (const event of events) {
      live.apply(event)
      if (event.event !== 'position') continue
      years.push(live.rows.map(({ row }) => row.year))
      if (years.length === 1) await client.createObject('Car', { year: 1 })
      else if (years.length === 2) await client.updateObject(first, { year: 0 })
      else ending.abort(new Error('enough'))
    }
  })()
  await expect(ended).rejects.toThrow('enough')
  expect(years).toEqual([[2], [1, 2], [1]])
  const refused = client.followQuery('FROM Car RETURN COUNT()')
  await expect(refused.next()).rejects.toMatchObject({ status: 422, type: 'QueryError' })
})
