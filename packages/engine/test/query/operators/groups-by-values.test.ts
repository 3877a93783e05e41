/** Groups that are found by the values of their keys. */
import { describe, expect, test } from 'vitest'
import { GroupsByValues } from '../../../src/query/operators/groups-by-values.ts'

describe('groups by values', () => {
  function groups(): GroupsByValues<{ name: string }> {
    return new GroupsByValues(() => undefined)
  }

  test('are found by the same values, of one key and of several', () => {
    const [one, several] = [groups(), groups()]
    const [first, second] = [{ name: 'first' }, { name: 'second' }]
    one.add(['a'], first)
    expect([one.find(['a']), one.find(['b'])]).toEqual([first, undefined])
    several.add(['a', 1], first)
    several.add(['a', null], second)
    expect([several.find(['a', 1]), several.find(['a', null]), several.find(['b', 1])]).toEqual([
      first,
      second,
      undefined,
    ])
  })

  test('the one of no keys is that of all rows', () => {
    const all = { name: 'all' }
    const found = groups()
    expect(found.find([])).toBeUndefined()
    found.add([], all)
    expect(found.find([])).toBe(all)
  })

  test('the values of very many keys are not remembered', () => {
    let held = 0
    const found = new GroupsByValues((bytes) => {
      held += bytes
    })
    const values = Array.from({ length: 3_000 }, (_, i) => i + 1)
    found.add(values, { name: 'all' })
    expect([found.find(values), held]).toEqual([undefined, 0])
  })

  test('a number and its text are two values; zero, whose signs a map does not tell apart, and lists are not remembered', () => {
    const found = groups()
    const number = { name: 'number' }
    found.add([1], number)
    expect([found.find([1]), found.find(['1'])]).toEqual([number, undefined])
    for (const value of [0, -0, ['a'], 'x'.repeat(1_000)]) {
      found.add([value], number)
      expect(found.find([value])).toBeUndefined()
    }
  })

  test('are remembered for so many values, and charged', () => {
    let bytes = 0
    const found = new GroupsByValues<{ name: string }>((more) => {
      bytes += more
    })
    for (let i = 1; i <= 10_000; i++) found.add([i], { name: String(i) })
    expect(found.find([8_192])).toEqual({ name: '8192' })
    expect(found.find([8_193])).toBeUndefined()
    expect(bytes).toBeGreaterThan(8_192)
  })
})
