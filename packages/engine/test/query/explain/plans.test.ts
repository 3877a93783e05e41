/** EXPLAIN of statements that are not carried out: the plan of each kind, in both formats, and nothing read but estimates. */

import { describe, expect } from 'vitest'
import type { ExplainRequest } from '../../../src/query/query-request.ts'
import { rowTexts } from '../../row-texts.ts'
import { type QueryDatabase, queryTest, type Row } from '../query-database.ts'
import { shop } from './shop.ts'

async function explained(
  db: QueryDatabase,
  text: string,
  explain: ExplainRequest = { isAnalyzed: false, format: 'text' },
  parameters: Row = {},
): Promise<string> {
  const rows = await rowTexts(await db.fd.query({ text, parameters, explain }))
  return rows.join(explain.format === 'text' ? '\n' : ',')
}

/** Without the line breaks at its ends. */
const block = (text: string): string => `${text.replace(/^\n|\n *$/g, '').replaceAll(/^ {6}/gm, '')}\n`

describe('the plan as text', () => {
  queryTest('of a query with an order that an index has not', shop, async (db) => {
    expect(
      await explained(
        db,
        "FROM Client WHERE age = 25 AND name != 'x' ORDER BY name DESC SKIP 1 TAKE 2 RETURN name, age",
      ),
    ).toBe(
      block(`
      Return
        Columns: name, age
        ->  Limit
              Skip: 1
              Take: 2
              ->  Sort
                    By: name DESC
                    First: 3
                    ->  Filter
                          Predicate: age = 25 AND name != 'x'
                          ->  Index scan on Client using clientAge  (estimated rows=2)
                                Conditions: age = 25
                                Candidate: Index scan on Client using clientAge (age = 25)  (estimated rows=2), chosen
      Entries counted for estimates: 2
      `),
    )
  })

  queryTest('of groups over both sides of an OR', shop, async (db) => {
    const text =
      'FROM Order WHERE no = 1 OR client.age = 30 GROUP BY total HAVING COUNT() > 0 RETURN total, COUNT() AS n'
    expect(await explained(db, text)).toBe(
      block(`
      Return
        Columns: total, n
        ->  Group
              Keys: 1
              Aggregates: COUNT
              By: total
              Having: COUNT() > 0
              ->  Filter
                    Predicate: no = 1 OR client.age = 30
                    ->  Union on Order  (estimated rows=3)
                          Candidate: Union on Order  (estimated rows=3), chosen
                          ->  Index scan on Order using orderNo
                                Unique: yes
                                Conditions: no = 1
                          ->  Reverse navigation on Order
                                Attribute: client
                                Inverse: orders
                                ->  Index scan on Client using clientAge
                                      Conditions: age = 30
      Entries counted for estimates: 3
      `),
    )
  })

  queryTest('of a pattern', shop, async (db) => {
    expect(await explained(db, 'MATCH (c:Client {age = 30})-[:orders]->(o) WHERE o.no > 1 RETURN o.no')).toBe(
      block(`
      Return
        Columns: o.no
        ->  Expand
              From: o
              To: c
              Direction: backward
              Attributes: orders
              Mode: acyclic
              Predicates: age = 30
              ->  Vertices
                    Name: o
                    ->  Filter
                          Predicate: o.no > 1
                          ->  Index scan on Order using orderNo  (estimated rows=1)
                                Unique: yes
                                Conditions: no > 1
                                Candidate: Index scan on Order using orderNo (no > 1)  (estimated rows=1), chosen
      Entries counted for estimates: 4
      `),
    )
  })

  queryTest('of a pattern whose walk has a name, and a mode that is decided at its end', shop, async (db) => {
    const text = 'MATCH SIMPLE w = (c:Client {age = 30})-[:orders]->(o) WHERE LENGTH(w.attribute) = 1 RETURN o.no'
    const [lines = ''] = (await explained(db, text)).split('        ->  Expand')
    expect(lines).toBe(`Return
  Columns: o.no
  ->  Walks
        Names: w
        Modes: simple
        Predicates: LENGTH(w.attribute) = 1
`)
  })

  queryTest('of several statements, which are told apart by their text', shop, async (db) => {
    expect(await explained(db, 'LET a = 25;\nDELETE Client\nWHERE age = $a; SHOW 1')).toBe(
      block(`
      Statement: LET a = 25
      Let
        Variable: a

      Statement: DELETE Client WHERE age = $a
      Return
        Columns: *
        ->  Delete on Client
              ->  Filter
                    Predicate: age = $a
                    ->  Index scan on Client using clientAge  (estimated rows=2)
                          Conditions: age = $a
                          Candidate: Index scan on Client using clientAge (age = $a)  (estimated rows=2), chosen
      Entries counted for estimates: 2

      Statement: SHOW 1
      Show
      `),
    )
  })
})

describe('what is known before a statement runs', () => {
  const json: ExplainRequest = { isAnalyzed: false, format: 'json' }
  const plansOf = async (db: QueryDatabase, text: string, parameters?: Row): Promise<Row[]> => {
    return JSON.parse(`[${await explained(db, text, json, parameters)}]`) as Row[]
  }

  queryTest(
    'values of parameters are; those of nested statements and variables are not, and so no estimates',
    shop,
    async (db) => {
      const text = 'FROM Order WHERE client = $c RETURN no'
      const client = (await db.value('(LOOKUP Client WHERE age = 30)')) as string
      const known = JSON.stringify(await plansOf(db, text, { c: client }))
      expect(known).toContain('"estimatedRows":2')
      for (const unknown of [
        `LET c = (LOOKUP Client WHERE age = 30); ${text}`,
        text.replace('$c', '(LOOKUP Client WHERE age = 30)'),
      ]) {
        const plan = (await plansOf(db, unknown)).at(-1) as { readonly inputs: unknown }
        const shown = JSON.stringify(plan.inputs)
        expect(shown).toContain('"operator":"reverseNavigation"')
        expect(shown).not.toContain('estimatedRows')
        expect(shown).not.toContain('isChosen')
      }
    },
  )

  queryTest('all candidates, up to where they were counted', shop, async (db) => {
    const [plan] = await plansOf(db, 'FROM Client WHERE age > 0 ORDER BY age TAKE 1 RETURN *')
    const shown = JSON.stringify(plan)
    expect(shown).toContain('"operator":"orderedIndexScan"')
    expect(shown).toMatch(/"candidates":\[\{"operator":"indexScan".*"operator":"orderedIndexScan"/)
    expect(shown).not.toContain('"examined"')
    expect(shown).not.toContain('"milliseconds"')
  })

  queryTest('every kind of statement has a plan', shop, async (db) => {
    const kinds: readonly (readonly [string, unknown])[] = [
      ['FROM Client RETURN *', { operator: 'return', columns: '*' }],
      ['LOOKUP Client WHERE age = 30', { operator: 'return' }],
      [
        "UPDATE Client WHERE age = 30 SET name TO 'x' RETURN name",
        { operator: 'return', inputs: [{ operator: 'update' }] },
      ],
      ['DELETE Order WHERE no = 1', { operator: 'return', inputs: [{ operator: 'delete' }] }],
      [
        'CREATE Order {no: 9, client: (LOOKUP Client WHERE age = 30)}',
        { operator: 'create', class: 'Order', inputs: [{ operator: 'return' }] },
      ],
      ['UPSERT Order {no: 1, total: 7} ON (no)', { operator: 'upsert', class: 'Order', index: 'orderNo', on: ['no'] }],
      ['LET x = (FROM Client RETURN name)', { operator: 'let', variable: 'x', inputs: [{ operator: 'return' }] }],
      [
        'FOR EACH c IN (FROM Client RETURN $$ID) => (DELETE $c; SHOW $c)',
        {
          operator: 'forEach',
          inputs: [
            { operator: 'return' },
            { operator: 'return', inputs: [{ operator: 'delete' }] },
            { operator: 'show' },
          ],
        },
      ],
      [
        'IF 1 = 1 THEN (DELETE Client) ELSE (SHOW 2)',
        { operator: 'if', condition: '1 = 1', inputs: [{ operator: 'return' }, { operator: 'show' }] },
      ],
      ['SHOW CLASS Client', { operator: 'show' }],
      ["USE DATE FORMAT 'dd.MM.yyyy'", { operator: 'format' }],
      ['UPDATE SCHEMA {DROP CLASS Order}', { operator: 'schema', changes: ['DROP CLASS Order'] }],
      [
        'CREATE INDEX byName ON Client (name)',
        {
          operator: 'createIndex',
          index: 'byName',
          attributes: ['name'],
          inputs: [{ operator: 'extentScan', estimatedRows: 4 }],
        },
      ],
      ['DROP INDEX clientAge', { operator: 'dropIndex', index: 'clientAge' }],
      ['EXPLAIN ANALYZE FROM Client RETURN *', { operator: 'return', columns: '*' }],
    ]
    const before = await db.rows('FROM ooObj ORDER BY $$ID RETURN *')
    for (const [text, plan] of kinds) expect(await plansOf(db, text), text).toMatchObject([plan])
    const all = await plansOf(db, kinds.map(([text]) => text).join(';'))
    expect(all.map(({ operator }) => operator)).toEqual(kinds.map(([, plan]) => (plan as Row).operator))
    expect(await db.rows('FROM ooObj ORDER BY $$ID RETURN *')).toEqual(before)
    expect((await db.rows('SHOW CLASSES')).map(({ className }) => className)).toContain('Order')
  })

  queryTest('what depends on a change of the schema has none, and says so', shop, async (db) => {
    const [, create] = await plansOf(db, 'UPDATE SCHEMA {CREATE CLASS New {a: Integer}}; CREATE New {a: 1}')
    expect(create).toMatchObject({
      operator: 'create',
      notPlanned: expect.stringMatching(/schema.*there is no class 'New'/),
    })
    expect((await db.failure('EXPLAIN CREATE New {a: 1}')).type).toBe('QueryError')
    await expect(plansOf(db, 'CREATE New {a: 1}')).rejects.toMatchObject({ type: 'QueryError' })
  })

  queryTest('each operand of nested statements is planned', shop, async (db) => {
    const [plan] = await plansOf(
      db,
      'FROM Order WHERE client = (LOOKUP Client WHERE age = (FROM Order RETURN MAX(no))) RETURN no',
    )
    expect(plan).toMatchObject({
      nested: [{ statement: expect.stringMatching(/^LOOKUP/), nested: [{ operator: 'return', columns: ['MAX(no)'] }] }],
    })
  })

  queryTest('of objects that a statement returns', shop, async (db) => {
    const [plan] = await plansOf(db, 'FROM (FROM Order RETURN $$ID AS k) AS a WHERE no < 1 SKIP 1 RETURN no')
    expect(plan).toMatchObject({ operator: 'return', nested: [{ operator: 'return' }] })
  })

  queryTest('of a long pattern', shop, async (db) => {
    const [plan] = await plansOf(db, `MATCH (:Client)${'-[:orders]->()-[:client]->()'.repeat(250)} RETURN COUNT()`)
    expect(JSON.stringify(plan).match(/"operator":"expand"/g)).toHaveLength(500)
  })
})
