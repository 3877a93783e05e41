/** When what is worked out for many rows lets others have their turn: behind some rows, or behind each where a row is long. */
import { expect, it } from 'vitest'
import { evaluateRows } from '../../../src/query/execute/evaluate-rows.ts'
import type { StatementContext } from '../../../src/query/execute/statement-context.ts'

const rows = Array.from({ length: 64 }, (_, i) => i)

/** How often others have their turn while a clock that is always over its slice is looked at. */
async function turnsOf(rowParts?: number): Promise<number> {
  let turns = 0
  const clock = { isYieldDue: true, endRow: () => undefined, turn: async () => void turns++ }
  const doubled = await evaluateRows(clock as unknown as StatementContext, rows, (row) => 2 * row, rowParts)
  expect(doubled).toEqual(rows.map((row) => 2 * row))
  return turns
}

it('the clock is looked at behind sixteen rows, and behind each row of very many expressions', async () => {
  // Behind the last row there is nothing to wait for.
  expect(await turnsOf()).toBe(3)
  expect(await turnsOf(64)).toBe(3)
  expect(await turnsOf(65)).toBe(63)
})
