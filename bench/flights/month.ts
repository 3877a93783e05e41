/** The flights of a folder of tables, and more of their kind: the same ones again on other days, hours and under other numbers, up to a month of all flights. */
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { openFlightsParts, type RowFault, type SourcePart } from './flights-tables.ts'
import { loadFlights } from './load-flights.ts'
import type { SourceRow } from './row.ts'

/** Loads the tables of a folder, with so many times the flights. Returns what was refused. */
export async function loadMonth(from: string, to: string, times: number): Promise<string[]> {
  // What is there under its name is whole.
  const unfinished = `${to}.loading`
  rmSync(unfinished, { recursive: true, force: true })
  const directory = join(unfinished, 'flights')
  mkdirSync(directory, { recursive: true })
  const refused: string[] = []
  const fd = await FederatedDatabase.open({ alias: 'flights', store: await openStore(`lmdb:${directory}`) })
  try {
    await loadFlights(fd, repeated(openFlightsParts(from), times), {
      row(_part, place, why) {
        if (why !== undefined) refused.push(`${place}: ${why}`)
      },
    })
  } finally {
    await fd.close()
  }
  renameSync(unfinished, to)
  return refused
}

function repeated(parts: readonly SourcePart[], times: number): SourcePart[] {
  return parts.map((part) => {
    if (!part.name.startsWith('flights') || times === 1) return part
    return { name: part.name, rows: (directory) => flightsOf(part.rows(directory), times) }
  })
}

/** `times` may end amid a repetition: 10.4 are ten of all, and four of ten. */
async function* flightsOf(
  rows: AsyncIterable<SourceRow | RowFault>,
  times: number,
): AsyncGenerator<SourceRow | RowFault> {
  let nth = 0
  for await (const row of rows) {
    nth++
    if ('fault' in row) {
      yield row
      continue
    }
    for (let round = 0; round < times; round++) {
      if (times - round < 1 && nth % 10 >= Math.round((times - round) * 10)) continue
      yield round === 0 ? row : { ...row, request: { class: 'Flight', attributes: moved(row, round) } }
    }
  }
}

const rowsOfRound = 1_000_000
const daysOfMonth = 31
const minutesOfDay = 1_440

/** The same flight on another day of its month, under other numbers, some minutes away. */
function moved({ request: { attributes } }: SourceRow, round: number): Record<string, unknown> {
  const { rowId, date, flightNumber, departure, arrival, elapsedMinutes } = attributes
  return {
    ...attributes,
    rowId: (rowId as number) + round * rowsOfRound,
    date: onOtherDay(date as string, round * 3),
    flightNumber: (flightNumber as number) + round * 7,
    departure: later(departure, round * 11),
    arrival: later(arrival, round * 11),
    elapsedMinutes: typeof elapsedMinutes === 'number' ? elapsedMinutes + (round % 5) : elapsedMinutes,
  }
}

function onOtherDay(date: string, days: number): string {
  const day = ((Number(date.slice(8)) - 1 + days) % daysOfMonth) + 1
  return `${date.slice(0, 8)}${pad(date.slice(5, 7) === '01' ? day : Math.min(day, 28))}`
}

function later(time: unknown, minutes: number): unknown {
  if (typeof time !== 'string') return time
  const [hour, minute] = time.split(':').map(Number) as [number, number]
  const at = (hour * 60 + minute + minutes) % minutesOfDay
  return `${pad(Math.floor(at / 60))}:${pad(at % 60)}`
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}
