/** Maps and sets that grow without a pause hold what a `Map` and a `Set` would. */
import { expect, it, vi } from 'vitest'
import { entriesOfOneMap, SteadyMap, SteadySet } from '../../src/budget/steady-map.ts'

/** Each of them comes twice. */
const keys = Array.from({ length: 5 * entriesOfOneMap }, (_, i) => `key ${(i * 7) % (2.5 * entriesOfOneMap)}`)

it('a map gives the last value of each key, whether it is among the first or behind them', () => {
  const map = new SteadyMap<string, number>()
  const plain = new Map<string, number>()
  const wrong: string[] = []
  for (const [i, key] of keys.entries()) {
    if (map.has(key) !== plain.has(key)) wrong.push(key)
    map.set(key, i)
    plain.set(key, i)
  }
  expect(map.size).toBe(plain.size)
  for (const [key, value] of plain) if (map.get(key) !== value) wrong.push(key)
  expect(wrong).toEqual([])
  expect(map.get('another')).toBeUndefined()
  expect(map.has('another')).toBe(false)
})

it('a set has what was added', () => {
  const set = new SteadySet<string>()
  expect(set.has('key 0')).toBe(false)
  for (const key of keys) set.add(key)
  expect(keys.every((key) => set.has(key))).toBe(true)
  expect(set.has('another')).toBe(false)
})

it('texts for which V8 has no hash are told apart by digests, in a map and in a set', () => {
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
  const map = new SteadyMap<string, number>()
  const set = new SteadySet<string>()
  for (const [i, text] of [...texts, ...texts].entries()) {
    expect([map.has(text), set.has(text)]).toEqual([i >= texts.length, i >= texts.length])
    map.set(text, i % texts.length)
    set.add(text)
  }
  const longest = Math.max(...setting.mock.calls.map(([key]) => (key as string).length))
  vi.restoreAllMocks()
  expect(longest).toBe(16_383)
  expect(map.size).toBe(texts.length)
  expect(texts.map((text) => map.get(text))).toEqual(texts.map((_text, i) => i))
  expect([...map.keys()].sort()).toEqual([...texts].sort())
})
