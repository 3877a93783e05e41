/** Evaluation of many rows yields to the event loop after some rows, or after each row if rows are long. */
import { expect, it } from 'vitest'
import { evaluateRows } from '../../../src/query/execute/evaluate-rows.ts'
import type { StatementContext } from '../../../src/query/execute/statement-context.ts'

const rows = Array.from({ length: 64 }, (_, i) => i)

/** The number of yields if the time slice is always over. */
async function yieldsOf(rowParts?: number): Promise<number> {
  let yields = 0
  const clock = { isYieldDue: true, endRow: () => undefined, yieldToEventLoop: async () => void yields++ }
  const doubled = await evaluateRows(clock as unknown as StatementContext, rows, (row) => 2 * row, rowParts)
  expect(doubled).toEqual(rows.map((row) => 2 * row))
  return yields
}

it('the clock is checked after sixteen rows, and after each row of very many expressions', async () => {
  // After the last row, nothing is left to yield for.
  expect(await yieldsOf()).toBe(3)
  expect(await yieldsOf(64)).toBe(3)
  expect(await yieldsOf(65)).toBe(63)
})
