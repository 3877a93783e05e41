/** Values of statements that are run for the rows around them, and the memory that these runs take. */
import { expect, it } from 'vitest'
import { MemoryPool } from '../../../src/budget/memory-pool.ts'
import { RequestMemory } from '../../../src/budget/request-memory.ts'
import { defaultEngineLimits } from '../../../src/limits.ts'
import { InnerValues } from '../../../src/query/execute/inner-values.ts'

it('what runs hold is let go of with them, but for what is kept until the statement ends', async () => {
  const memory = new RequestMemory(new MemoryPool(), defaultEngineLimits)
  let runs = 0
  const run = async (): Promise<unknown> => {
    memory.chargeStatement(10_000)
    if (runs++ === 0) {
      memory.chargeStatement(5_000)
      memory.keepForStatement(5_000)
    }
    return runs
  }
  const around = {
    isRemote: false,
    probe: undefined,
    script: { memory, limits: defaultEngineLimits },
    yieldToEventLoop: async () => {},
  }
  const values = new InnerValues(run, around)
  for (const asked of [1, 2]) expect(() => values.value(0, [asked])).toThrow()
  await values.fetchMissing()
  expect([values.value(0, [1]), values.value(0, [2])]).toEqual([1, 2])
  expect(memory.statementBytes).toBeGreaterThanOrEqual(5_000)
  expect(memory.statementBytes).toBeLessThan(10_000)
})
