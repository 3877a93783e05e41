/** A load that leaves out lines that fail carries the others out a bounded number of times, whatever the lines refer to (contract 2.2.19). */
import { expect, it } from 'vitest'
import type { BulkCreate, BulkDone } from '../../src/bulk/bulk-command.ts'
import { BulkLoad, type CommitBatch, type LineLoad, type LineOutcome } from '../../src/bulk/bulk-load.ts'
import { AshlarError } from '../../src/errors.ts'
import { bulkAttemptsMax } from '../../src/limits.ts'
import type { Oid } from '../../src/types/oid.ts'
import { classOf, toOne, withFd } from '../engine/open-fd.ts'

const classes = [classOf('A', { l: 'string', n: 'integer', next: toOne('A') })]

interface LineGiven {
  readonly attributes: Record<string, unknown>
  readonly id?: string
  readonly refersTo?: readonly string[]
}

const linesOf = (given: readonly LineGiven[]): BulkCreate[] =>
  given.map(({ attributes, id, refersTo }, i) => {
    return { kind: 'create', line: i + 1, at: [], class: 'A', attributes, id, refersTo }
  })

const refersTo = (id: string): LineGiven => ({ attributes: { next: `\${${id}}` }, refersTo: [id] })

/** The first line refers to the last one. */
const ring = (between: readonly LineGiven[]): BulkCreate[] =>
  linesOf([refersTo('last'), ...between, { attributes: {}, id: 'last' }])

/** The type of the error of each line that has one, by its number. */
const failuresOf = (outcomes: readonly LineOutcome[]): Record<number, string> =>
  Object.fromEntries(outcomes.flatMap((one) => ('error' in one ? [[one.line, (one.error as AshlarError).type]] : [])))

async function flushed(load: LineLoad, lines: readonly BulkCreate[]): Promise<readonly LineOutcome[]> {
  for (const line of lines) await load.add(line, 100)
  return [...(await load.flush())]
}

const slotOf = (oid: string): number => Number(oid.split('-')[3])

/** What became of the lines, and how many objects each of them has taken an OID for. */
async function loaded(lines: readonly BulkCreate[]): Promise<{ outcomes: readonly LineOutcome[]; created: number }> {
  let result: { outcomes: readonly LineOutcome[]; created: number } | undefined
  await withFd(classes, async (fd) => {
    const before = slotOf(await fd.createObject('A', {}))
    const outcomes = await flushed(fd.beginLoad({ onError: 'skip' }), lines)
    result = { outcomes, created: slotOf(await fd.createObject('A', {})) - before - 1 }
  })
  return result as NonNullable<typeof result>
}

it('finds all lines that fail by themselves at once, however the lines refer to each other', async () => {
  const count = 200
  const good = Array.from({ length: count }, (_, i) => ({ attributes: { l: `a${i}` } }))
  const bad = Array.from({ length: count }, (_, i) => ({ attributes: { l: `b${i}`, n: 'bad' } }))
  const { outcomes, created } = await loaded(ring([...good, ...bad]))
  expect(outcomes.map(({ line }) => line)).toEqual(Array.from({ length: 2 * count + 2 }, (_, i) => i + 1))
  expect(failuresOf(outcomes)).toEqual(Object.fromEntries(bad.map((_, i) => [count + 2 + i, 'MalformedValue'])))
  expect(created).toBeLessThan(3 * count)
})

it('leaves out with a line all that refer to it, and to those in turn', async () => {
  const count = 200
  const chain = Array.from({ length: count }, (_, i) => ({ ...refersTo(`c${i + 1}`), id: `c${i}` }))
  const end = { attributes: { n: 'bad' }, id: `c${count}` }
  const { outcomes, created } = await loaded(ring([...chain, end]))
  expect(failuresOf(outcomes)).toEqual({
    ...Object.fromEntries(chain.map((_, i) => [i + 2, 'InvalidReference'])),
    [count + 2]: 'MalformedValue',
  })
  expect(created).toBeLessThan(3 * count)
})

it('tells each line of its own error', async () => {
  const unknown = refersTo('none')
  const { outcomes } = await loaded(
    ring([{ attributes: { n: 'bad' } }, { attributes: { colour: 1 } }, unknown, { attributes: { l: 'good' } }]),
  )
  expect(failuresOf(outcomes)).toEqual({ 2: 'MalformedValue', 3: 'UnknownAttribute', 4: 'InvalidReference' })
  const [, second, third] = outcomes.map((one) => ('error' in one ? (one.error as AshlarError).errors : []))
  expect([second?.[0]?.place, third?.[0]?.place]).toEqual([
    ['attributes', 'n'],
    ['attributes', 'colour'],
  ])
})

/** Commits all lines, or tells of the first with `n`: as where a line fails only once it is carried out. */
function counted(): { readonly commit: CommitBatch; lines: number; attempts: number } {
  const counts = {
    lines: 0,
    attempts: 0,
    commit: async (commands: readonly { readonly line: number }[]): Promise<readonly BulkDone[]> => {
      counts.attempts++
      counts.lines += commands.length
      const failed = (commands as readonly BulkCreate[]).findIndex(({ attributes }) => 'n' in attributes)
      if (failed >= 0) throw new AshlarError('InvalidReference', 'is not there').within(failed)
      return commands.map(({ line }) => ({ oid: `3-3-1-${line}` as Oid, change: 'created' as const }))
    },
  }
  return counts
}

const goodAndBad = (count: number): LineGiven[] =>
  Array.from({ length: count }, (_, i) => ({ attributes: i % 2 === 0 ? {} : { n: i } }))

it('gives up lines that cannot be committed apart, once that has failed often enough', async () => {
  const counts = counted()
  const outcomes = await flushed(
    new BulkLoad(counts.commit, { onError: 'skip', mayChangeKeys: () => false, refersInKey: () => false }),
    ring(goodAndBad(1_000)),
  )
  expect(counts.attempts).toBeLessThanOrEqual(bulkAttemptsMax + 1)
  const types = Object.values(failuresOf(outcomes))
  expect(types).toHaveLength(1_002)
  expect(types.filter((type) => type === 'InvalidReference').length).toBeGreaterThanOrEqual(bulkAttemptsMax)
  expect(outcomes[0]).toMatchObject({ error: { type: 'LimitExceeded' } })
})

it('carries out what can be parted, with work in proportion to the lines', async () => {
  const count = 2_000
  const counts = counted()
  const lines = linesOf(goodAndBad(count))
  const outcomes = await flushed(
    new BulkLoad(counts.commit, { onError: 'skip', mayChangeKeys: () => false, refersInKey: () => false }),
    lines,
  )
  expect(Object.keys(failuresOf(outcomes))).toHaveLength(count / 2)
  expect(counts.lines).toBeLessThan(8 * count)
})

it('gives up no lines but those that belong together', async () => {
  const counts = counted()
  const alone = { attributes: {} }
  const lines = linesOf([alone, ...[refersTo('x'), ...goodAndBad(200), { attributes: {}, id: 'x' }], alone, alone])
  const outcomes = await flushed(
    new BulkLoad(counts.commit, { onError: 'skip', mayChangeKeys: () => false, refersInKey: () => false }),
    lines,
  )
  expect(outcomes.filter((one) => 'oid' in one).map(({ line }) => line)).toEqual([1, 204, 205])
})
