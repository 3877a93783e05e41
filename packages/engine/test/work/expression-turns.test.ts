/** Turns that others get while the expressions of a class are bound and compiled. */
import { expect, it } from 'vitest'
import { classOf, withFd } from '../engine/open-fd.ts'
import { turnsDuring } from './count-work.ts'

const attributes = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`a${i}`, 'integer']))
const checksNamed = (letter: string) =>
  Array.from({ length: 50 }, (_, i) => ({ name: `${letter}${i}`, expression: `a${i} < 5` }))

it('others have their turn between the checks of a class: while it is defined and changed, and at the first creation', () =>
  withFd([classOf('Other', {})], async (fd) => {
    const define = () => fd.defineClasses([{ ...classOf('Part', attributes), checks: checksNamed('c') }], 'create')
    const alter = () => fd.alterClass('Part', { classFields: { checks: [...checksNamed('c'), ...checksNamed('d')] } })
    const create = () => fd.createObject('Part', {})
    // Each look at the clock is a millisecond later, so that others have their turn after a few expressions.
    for (const act of [define, create, alter, create]) expect(await turnsDuring(act)).toBeGreaterThan(5)
    expect(await turnsDuring(create)).toBe(0)
  }))

it('and between its computed attributes and defaults', () => {
  const many = (fields: object) => {
    const names = Array.from({ length: 60 }, (_, i) => `${Object.keys(fields)[0]}${i}`)
    return Object.fromEntries(names.map((name) => [name, { logicalType: 'integer', ...fields }]))
  }
  const cases = [
    { computed: { expression: 'a + 1', isStored: true } },
    { default: { expression: 'a + 1' } },
    { onUpdate: { expression: 'a + 1' } },
  ]
  return withFd([], async (fd) => {
    for (const [i, fields] of cases.entries()) {
      const define = () => fd.defineClasses([classOf(`Part${i}`, { a: 'integer', ...many(fields) })], 'create')
      const create = () => fd.createObject(`Part${i}`, { a: 1 })
      for (const act of [define, create]) expect(await turnsDuring(act)).toBeGreaterThan(5)
      expect(await turnsDuring(create)).toBe(0)
    }
  })
})

it('and between attributes with constraints', () =>
  withFd([], async (fd) => {
    const constrained = { logicalType: 'string', minLength: 1, pattern: '^q$' }
    const some = (letter: string) => Array.from({ length: 100 }, (_, i) => [`${letter}${i}`, constrained])
    const part = classOf('Part', Object.fromEntries(some('a')))
    const attributesToAdd = some('b').map(([attributeName]) => ({ attributeName, ...constrained }))
    expect(await turnsDuring(() => fd.defineClasses([part], 'create'))).toBeGreaterThan(15)
    expect(await turnsDuring(() => fd.alterClass('Part', { attributesToAdd }))).toBeGreaterThan(15)
  }))
