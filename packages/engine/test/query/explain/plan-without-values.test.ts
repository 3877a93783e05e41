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

it('shows at most 65,536 characters of texts, of which each counts once', () => {
  const texts = Array.from({ length: 40 }, (_, i) => `n${i} = '${'x'.repeat(1_990)}'`)
  const shown = planWithoutValues({ predicates: [...texts, ...texts] }) as { predicates: string[] }
  const expected = texts.map((_, i) => (i < 32 ? `n${i} = ?` : '…'))
  expect(shown.predicates).toEqual([...expected, ...expected])
})
