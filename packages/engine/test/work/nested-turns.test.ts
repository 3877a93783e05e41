/** Statements that are sources of each other, and rows whose values take long: others have their turn before each statement is planned, and between rows. */
import { expect, it, vi } from 'vitest'
import { PlanCache } from '../../src/query/plan-cache.ts'
import { classOf, withFd } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import { turnsDuring } from './count-work.ts'

const { planned: original } = PlanCache.prototype

it('others have their turn before each statement of a chain of names is planned', () =>
  withFd([classOf('Part', { n: 'integer' })], async (fd) => {
    await fd.createObjects([{ class: 'Part', attributes: { n: 7 } }])
    const length = 85
    const names = Array.from({ length }, (_, i) => `a${i} AS (FROM ${i === 0 ? 'Part' : `a${i - 1}`} RETURN n)`)
    const text = `WITH ${names.join(', ')} FROM a${length - 1} RETURN n`
    let turn = 0
    const inTurn = new Map<number, number>()
    const planned = vi.spyOn(PlanCache.prototype, 'planned').mockImplementation(function (this: PlanCache, ...given) {
      inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1)
      return original.apply(this, given) as never
    })
    let isOver = false
    const count = (): void => {
      turn++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    try {
      await turnsDuring(async () => expect(await rowValues(await fd.query({ text }))).toEqual([{ n: 7 }]))
    } finally {
      isOver = true
      planned.mockRestore()
    }
    expect([...inTurn.values()].reduce((sum, one) => sum + one)).toBeGreaterThan(length - 1)
    expect(Math.max(...inTurn.values())).toBeLessThan(20)
  }))

const elementSpecification = { logicalType: 'reference', referencedClass: 'Part' }
const parts = { logicalType: 'list', elementSpecification }

it('others have their turn between rows that fill no chunk of the reply', () =>
  withFd([classOf('Part', { n: 'integer', parts })], async (fd) => {
    const text = `FROM Part RETURN COUNT(${'parts.'.repeat(20)}n) AS count`
    const turnsOf = async (count: number): Promise<number> => {
      await fd.createObjects(Array.from({ length: count }, (_, n) => ({ class: 'Part', attributes: { n } })))
      return turnsDuring(async () => rowValues(await fd.query({ text })))
    }
    const few = await turnsOf(16)
    expect(await turnsOf(1_584)).toBeGreaterThan(few + 15)
  }))
