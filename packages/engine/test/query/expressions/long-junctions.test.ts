/** AND, OR and CASE of thousands of parts: equalities of one path are looked up; the others spend what they take. */
import { describe, expect, it } from 'vitest'
import type { Bound } from '../../../src/query/bind/bound.ts'
import { Compiler } from '../../../src/query/evaluate/compile-expression.ts'
import type { Evaluate, EvaluationContext } from '../../../src/query/evaluate/evaluation-context.ts'
import { Work } from '../../../src/query/functions/work.ts'
import type { RecordFormats } from '../../../src/records/record-formats.ts'
import { queryTest } from '../query-database.ts'

const many = (count: number, write: (i: number) => string, between: string): string =>
  Array.from({ length: count }, (_, i) => write(i)).join(between)

const span = { start: 0, end: 0 }
const reference = { kind: 'reference', cls: null } as const
const boolean = { kind: 'boolean' } as const
const oid = (i: number): string => `3-3-1-${i}`

/** `$$ID = … OR …`, which tells how many values were compared. */
function equalities(count: number): { readonly bound: Bound; compared(): number } {
  let compared = 0
  const equals = (one: unknown, other: unknown): boolean => {
    compared++
    return one === other
  }
  const operands = Array.from({ length: count }, (_, i): Bound => {
    const left: Bound = { kind: 'self', slot: 0, type: reference, ...span }
    const right: Bound = { kind: 'constant', value: oid(i), type: reference, ...span }
    return { kind: 'compare', operator: 'equal', left, right, equals, compare: undefined, type: boolean, ...span }
  })
  return {
    bound: { kind: 'logical', operator: 'or', operands, type: boolean, ...span },
    compared: () => compared,
  }
}

function evaluationOf(row: unknown, work: Work, constants: unknown[] = []): EvaluationContext {
  const memory = { chargeStatement: () => undefined, chargeRow: () => undefined }
  return { slots: [row], constants, memory, work } as unknown as EvaluationContext
}

/** Rows that are evaluated before the limits of the statement are checked. */
function rowsBetweenChecks(evaluate: Evaluate): number {
  let checks = 0
  const evaluation = evaluationOf({ oid: oid(-1) }, new Work(() => checks++))
  for (let rows = 0; rows < 10_000; rows++) {
    evaluate(evaluation)
    if (checks > 0) return rows
  }
  return Number.POSITIVE_INFINITY
}

const compiled = (bound: Bound): Evaluate => new Compiler({} as RecordFormats).compile(bound)

it('a path that may equal thousands of values is looked up, and compared with none of them', () => {
  const { bound, compared } = equalities(5_000)
  const evaluate = compiled(bound)
  const constants: unknown[] = []
  const results = [0, 4_999, 5_000].map((i) =>
    evaluate(evaluationOf({ oid: oid(i) }, new Work(() => undefined), constants)),
  )
  expect(results).toEqual([true, true, false])
  expect(evaluate(evaluationOf(undefined, new Work(() => undefined), constants))).toBeNull()
  expect(compared()).toBe(0)
})

describe('the limits are checked after some rows of', () => {
  const operand: Bound = {
    kind: 'isNull',
    operand: { kind: 'self', slot: 0, type: reference, ...span },
    type: boolean,
    ...span,
  }
  const operands = (count: number): Bound[] => Array.from({ length: count }, () => operand)
  const branches = (count: number) => operands(count).map((condition) => ({ condition, value: condition }))

  for (const [what, of] of Object.entries({
    OR: (count: number): Bound => ({
      kind: 'logical',
      operator: 'or',
      operands: operands(count),
      type: boolean,
      ...span,
    }),
    CASE: (count: number): Bound => ({
      kind: 'case',
      branches: branches(count),
      otherwise: undefined,
      type: boolean,
      ...span,
    }),
  })) {
    it(`${what} with thousands of parts, and more rows of fewer parts`, () => {
      const rows = rowsBetweenChecks(compiled(of(5_000)))
      expect(rows).toBeLessThan(10)
      expect(rowsBetweenChecks(compiled(of(500)))).toBeGreaterThan(5 * rows)
      expect(rowsBetweenChecks(compiled(of(5)))).toBe(Number.POSITIVE_INFINITY)
    })
  }
})

const setUp = [
  'UPDATE SCHEMA { CREATE CLASS Part {n: Integer, code: String} }',
  "CREATE Part {n: 1, code: 'a'}",
  "CREATE Part {n: 30, code: 'b'}",
  "CREATE Part {n: null, code: 'c'}",
]

describe('an OR of many equalities', () => {
  const codes = (db: { rows(text: string): Promise<unknown> }, where: string) =>
    db.rows(`FROM Part WHERE ${where} RETURN code ORDER BY code`)
  const some = many(20, (i) => (i % 2 === 0 ? `n = ${i}` : `${i} = n`), ' OR ')
  const enough = many(40, (i) => (i % 2 === 0 ? `n = ${i}` : `${i} = n`), ' OR ')

  queryTest('gives the same as the parts, also beside others and for null', setUp, async (db) => {
    expect(await codes(db, some)).toEqual([{ code: 'a' }])
    expect(await codes(db, enough)).toEqual([{ code: 'a' }, { code: 'b' }])
    expect(await codes(db, `NOT (${some})`)).toEqual([{ code: 'b' }])
    expect(await codes(db, `NOT (${enough})`)).toEqual([])
    expect(await codes(db, `${enough} OR code = 'c'`)).toEqual([{ code: 'a' }, { code: 'b' }, { code: 'c' }])
    expect(await codes(db, `code = 'c' OR (${enough}) AND n > 1`)).toEqual([{ code: 'b' }, { code: 'c' }])
    expect(await codes(db, `(${enough}) IS NULL`)).toEqual([{ code: 'c' }])
  })

  queryTest('and an AND of many parts qualify objects', setUp, async (db) => {
    const parts = many(300, (i) => `n <> ${i + 2}`, ' AND ')
    expect(await codes(db, parts)).toEqual([{ code: 'a' }])
    expect(
      await codes(
        db,
        many(300, (i) => `n > ${i + 20}`, ' OR '),
      ),
    ).toEqual([{ code: 'b' }])
  })
})
