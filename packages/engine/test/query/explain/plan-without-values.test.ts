/** Plans without values: others have their turn while they are made of very long ones. */
import { expect, it } from 'vitest'
import { withoutValues } from '../../../src/query/plan-without-values.ts'

it('yields behind each text of a plan, and tells no value', () => {
  const inputs = Array.from({ length: 100 }, (_, i) => ({ operator: 'indexScan', condition: `n = ${i}`, value: i }))
  const pieces = withoutValues({ operator: 'union', inputs })
  let turns = 0
  let piece = pieces.next()
  for (; piece.done !== true; piece = pieces.next()) turns++
  expect(turns).toBeGreaterThan(100)
  const told = { operator: 'indexScan', condition: 'n = ?', value: '?' }
  expect(piece.value).toEqual({ operator: 'union', inputs: inputs.map(() => told) })
})
