/** Plans without the values of the text. */
import { expect, it } from 'vitest'
import { planWithoutValues } from '../../../src/query/plan-without-values.ts'

it('replaces the values in conditions, at any depth', () => {
  const inputs = Array.from({ length: 100 }, (_, i) => ({ operator: 'indexScan', condition: `n = ${i}`, value: i }))
  const shown = { operator: 'indexScan', condition: 'n = ?', value: '?' }
  expect(planWithoutValues({ operator: 'union', inputs })).toEqual({
    operator: 'union',
    inputs: inputs.map(() => shown),
  })
})
