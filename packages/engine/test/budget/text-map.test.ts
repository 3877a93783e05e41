/** Maps of texts hold what a `Map` would, also of very long texts. */
import { expect, it, vi } from 'vitest'
import { TextMap } from '../../src/budget/text-map.ts'

it('texts for which V8 has no hash are told apart by digests', () => {
  const long = 'x'.repeat(16_384)
  const texts = [
    'x',
    long.slice(1),
    long,
    `${long.slice(1)}y`,
    `${long.slice(1)}\ud800`,
    `${long.slice(1)}\udfff`,
    `${long}x`,
  ]
  const setting = vi.spyOn(Map.prototype, 'set')
  const map = new TextMap<number>()
  for (const [i, text] of [...texts, ...texts].entries()) {
    expect(map.has(text)).toBe(i >= texts.length)
    map.set(text, i % texts.length)
  }
  const longest = Math.max(...setting.mock.calls.map(([key]) => (key as string).length))
  vi.restoreAllMocks()
  expect(longest).toBe(16_383)
  expect(map.size).toBe(texts.length)
  expect(texts.map((text) => map.get(text))).toEqual(texts.map((_text, i) => i))
  expect([...map.keys()].sort()).toEqual([...texts].sort())
})
