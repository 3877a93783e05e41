/** Objects that two access paths find: what both name is read, and nothing else; the rows are those of a scan. */
import { describe, expect } from 'vitest'
import { flights, flightsTests } from './flights.ts'

const flightsTest = flightsTests()

function idsOf(is: (flight: (typeof flights)[number]) => boolean): number[] {
  return flights.filter(is).map(({ rowId }) => rowId)
}

describe('an intersection', () => {
  const cases = [
    {
      name: 'of both ends of a path, none of which have an object in common',
      where: "origin.iata = 'LAX' AND destination.iata = 'SEA'",
      rows: idsOf(({ from, to }) => from === 'LAX' && to === 'SEA'),
    },
    {
      name: 'of both ends of a path',
      where: "origin.iata = 'LAX' AND destination.iata = 'LAS'",
      rows: idsOf(({ from, to }) => from === 'LAX' && to === 'LAS'),
    },
    {
      name: 'of an end of a path and a range of an index',
      where: "origin.iata = 'SEA' AND distance < 500",
      rows: idsOf(({ from, distance }) => from === 'SEA' && distance < 500),
    },
    {
      name: 'of ends that no index has',
      where: "origin.city = 'Seattle' AND destination.city = 'Anchorage'",
      rows: idsOf(({ from, to }) => from === 'SEA' && to === 'ANC'),
    },
  ]
  for (const { name, where, rows } of cases) {
    flightsTest(name, async (db) => {
      const found = await db.rows(`FROM Flight WHERE ${where} RETURN rowId`)
      expect(found.map(({ rowId }) => rowId as number).sort((one, other) => one - other)).toEqual(rows)
      expect(await db.rows(`FROM Flight WHERE ${where} RETURN COUNT() AS n, SUM(rowId) AS sum`)).toEqual([
        { n: rows.length, sum: rows.length === 0 ? null : rows.reduce((sum, id) => sum + id, 0) },
      ])
      const ordered = await db.rows(`FROM Flight WHERE ${where} ORDER BY carrier, rowId DESC TAKE 3 RETURN rowId`)
      expect(ordered).toHaveLength(Math.min(3, rows.length))
    })
  }

  flightsTest('reads no object that one of the two does not name, where entries are at hand', async (db) => {
    const plan = await db.analyze("FROM Flight WHERE origin.iata = 'LAX' AND destination.iata = 'SEA' RETURN rowId")
    const { objectsRead } = plan as unknown as Record<string, number>
    const isAtHand = JSON.stringify(plan).includes('"operator":"intersection"')
    if (!isAtHand) expect(JSON.stringify(plan)).toContain('reverseNavigation')
    else expect(objectsRead).toBeLessThanOrEqual(4)
  })
})
