/** Very long predicates and orders: planning looks at each part a bounded number of times. */
import { describe, expect, it } from 'vitest'
import { planOrderedIndexScan } from '../../../src/query/access/ordered-index-scan.ts'
import { undoneCalculation } from '../../../src/query/access/undone-calculation.ts'
import { type Bound, type BoundOrderItem, isConstant } from '../../../src/query/bind/bound.ts'
import { isRecordOnly } from '../../../src/query/bind/record-only.ts'
import { Compiler } from '../../../src/query/evaluate/compile-expression.ts'
import type { Planning } from '../../../src/query/operators/planning.ts'
import type { RecordFormats } from '../../../src/records/record-formats.ts'
import type { SchemaClass } from '../../../src/schema/catalog.ts'
import { queryTest } from '../query-database.ts'

/** `NOT NOT … TRUE`, which counts how often a part is asked for; with all of its parts. */
function nested(depth: number): { readonly parts: Bound[]; looks(): number } {
  let looks = 0
  const parts = [{ kind: 'constant', value: true, type: { kind: 'boolean' }, start: 0, end: 0 } as unknown as Bound]
  for (let i = 0; i < depth; i++) {
    const within = parts.at(-1)
    const part = {
      kind: 'unary',
      get operand() {
        looks++
        return within
      },
    }
    parts.push(part as unknown as Bound)
  }
  return { parts, looks: () => looks }
}

describe('a predicate that is nested deep', () => {
  for (const [name, holds] of Object.entries({ isConstant, isRecordOnly })) {
    it(`is looked at once, whichever of its parts ${name} is asked of`, () => {
      const { parts, looks } = nested(200)
      for (const part of parts.toReversed()) expect(holds(part)).toBe(true)
      expect(looks()).toBeLessThan(4 * 200)
    })
  }
})

describe('a calculation that is nested deep', () => {
  const integer = { kind: 'integer' } as const
  const constant = { kind: 'constant', value: 1, type: integer, start: 0, end: 0 } as Bound

  it('is undone for as many operations as a path is worth, and no more', () => {
    let looks = 0
    let side = { kind: 'self', slot: 0, type: integer } as unknown as Bound
    for (let i = 0; i < 400; i++) {
      const left = side
      side = {
        kind: 'arithmetic',
        operator: 'plus',
        get left() {
          looks++
          return left
        },
        right: constant,
        type: integer,
        start: 0,
        end: 0,
      } as unknown as Bound
      isConstant(side)
    }
    looks = 0
    expect(undoneCalculation(side, constant)).toBeUndefined()
    expect(looks).toBeLessThan(200)
  })

  it('is asked once whether it depends on what is given, also where it is constant at every depth', () => {
    let looks = 0
    let whole = { kind: 'user', type: integer, start: 0, end: 0 } as unknown as Bound
    for (let i = 0; i < 200; i++) {
      const operand = whole
      whole = {
        kind: 'unary',
        get operand() {
          looks++
          return operand
        },
        calculate: (value: unknown) => value,
        type: integer,
      } as unknown as Bound
    }
    new Compiler({} as RecordFormats).compile(whole)
    expect(looks).toBeLessThan(8 * 200)
  })
})

describe('an order of thousands of keys', () => {
  it('is compared with indexes as far as these have keys', () => {
    let looks = 0
    const index = { state: 'ready', keyAttributes: [{ path: [1] }, { path: [2] }] }
    const cls = {
      get indexes() {
        looks++
        return [index]
      },
    }
    const attribute = { number: 7, spec: { logicalType: 'integer' } }
    const expression = { kind: 'attribute', slot: 0, attribute, type: { kind: 'integer' } }
    const orderBy = Array.from({ length: 2_000 }, () => ({ expression, isDescending: false }))
    const planned = planOrderedIndexScan(
      cls as unknown as SchemaClass,
      { where: undefined, slot: 0 },
      orderBy as unknown as BoundOrderItem[],
      [],
      {} as Planning,
    )
    expect(planned).toBeUndefined()
    expect(looks).toBeLessThan(10)
  })
})

describe('an OR of thousands of parts', () => {
  const setUp = ['UPDATE SCHEMA { CREATE CLASS Part {n: Integer} }', 'CREATE INDEX partNumber ON Part (n)']
  queryTest('is shown by EXPLAIN as far as somebody reads it', setUp, async (db) => {
    const parts = Array.from({ length: 300 }, (_, i) => `n > ${i}`).join(' OR ')
    const [plan] = await db.rows(`EXPLAIN FROM Part WHERE ${parts} RETURN n`)
    const text = JSON.stringify(plan)
    expect(text).toContain('"inputsOmitted":200')
    expect((text.match(/"operator":"indexScan"/g) ?? []).length % 100).toBe(0)
  })
})
