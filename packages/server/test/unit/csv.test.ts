/** Rows as CSV, where they have very many columns. */
import type { RowChunk } from '@ashlar/engine'
import { expect, it } from 'vitest'
import { csvRows } from '../../src/operations/export/csv.ts'

it('wide rows that come as one piece are written as several, between which others have turns', async () => {
  const columns = Array.from({ length: 1_000 }, (_, i) => `c${i}`)
  const row = JSON.stringify(Object.fromEntries(columns.map((name, i) => [name, i])))
  const count = 95
  const starts = Array.from({ length: count }, (_, i) => 1 + i * (row.length + 1))
  const chunk: RowChunk = { bytes: Buffer.from(`\n${row}`.repeat(count)), starts }
  const rows = (async function* () {
    yield chunk
  })()
  let text = ''
  let most = 0
  let records = 0
  for await (const { bytes, starts: begun } of csvRows(rows, { columns: undefined, isEscaping: false })) {
    text += bytes.toString()
    records += begun.length
    most = Math.max(most, begun.length)
  }
  expect([records, most]).toEqual([count + 1, 9])
  expect(text.split('\n').slice(1)).toEqual([
    columns.join(','),
    ...Array(count).fill(columns.map((_, i) => i).join(',')),
  ])
})
