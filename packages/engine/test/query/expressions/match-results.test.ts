/** Results of matching are those of the pattern at hand, and of no more texts than are worth while. */
import { describe, expect, it } from 'vitest'
import { MatchResults } from '../../../src/query/evaluate/match-results.ts'

describe('results of matching', () => {
  it('are known by text and pattern', () => {
    const results = new MatchResults()
    expect(results.of('A%', 'AA')).toBeUndefined()
    results.add('AA', true)
    expect(results.of('A%', 'AA')).toBe(true)
    expect(results.of('B%', 'AA')).toBeUndefined()
    results.add('AA', false)
    expect(results.of('B%', 'AA')).toBe(false)
    expect(results.of('A%', 'AA')).toBeUndefined()
  })

  it('are not kept of long texts, nor of very many', () => {
    const results = new MatchResults()
    const long = 'x'.repeat(17)
    results.of('%', long)
    results.add(long, true)
    expect(results.of('%', long)).toBeUndefined()
    for (let nth = 0; nth < 1_000; nth++) {
      results.of('%', String(nth))
      results.add(String(nth), true)
    }
    expect(results.of('%', '0')).toBe(true)
    expect(results.of('%', '999')).toBeUndefined()
  })
})
