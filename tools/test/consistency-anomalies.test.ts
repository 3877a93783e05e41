/** The checker of histories finds what is wrong in each, by its name, and nothing in those that are right. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../packages/engine/test/bytes/property-runs.ts'
import { checkHistory } from '../consistency/check-history.ts'
import type { History, Outcome, Step, Transaction } from '../consistency/history.ts'
import { seededRandom } from '../consistency/seeded-random.ts'
import { serialHistory } from './serial-history.ts'

const append = (list: number, value: number): Step => ({ kind: 'append', list, value })
const list = (list: number, ...values: number[]): Step => ({ kind: 'readList', list, values })
const write = (register: number, value: number): Step => ({ kind: 'write', register, value })
const read = (register: number, value: number): Step => ({ kind: 'read', register, value })
const place = (item: number, place: number, version = 1): Step => ({ kind: 'place', item, version, place })
const find = (from: number, to: number, ...items: number[]): Step => ({ kind: 'find', from, to, items })
const noItem = (item: number): Step => ({ kind: 'readItem', item, version: 0 })

/** At the same time as all others. */
const together = (...steps: Step[]): Transaction => ({ invoked: 0, completed: 1000, outcome: 'ok', steps })
const ended = (outcome: Outcome, ...steps: Step[]): Transaction => ({ ...together(...steps), outcome })
const at = (moment: number, ...steps: Step[]): Transaction => {
  return { invoked: moment, completed: moment + 0.5, outcome: 'ok', steps }
}
const final = (...steps: Step[]): Transaction => ({ ...at(2000, ...steps), isFinal: true })

const wrong: readonly (readonly [string, History])[] = [
  [
    'G0',
    [together(append(1, 1), append(2, 2)), together(append(1, 3), append(2, 4)), final(list(1, 1, 3), list(2, 4, 2))],
  ],
  ['G1a', [ended('failed', append(1, 1)), together(list(1, 1))]],
  ['G1a', [ended('failed', write(1, 1)), together(read(1, 1))]],
  ['G1a', [ended('failed', place(1, 5)), together(find(5, 5, 1))]],
  ['G1b', [together(append(1, 1), append(1, 2)), together(list(1, 1)), final(list(1, 1, 2))]],
  ['G1b', [together(write(1, 1), write(1, 2)), together(read(1, 1))]],
  ['G1c', [together(append(1, 1), list(2, 2)), together(append(2, 2), list(1, 1)), final(list(1, 1), list(2, 2))]],
  ['G1c', [together(write(1, 1), read(2, 2)), together(write(2, 2), read(1, 1))]],
  ['G1c', [together(place(1, 5), find(6, 6, 2)), together(place(2, 6), find(5, 5, 1))]],
  // Half of what another has done: one object before it, one after it.
  ['G-single', [together(append(1, 1), append(2, 2)), together(list(1, 1), list(2)), final(list(1, 1), list(2, 2))]],
  ['G-single', [together(write(1, 1), write(2, 2)), together(read(1, 1), read(2, 0))]],
  [
    'G-single',
    [together(place(1, 5), append(1, 1)), together(list(1, 1), find(5, 5)), final(list(1, 1), find(5, 5, 1))],
  ],
  ['lost update', [together(read(1, 0), write(1, 1)), together(read(1, 0), write(1, 2)), final(read(1, 2))]],
  ['lost update', [together(list(1), append(1, 1)), together(list(1), append(1, 2)), final(list(1, 1, 2))]],
  ['G2-item', [together(list(1), append(2, 2)), together(list(2), append(1, 1)), final(list(1, 1), list(2, 2))]],
  ['G2-item', [together(read(1, 0), write(2, 2)), together(read(2, 0), write(1, 1))]],
  ['G2', [together(find(5, 5), place(1, 5)), together(find(5, 5), place(2, 5)), final(find(5, 5, 1, 2))]],
  ['G2', [together(find(1, 9), place(1, 12)), together(find(10, 20), place(2, 5)), final(find(1, 20, 1, 2))]],
  ['G2', [together(noItem(2), place(1, 5)), together(noItem(1), place(2, 5)), final(find(5, 5, 1, 2))]],
  // A predicate on one side, an object on the other.
  ['G2', [together(find(5, 5), append(1, 1)), together(list(1), place(1, 5)), final(list(1, 1), find(5, 5, 1))]],
  [
    'G2-item',
    [
      at(0, place(1, 5), place(2, 6)),
      ...[
        [5, 2],
        [6, 1],
      ].map(([from = 0, item = 0]) => ({ ...together(find(from, from, 3 - item), place(item, 0, 2)), invoked: 1 })),
      final(find(5, 6)),
    ],
  ],
  ['duplicate append', [together(append(1, 1)), final(list(1, 1, 1))]],
  ['duplicate append', [together(append(1, 1)), together(list(1, 1, 1)), final(list(1, 1))]],
  ['lost write', [together(append(1, 1)), together(append(1, 2)), final(list(1, 2))]],
  ['lost write', [together(place(1, 5)), final(find(1, 10))]],
  ['aborted write is there', [ended('failed', append(1, 1)), final(list(1, 1))]],
  ['aborted write is there', [ended('failed', write(1, 1)), final(read(1, 1))]],
  ['aborted write is there', [ended('failed', place(1, 5)), final(find(1, 10, 1))]],
  ['incompatible orders', [together(append(1, 1)), together(append(1, 2)), together(list(1, 2)), final(list(1, 1, 2))]],
  ['unknown value', [together(list(1, 7))]],
  ['unknown value', [together(read(1, 7))]],
  ['unknown value', [together(find(5, 5, 7))]],
  ['internal', [together(append(1, 1), list(1))]],
  ['internal', [together(write(1, 1), read(1, 2), write(1, 2))]],
  ['internal', [together(place(1, 5), find(5, 5))]],
  ['stale read', [at(0, append(1, 1)), at(1, list(1)), final(list(1, 1))]],
  ['stale read', [at(0, write(1, 1)), at(1, write(1, 2)), at(2, read(1, 1))]],
  ['stale read', [at(0, place(1, 5)), at(1, find(5, 5)), final(find(5, 5, 1))]],
  ['G0-realtime', [at(0, append(1, 1)), at(1, append(1, 2)), final(list(1, 2, 1))]],
  ['G1c-realtime', [at(0, list(1, 1)), at(1, append(1, 1))]],
  // The second has seen the first, and is seen by nobody who begins after it.
  ['G-single-realtime', [together(append(1, 1)), at(1, list(1, 1)), at(2, list(1)), final(list(1, 1))]],
  [
    'G2-item-realtime',
    [together(list(1), append(2, 2)), at(1, append(1, 1)), at(2, list(2)), final(list(1, 1), list(2, 2))],
  ],
]

describe('a history that is wrong', () => {
  it.each(wrong.map(([name, history], nth) => [name, nth, history] as const))('has %s (%i)', (name, _, history) => {
    const { anomalies, names } = checkHistory(history)
    expect(names).toEqual([name])
    expect(anomalies[0]?.text).toMatch(/T\d/)
  })

  it('with a long cycle is reported by its transactions, in order, and why each is before the next', () => {
    const { anomalies } = checkHistory([
      together(list(1), append(2, 2)),
      together(list(2), append(3, 3)),
      together(find(5, 5), list(3), append(1, 1)),
      final(list(1, 1), list(2, 2), list(3, 3)),
    ])
    expect(anomalies).toEqual([
      {
        name: 'G2-item',
        text: [
          'T0 ok 0.00–1000.00 ms: list 1 is []; append 2 to list 2',
          '  what it has seen of list 1 was overwritten (rw) by T2',
          'T2 ok 0.00–1000.00 ms: place 5: {}; list 3 is []; append 1 to list 1',
          '  what it has seen of list 3 was overwritten (rw) by T1',
          'T1 ok 0.00–1000.00 ms: list 2 is []; append 3 to list 3',
          '  what it has seen of list 2 was overwritten (rw) by T0',
        ].join('\n'),
      },
    ])
  })

  it('with a cycle of thousands of transactions is reported by the first of them', () => {
    const count = 20_000
    const history = Array.from({ length: count }, (_, i) => together(list(i), append((i + 1) % count, i)))
    const finals = Array.from({ length: count }, (_, i) => list(i, (i + count - 1) % count))
    const { anomalies, names } = checkHistory([...history, final(...finals)])
    expect(names).toEqual(['G2-item'])
    expect(anomalies[0]?.text.split('\n')).toHaveLength(41)
    expect(anomalies[0]?.text).toMatch(/… and 19980 transactions more$/)
  })

  it('counts all anomalies, and describes the first', () => {
    const pairs = Array.from({ length: 100 }, (_, i) => [
      together(list(i), append(i + 1000, i)),
      together(list(i + 1000), append(i, i)),
      final(list(i, i), list(i + 1000, i)),
    ])
    const { counts, anomalies } = checkHistory(pairs.flat())
    expect([...counts]).toEqual([['G2-item', 100]])
    expect(anomalies.length).toBe(20)
  })

  it('in real time only, and not within one list, is right where that order is not asked for', () => {
    const history = [
      together(list(1), append(2, 2)),
      at(1, append(1, 1)),
      at(2, list(2)),
      at(2000, list(1, 1)),
      at(2001, list(2, 2)),
    ]
    expect(checkHistory(history).names).toEqual(['G2-item-realtime'])
    expect(checkHistory(history, { isStrict: false }).names).toEqual([])
    const stale = [at(0, append(1, 1)), at(1, list(1)), at(2000, list(1, 1))]
    expect(checkHistory(stale, { isStrict: false }).names).toEqual(['stale read'])
    const late = [together(append(1, 1)), at(1, list(1, 1)), at(2, list(1)), at(2000, list(1, 1))]
    expect(checkHistory(late, { isStrict: false }).names).toEqual(['stale read'])
  })
})

describe('a history that is right', () => {
  it.each<[string, History]>([
    [
      'of unknown outcomes, which may have happened or not',
      [
        ended('unknown', append(1, 1), append(2, 2)),
        ended('unknown', append(1, 3)),
        ended('unknown', place(1, 5)),
        final(list(1, 1), list(2, 2), find(1, 10)),
      ],
    ],
    [
      'of a deletion that may have happened',
      [
        at(0, place(1, 5)),
        { ...ended('unknown', place(1, 0, 2)), invoked: 1 },
        at(3, find(5, 5, 1)),
        at(4, find(5, 5)),
        final(find(5, 5)),
      ],
    ],
    [
      'of concurrent writes in either order',
      [together(write(1, 1)), together(write(1, 2)), at(1, read(1, 2)), at(2, read(1, 1))],
    ],
    [
      'of a transaction that sees what it has done',
      [
        together(
          append(1, 1),
          list(1, 1),
          write(1, 2),
          read(1, 2),
          place(1, 5),
          find(5, 5, 1),
          place(1, 0, 2),
          find(5, 5),
        ),
        final(list(1, 1), find(5, 5)),
      ],
    ],
    [
      'of a search that says only that there is something',
      [
        together({ kind: 'find', from: 5, to: 5, items: 'some' }, append(1, 1)),
        at(1, place(1, 5)),
        final(list(1, 1), find(5, 5, 1)),
      ],
    ],
  ])('%s', (_, history) => {
    expect(checkHistory(history).anomalies).toEqual([])
  })

  it('of any transactions that were carried out one after the other, however their intervals overlap', () => {
    fc.assert(
      fc.property(shape, (options) => {
        const history = serialHistory({ ...options, random: seededRandom(options.seed) })
        expect(checkHistory(history).anomalies).toEqual([])
        expect(checkHistory(history, { isStrict: false }).anomalies).toEqual([])
        // Nor does it matter in which order they are listed.
        expect(checkHistory(history.toReversed()).anomalies).toEqual([])
      }),
      runs(200),
    )
  })
})

const shape = fc.record({
  seed: fc.integer(),
  transactions: fc.integer({ min: 1, max: 120 }),
  overlap: fc.constantFrom(0.1, 1, 4, 20),
  width: fc.integer({ min: 1, max: 6 }),
})

describe('a read that is forged', () => {
  it('is found where it misses what had completed before it began', () => {
    let forged = 0
    fc.assert(
      fc.property(shape, fc.double({ min: 0, max: 0.99, noNaN: true }), (options, which) => {
        const history = serialHistory({ ...options, random: seededRandom(options.seed) })
        const reads = staleable(history)
        const chosen = reads[Math.floor(which * reads.length)]
        if (chosen === undefined) return
        forged++
        expect(checkHistory(forge(history, chosen)).names).not.toEqual([])
      }),
      runs(300),
    )
    expect(forged).toBeGreaterThan(10)
  })

  it('is found where two transactions miss what each other has done', () => {
    fc.assert(
      fc.property(shape, (options) => {
        const history = serialHistory({ ...options, random: seededRandom(options.seed) })
        const [one, other] = [1_000_000, 1_000_001]
        const skewed = [
          ...history.slice(0, -1),
          together(list(one), append(other, other)),
          together(list(other), append(one, one)),
        ]
        const { steps, ...last } = history.at(-1)!
        const ends = { ...last, invoked: 3000, completed: 3001, steps: [...steps, list(one, one), list(other, other)] }
        expect(checkHistory([...skewed, ends]).names).toEqual(['G2-item'])
      }),
      runs(100),
    )
  })
})

interface Chosen {
  readonly transaction: number
  readonly step: number
}

/** First reads of a list by a transaction that does not append to it, where the last value had been acknowledged before the read began. */
function staleable(history: History): Chosen[] {
  const completed = new Map<number, number>()
  for (const { steps, outcome, completed: end } of history)
    for (const step of steps) if (step.kind === 'append' && outcome === 'ok') completed.set(step.value, end)
  return history.flatMap(({ steps, invoked, outcome }, transaction) =>
    steps.flatMap((step, nth) => {
      if (outcome !== 'ok' || step.kind !== 'readList') return []
      const isOnly = steps.every(
        (other, i) =>
          i === nth || !((other.kind === 'append' || other.kind === 'readList') && other.list === step.list),
      )
      return isOnly && (completed.get(step.values.at(-1) ?? 0) ?? Number.POSITIVE_INFINITY) < invoked
        ? [{ transaction, step: nth }]
        : []
    }),
  )
}

function forge(history: History, { transaction, step }: Chosen): History {
  const forged = history[transaction]!
  const steps = forged.steps.map((done, nth): Step => {
    return nth === step && done.kind === 'readList' ? { ...done, values: done.values.slice(0, -1) } : done
  })
  return history.with(transaction, { ...forged, steps })
}
