/** Live queries through the client: the rows follow what is written, over failures and ends. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openServer } from '../../server/test/unit/open-server.ts'
import { AshlarClient } from '../src/client.ts'
import { type LiveRowEvent, LiveRows } from '../src/index.ts'

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
    if (requests === 2) return new Response('')
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
  const failed = { type: 'LimitExceeded', title: 't', status: 422, message: 'too long' }
  const stopped: typeof fetch = async () => new Response(`event: error\ndata: ${JSON.stringify(failed)}\n\n`)
  const stopping = new AshlarClient({ baseUrl, fetch: stopped }).followQuery('FROM Car RETURN *')
  await expect(stopping.next()).rejects.toMatchObject({ status: 422, type: 'LimitExceeded' })
  const refused = client.followQuery('FROM Car RETURN COUNT()')
  await expect(refused.next()).rejects.toMatchObject({ status: 422, type: 'QueryError' })
})

it('applies the events of a query with and without an order', () => {
  const live = new LiveRows<number>()
  const [a, b, c] = ['3-3-1-1', '3-3-1-2', '3-3-1-3']
  const shown = (): number[] => live.rows.map(({ row }) => row)
  live.apply({ event: 'row', oid: a, row: 1 })
  live.apply({ event: 'row', oid: b, row: 2 })
  live.apply({ event: 'enter', oid: c, row: 0, after: null })
  expect(shown()).toEqual([0, 1, 2])
  // A change that tells no row has moved; one that tells no place has not.
  live.apply({ event: 'change', oid: c, after: b })
  live.apply({ event: 'change', oid: a, row: 5 })
  live.apply({ event: 'change', oid: '3-3-1-9', row: 9 })
  expect(shown()).toEqual([5, 2, 0])
  live.apply({ event: 'leave', oid: b })
  live.apply({ event: 'leave', oid: b })
  live.apply({ event: 'begin', position: '1-5', isResumed: true } as never)
  expect(shown()).toEqual([5, 0])
  live.apply({ event: 'begin', position: '1-6', isResumed: false } as never)
  expect(shown()).toEqual([])
})

/** The rows of a live query, as a plain array has them. */
function appliedTo(rows: readonly { oid: string; row: number }[], event: LiveRowEvent<number>): typeof rows {
  const { oid, row, after } = event
  const current = rows.find((one) => one.oid === oid)
  const now = { oid, row: row ?? (current?.row as number) }
  if (event.event === 'change' && after === undefined) return rows.map((one) => (one.oid === oid ? now : one))
  const others = rows.filter((one) => one.oid !== oid)
  if (event.event === 'leave') return others
  const place = after === undefined ? others.length : others.findIndex((one) => one.oid === after) + 1
  return [...others.slice(0, place), now, ...others.slice(place)]
}

it('has the rows of any events in their order', () => {
  const oid = fc.constantFrom('3-3-1-1', '3-3-1-2', '3-3-1-3', '3-3-1-4')
  const event = fc.record({
    event: fc.constantFrom('row', 'enter', 'change', 'leave'),
    oid,
    row: fc.integer(),
    after: fc.option(oid, { nil: null }),
    hasPlace: fc.boolean(),
  })
  const events = fc.array(event, { maxLength: 40 })
  const holds = fc.property(events, (all) => {
    const live = new LiveRows<number>()
    let expected: readonly { oid: string; row: number }[] = []
    for (const { hasPlace, after, ...rest } of all) {
      const next = { ...rest, ...(hasPlace && after !== rest.oid && { after }) } as LiveRowEvent<number>
      live.apply(next)
      expected = appliedTo(expected, next)
      expect(live.rows).toEqual(expected)
      expect(live.rowOf(next.oid)).toBe(expected.find((one) => one.oid === next.oid)?.row)
    }
    const { rows } = live
    live.apply({ event: 'position', position: '1-1' })
    expect(live.rows).toBe(rows)
  })
  fc.assert(holds, { numRuns: 300 })
})
