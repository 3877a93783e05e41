/** ooObj in the query language: a source and a vertex of all objects, referenced and inherited from, and never changed (DO, section 5). */

import { describe, expect, it } from 'vitest'
import { catalogVersionKey } from '../../src/bytes/key-space.ts'
import { catalogKey } from '../../src/catalog/catalog-keys.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Store } from '../../src/store/store.ts'
import { rowValues } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { type QueryDatabase, queryTest } from './query-database.ts'

const data = [
  `UPDATE SCHEMA {
    CREATE CLASS Shop.Address EMBEDDABLE {city: String}
    CREATE CLASS Shop.Client SUPERCLASS ooObj {name: String, orders: List{Element: Reference{Referenced: Shop.Order}}}
    CREATE CLASS Shop.Company SUPERCLASS Shop.Client {tax: Integer}
    CREATE CLASS Shop.Order {number: Integer, about: Reference{Referenced: ooObj},
      seen: Set{Element: Reference{Referenced: ooObj}}, byName: Map{Key: String, Element: Reference{Referenced: ooObj}}}
  }`,
  `LET one = CREATE Order {number: 1};
   LET ann = CREATE Client {name: 'Ann', orders: LIST{$one}};
   LET dunn = CREATE Company {name: 'Dunn', tax: 7};
   CREATE Order {number: 2, about: $dunn, seen: SET{$one, $ann}, byName: MAP{'a': $ann}}`,
]

async function classesOf(db: QueryDatabase, text: string): Promise<string[]> {
  const rows = await db.rows(text)
  return rows.map(({ __class__ }) => String(__class__)).sort()
}

describe('ooObj', () => {
  queryTest('is a source of all objects, without attributes of its own', data, async (db) => {
    expect(await classesOf(db, 'FROM ooObj RETURN *')).toEqual([
      'Shop.Client',
      'Shop.Company',
      'Shop.Order',
      'Shop.Order',
    ])
    expect(await db.rows('FROM ooObj RETURN COUNT() AS n')).toEqual([{ n: 4 }])
    expect(await db.rows('FROM ONLY ooObj RETURN *')).toEqual([])
    const [{ id }] = (await db.rows("FROM Client WHERE name = 'Ann' RETURN $$ID AS id")) as [{ id: string }]
    expect(await db.rows(`FROM ooObj WHERE $$ID = ${id} RETURN OBJECT($$ID) AS o`)).toMatchObject([
      { o: { __class__: 'Shop.Client', name: 'Ann' } },
    ])
    expect(await db.value(`(LOOKUP ooObj WHERE $$ID = ${id})`)).toBe(id)
    expect(await db.rows('FROM ooObj WHERE CAST($$ID AS Order).number = 2 RETURN $$ID')).toHaveLength(1)
    expect(await db.rows(`LET x = (FROM ooObj RETURN *); FROM $x RETURN COUNT() AS n`)).toEqual([{ n: 4 }])
    const error = await db.failure('FROM ooObj RETURN name')
    expect(error).toMatchObject({ type: 'QueryError', message: expect.stringMatching(/ooObj has no attribute 'name'/) })
    expect(error.message).toMatch(/CAST\(… AS Shop.Client\)/)
    for (const name of ['ooobj', 'OOOBJ', 'ooObjs']) {
      expect((await db.failure(`FROM ${name} RETURN *`)).message).toMatch(/there is no class/)
    }
  })

  queryTest('is the root, whatever class has this name within a namespace', data, async (db) => {
    // In the text that creates it as well.
    await db.rows(`UPDATE SCHEMA {
      CREATE CLASS Own.ooObj {size: Integer}
      CREATE CLASS Own.Note SUPERCLASS ooObj {any: Reference{Referenced: ooObj}, own: Reference{Referenced: Own.ooObj}}
    }`)
    await db.rows('LET o = CREATE Own.ooObj {size: 3}; CREATE Note {any: (LOOKUP Order WHERE number = 1), own: $o}')
    expect(await db.rows('FROM ooObj RETURN COUNT() AS n')).toEqual([{ n: 6 }])
    expect(await db.rows('FROM Own.ooObj RETURN size')).toEqual([{ size: 3 }])
    expect(await db.rows('MATCH (n:Note)-[:own]->(o:Own.ooObj) RETURN o.size AS size')).toEqual([{ size: 3 }])
    expect(await db.rows('MATCH (n:Note)-->(x:ooObj) RETURN COUNT() AS n')).toEqual([{ n: 2 }])
    const casts = await db.rows('FROM Note RETURN CAST(any AS ooObj) = any AS a, CAST(any AS Own.ooObj) AS b')
    expect(casts).toMatchObject([{ a: true, b: null }])
    await db.rows('UPDATE SCHEMA { ALTER CLASS Order {ADD later: Reference{Referenced: ooObj}} }')
    const [{ attributes }] = (await db.rows('SHOW CLASS Order')) as [{ attributes: readonly object[] }]
    expect(attributes).toContainEqual({ attributeName: 'later', logicalType: 'reference', referencedClass: 'ooObj' })
    for (const text of ['CREATE ooObj {size: 1}', 'UPDATE ooObj SET size TO 1', 'UPDATE SCHEMA { DROP CLASS ooObj }']) {
      expect((await db.failure(text)).message).toMatch(/ooObj is the root/)
    }
    expect((await db.failure('FROM ooObjs RETURN *')).message).toMatch(/there is no class/)
  })

  queryTest('is a vertex of any class', data, async (db) => {
    const rows = await db.rows('MATCH (o:Order {number: 2})-[e:about]->(x:ooObj) RETURN OBJECT(x) AS x')
    expect(rows).toMatchObject([{ x: { __class__: 'Shop.Company', tax: 7 } }])
    expect(await db.rows('MATCH (x:ooObj) RETURN COUNT() AS n')).toEqual([{ n: 4 }])
    expect(await db.rows('MATCH (x:ooObj)<--(o:Order) RETURN COUNT() AS n')).toEqual([{ n: 4 }])
    expect(
      await db.rows("MATCH (c:Client {name: 'Ann'})<-[e]-(x:ooObj) ORDER BY e.attribute RETURN e.attribute AS a"),
    ).toEqual([{ a: 'byName' }, { a: 'seen' }])
    expect(await db.rows('MATCH (x:ooObj)-[:orders]->(o), (x:Client {name: "Ann"}) RETURN x.name AS n')).toEqual([
      { n: 'Ann' },
    ])
    expect(await db.rows('MATCH (o:Order)-[:about]->(x)-[:orders]->(p) RETURN COUNT() AS n')).toEqual([{ n: 0 }])
    expect((await db.failure('MATCH (x:ooObj)-[:orders]->(o) RETURN x.name')).type).toBe('QueryError')
  })

  queryTest('is a class that references name, and paths go through by CAST', data, async (db) => {
    expect(
      await db.rows('FROM Order WHERE number = 2 RETURN CAST(about AS Company).tax AS t, COUNT(seen) AS n'),
    ).toEqual([{ t: 7, n: 2 }])
    await db.rows('UPDATE Order WHERE number = 1 SET about TO (LOOKUP Order WHERE number = 2)')
    expect(await db.rows('FROM Order WHERE CAST(about AS Order).number = 2 RETURN number')).toEqual([{ number: 1 }])
    const [shown] = await db.rows('SHOW CLASS Order')
    expect(shown).toMatchObject({
      attributes: expect.arrayContaining([
        { attributeName: 'about', logicalType: 'reference', referencedClass: 'ooObj' },
      ]),
    })
    const paired = 'UPDATE SCHEMA { CREATE CLASS Bad {r: Reference{Referenced: ooObj, Inverse: r}} }'
    expect((await db.failure(paired)).type).toBe('UnknownAttribute')
  })

  queryTest('is shown by its name alone', data, async (db) => {
    expect(await db.rows('SHOW CLASS ooObj')).toEqual([
      expect.objectContaining({ className: 'ooObj', classNumber: '0', isInternal: true, attributes: [] }),
    ])
    const classes = (await db.rows('SHOW CLASSES')).map(({ className }) => className)
    expect(classes).toEqual(['Shop.Address', 'Shop.Client', 'Shop.Company', 'Shop.Order'])
    const [client] = await db.rows('SHOW CLASS Client')
    expect(client?.superClass).toBe(null)
  })

  queryTest('is deleted from where there is a condition', data, async (db) => {
    expect((await db.failure('DELETE ooObj')).message).toMatch(/root of all referenceable classes/)
    expect((await db.failure('DELETE ooObj RETURN COUNT()')).type).toBe('QueryError')
    expect(await db.rows('DELETE ooObj WHERE CAST($$ID AS Order).number = 1 RETURN COUNT() AS n')).toEqual([{ n: 1 }])
    expect(await db.rows('DELETE ooObj WHERE true RETURN COUNT() AS n')).toEqual([{ n: 3 }])
    expect(await db.rows('FROM ooObj RETURN *')).toEqual([])
  })

  queryTest('is changed by nothing else', data, async (db) => {
    const refused = [
      'UPDATE ooObj SET name TO 1',
      'UPDATE ooObj WHERE true CLEAR name',
      'CREATE ooObj {}',
      'LET x = CREATE ooObj {}',
      'UPSERT ooObj {a: 1} ON (a)',
      'CREATE INDEX any ON ooObj (a)',
      'CREATE UNIQUE INDEX any ON ooObj (a)',
      'UPDATE SCHEMA { ALTER CLASS ooObj {ADD a: Integer} }',
      'UPDATE SCHEMA { ALTER CLASS ooObj {DROP a} }',
      'UPDATE SCHEMA { RENAME CLASS ooObj TO Mine }',
      'UPDATE SCHEMA { DROP CLASS ooObj }',
    ]
    for (const text of refused) {
      const error = await db.failure(text)
      expect(error, text).toMatchObject({ type: 'QueryError', message: expect.stringMatching(/ooObj is the root/) })
    }
    const [named, renamed] = ['CREATE CLASS ooObj {}', 'CREATE CLASS Own {} RENAME CLASS Own TO ooObj']
    expect((await db.failure(`UPDATE SCHEMA { ${named} }`)).type).toBe('InvalidName')
    expect((await db.failure(`UPDATE SCHEMA { ${renamed} }`)).type).toBe('InvalidName')
    expect((await db.failure('UPDATE SCHEMA { CREATE CLASS Part SUPERCLASS ooObj EMBEDDABLE {} }')).type).toBe(
      'InvalidDefinition',
    )
    expect((await db.failure('SHOW ooObj{}')).type).toBe('QueryError')
  })
})

/** What a build could do that knew no root: the first class is called ooObj. */
async function renameFirstClass(store: Store): Promise<void> {
  const key = catalogKey('class', 1_000_000)
  const snapshot = await store.snapshot()
  const definition = await snapshot.view(key, (bytes) => JSON.parse(Buffer.from(bytes).toString()) as object)
  snapshot.release()
  const value = Buffer.from(JSON.stringify({ ...definition, name: 'ooObj' }))
  const version = { kind: 'put', key: catalogVersionKey, value: Buffer.alloc(8, 1) } as const
  await store.commit({ changes: [{ kind: 'put', key, value }, version], preconditions: [] })
}

describe('a class called ooObj that a store has from before', () => {
  it('keeps its name, and hides the root', async () => {
    const store = await openStoreOfRun()
    const fd = await FederatedDatabase.open({ alias: 'before', store })
    await fd.defineClasses([{ className: 'Before', isReferenceable: true, attributes: [] }], 'create')
    await fd.createObject('Before', {})
    await renameFirstClass(store)
    const rows = async (text: string): Promise<unknown[]> => rowValues(await fd.query({ text }))
    expect(await rows('SHOW CLASS ooObj')).toMatchObject([
      { className: 'ooObj', classNumber: '1000000', isInternal: false },
    ])
    await fd.defineClasses(
      [
        { className: 'ooObj', attributes: [{ attributeName: 'n', logicalType: 'integer' }] },
        { className: 'Other', isReferenceable: true, superClass: 'ooObj', attributes: [] },
        { className: 'Third', isReferenceable: true, attributes: [] },
      ],
      'createOrExtend',
    )
    await fd.createObject('ooObj', { n: 1 })
    await fd.createObject('Other', { n: 2 })
    await fd.createObject('Third', {})
    expect(await rows('FROM ooObj ORDER BY n RETURN n')).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }])
    await rows('UPDATE ooObj SET n TO n + 1')
    await fd.alterClass('ooObj', { classRename: 'Mine' })
    expect(await rows('FROM ooObj RETURN COUNT() AS n')).toEqual([{ n: 4 }])
    expect((await fd.verify()).problems).toEqual([])
    await fd.close()
  })
})
