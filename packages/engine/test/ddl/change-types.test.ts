/** Types of attributes changed under stored objects (contract 5.3.9). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query/query-database.ts'
import { client, refusal, shop } from './changing-shop.ts'

describe('changes of types', () => {
  const toBytes = {
    attributesToChange: [{ attributeName: 'age', logicalType: 'integer', encoding: 'unsigned', storage: 'b8' }],
  }

  queryTest('that would lose values are refused with counts, or make them the default', shop, async ({ fd, ...db }) => {
    const error = await refusal(fd.alterClass('Shop.Client', toBytes))
    expect(error).toMatchObject({
      type: 'ValuesWouldBeLost',
      message:
        'The change would lose 1 value of age of class Shop.Client; with the option allowLoss what does not fit becomes the default.',
      extensions: { valuesLost: [{ className: 'Shop.Client', attributeName: 'age', values: 1 }] },
    })
    expect(await client(db as QueryDatabase, 'Dunn')).toMatchObject({ age: 300 })
    await db.rows("UPDATE Client WHERE name = 'Dunn' SET age TO 1000")

    await fd.alterClass('Shop.Client', toBytes, { isLossAllowed: true })
    expect(await client(db as QueryDatabase)).toMatchObject({ age: 30 })
    expect(await client(db as QueryDatabase, 'Dunn')).toMatchObject({ age: 0 })
    expect((await refusal(db.rows('UPDATE Client SET age TO 256'))).type).toBe('ValueNotAllowed')
    expect(await db.rows('FROM Client WHERE age = 30 RETURN name')).toEqual([{ name: 'Ann' }])
  })

  queryTest(
    'go through any number of shapes, embedded objects and lists of them included',
    shop,
    async ({ fd, ...db }) => {
      const text = (attributeName: string): object => ({
        attributesToChange: [{ attributeName, logicalType: 'string' }],
      })
      const whole = (attributeName: string): object => ({
        attributesToChange: [{ attributeName, logicalType: 'integer', storage: 'b64' }],
      })
      await fd.alterClass('Shop.Address', text('zip'))
      expect(await client(db as QueryDatabase)).toMatchObject({
        address: { zip: '150' },
        homes: [{ zip: '1' }, { zip: '2' }],
      })
      await db.rows("CREATE Client {name: 'Bob', address.zip: '77', note: '1'}")
      await fd.alterClass('Shop.Address', whole('zip'))
      await fd.alterClass('Shop.Client', text('age'))
      await fd.alterClass('Shop.Client', { attributesToRename: [{ originalName: 'age', newName: 'years' }] })
      await db.rows("UPDATE Client WHERE name = 'Dunn' SET years TO 'many'")
      const lost = await refusal(fd.alterClass('Shop.Client', whole('years')))
      expect(lost).toMatchObject({
        type: 'ValuesWouldBeLost',
        extensions: { valuesLost: [{ attributeName: 'years', values: 1 }] },
      })
      await fd.alterClass('Shop.Client', whole('years'), { isLossAllowed: true })
      expect(
        await db.rows('FROM Client ORDER BY name RETURN name, years, address.zip AS zip, homes.zip AS zips'),
      ).toEqual([
        { name: 'Ann', years: 30, zip: 150, zips: [1, 2] },
        { name: 'Bob', years: 0, zip: 77, zips: [] },
        { name: 'Dunn', years: 0, zip: 0, zips: [] },
      ])
    },
  )

  queryTest(
    'build indexes anew, and refuse values that become equal under a unique one',
    [...shop, 'CREATE UNIQUE INDEX byNote ON Client (note)', 'CREATE INDEX byZip ON Client (address.zip, age)'],
    async ({ fd, ...db }) => {
      await db.rows("CREATE Client {name: 'Cleo', note: '07', age: 5, address.zip: 9}")
      const whole = { attributesToChange: [{ attributeName: 'note', logicalType: 'integer' }] }
      const equal = await refusal(fd.alterClass('Shop.Client', whole, { isLossAllowed: true }))
      expect(equal.type).toBe('UniqueViolation')
      expect(await fd.listIndexes()).toMatchObject([
        { name: 'byNote', state: 'ready', entryCount: 3 },
        { name: 'byZip' },
      ])
      await db.rows("UPDATE Client WHERE name = 'Cleo' SET note TO '8'")
      await fd.alterClass('Shop.Client', whole, { isLossAllowed: true })
      expect(await fd.readIndex('byNote')).toMatchObject({
        state: 'ready',
        isUnique: true,
        entryCount: 3,
        keyAttributes: [{ attributeName: 'note' }],
      })
      expect(await db.rows('FROM Client WHERE note = 7 RETURN name')).toEqual([{ name: 'Ann' }])
      expect(JSON.stringify(await (db as QueryDatabase).analyze('FROM Client WHERE note = 7 RETURN name'))).toMatch(
        /byNote/,
      )
      expect((await refusal(db.rows("CREATE Client {name: 'Eve', note: 8}"))).type).toBe('UniqueViolation')
      await fd.alterClass('Shop.Address', { attributesToChange: [{ attributeName: 'zip', logicalType: 'string' }] })
      expect(await fd.readIndex('byZip')).toMatchObject({
        keyAttributes: [
          { attributeName: 'address.zip', properties: { maxStoredStringLength: 24 } },
          { attributeName: 'age' },
        ],
      })
      expect(await db.rows("FROM Client WHERE address.zip = '150' RETURN name")).toEqual([{ name: 'Ann' }])
      const toList = {
        attributesToChange: [
          { attributeName: 'note', logicalType: 'list', elementSpecification: { logicalType: 'integer' } },
        ],
      }
      expect((await refusal(fd.alterClass('Shop.Client', toList))).type).toMatch(/AttributeInUse|InvalidDefinition/)
    },
  )

  queryTest(
    'of references: to a superclass at once, to a subclass where all objects fit',
    shop,
    async ({ fd, ...db }) => {
      const items = (referencedClass: string): object => ({
        attributesToChange: [
          {
            attributeName: 'items',
            logicalType: 'list',
            elementSpecification: { logicalType: 'reference', referencedClass },
          },
        ],
      })
      const error = await refusal(fd.alterClass('Shop.Order', items('Shop.Book')))
      expect(error).toMatchObject({
        type: 'ValuesWouldBeLost',
        extensions: { valuesLost: [{ className: 'Shop.Order', attributeName: 'items', values: 2 }] },
      })
      await fd.alterClass('Shop.Order', items('Shop.Book'), { isLossAllowed: true })
      expect(
        await db.rows('FROM Order WHERE number = 1 RETURN items.title AS titles, items[0].pages AS pages'),
      ).toEqual([{ titles: ['book'], pages: 9 }])
      await fd.alterClass('Shop.Order', items('Shop.Item'))
      await db.rows("UPDATE Order WHERE number = 2 ADD (LOOKUP Item WHERE title = 'pen') TO items")
      const tags = (referencedClass: string): object => ({
        attributesToChange: [
          {
            attributeName: 'tags',
            logicalType: 'set',
            elementSpecification: { logicalType: 'reference', referencedClass },
          },
        ],
      })
      await fd.alterClass('Shop.Client', tags('Shop.Book'), { isLossAllowed: true })
      expect(await db.rows("FROM Client WHERE name = 'Ann' RETURN tags.title AS titles")).toEqual([
        { titles: ['book'] },
      ])
      const paired = {
        attributesToChange: [
          {
            attributeName: 'client',
            logicalType: 'reference',
            referencedClass: 'Shop.Company',
            inverseAttribute: 'orders',
          },
        ],
      }
      expect((await refusal(fd.alterClass('Shop.Order', paired))).type).toBe('InvalidDefinition')
    },
  )

  queryTest(
    'of references within embedded objects: narrowed, but not moved',
    [
      ...shop,
      `UPDATE SCHEMA {
        CREATE CLASS Shop.Shelf EMBEDDABLE {
          items: List{Element: Reference{Referenced: Shop.Item}}, first: Reference{Referenced: Shop.Item},
          names: Map{Key: String, Element: Reference{Referenced: Shop.Item}}, all: Set{Element: Reference{Referenced: Shop.Item}}
        }
        CREATE CLASS Shop.Room {main: Object{Class: Shop.Shelf}, others: List{Element: Object{Class: Shop.Shelf}}}
      };
      LET pen = LOOKUP Item WHERE title = 'pen'; LET book = LOOKUP Item WHERE title = 'book';
      CREATE Room {
        main: Shelf{items: LIST{$pen, $book}, first: $pen, names: MAP{'p': $pen, 'b': $book}, all: SET{$pen, $book}},
        others: LIST{Shelf{items: LIST{$book}, first: $book}, Shelf{items: LIST{$pen}}}
      }`,
    ],
    async ({ fd, ...db }) => {
      const to = { logicalType: 'reference', referencedClass: 'Shop.Book' }
      const many = (attributeName: string, logicalType: string, more: object = {}): object => ({
        attributeName,
        logicalType,
        elementSpecification: to,
        ...more,
      })
      const names = many('names', 'map', {
        collectionTypeName: 'NameToReferenceMap',
        keySpecification: { logicalType: 'string' },
      })
      const narrow = {
        attributesToChange: [many('items', 'list'), { attributeName: 'first', ...to }, names, many('all', 'set')],
      }
      const error = await refusal(fd.alterClass('Shop.Shelf', narrow))
      expect(error).toMatchObject({
        type: 'ValuesWouldBeLost',
        extensions: {
          valuesLost: [
            { className: 'Shop.Shelf', attributeName: 'items', values: 2 },
            { className: 'Shop.Shelf', attributeName: 'first', values: 1 },
            { className: 'Shop.Shelf', attributeName: 'names', values: 1 },
            { className: 'Shop.Shelf', attributeName: 'all', values: 1 },
          ],
        },
      })
      await fd.alterClass('Shop.Shelf', narrow, { isLossAllowed: true })
      const [book] = await db.rows('FROM Book RETURN $$ID AS oid')
      const [room] = await db.rows('FROM Room RETURN *')
      expect(room).toMatchObject({
        main: { items: [book?.oid], first: '0-0-0-0', names: { b: book?.oid }, all: [book?.oid] },
        others: [
          { items: [book?.oid], first: book?.oid },
          { items: [], first: '0-0-0-0' },
        ],
      })
      const moved = await refusal(fd.alterClass('Shop.Shelf', { attributesToChange: [many('items', 'set')] }))
      expect(moved).toMatchObject({
        type: 'InvalidDefinition',
        message: expect.stringMatching(/items cannot be changed from/),
      })
    },
  )

  queryTest('between lists and sets move the elements, once each in a set', shop, async ({ fd, ...db }) => {
    const items = (logicalType: string): object => ({
      attributesToChange: [
        {
          attributeName: 'items',
          logicalType,
          elementSpecification: { logicalType: 'reference', referencedClass: 'Shop.Item' },
        },
      ],
    })
    const error = await refusal(fd.alterClass('Shop.Order', items('set')))
    expect(error).toMatchObject({ type: 'ValuesWouldBeLost', extensions: { valuesLost: [{ values: 1 }] } })
    await fd.alterClass('Shop.Order', items('set'), { isLossAllowed: true })
    expect((await fd.readClass('Shop.Order')).attributes.map(({ attributeName }) => attributeName)).toEqual([
      'number',
      'client',
      'items',
    ])
    const titles = async (): Promise<unknown> =>
      (await db.rows('FROM Order WHERE number = 1 RETURN items.title AS titles'))[0]?.titles
    expect(new Set((await titles()) as string[])).toEqual(new Set(['pen', 'book']))
    await fd.alterClass('Shop.Order', items('list'))
    expect(new Set((await titles()) as string[])).toEqual(new Set(['pen', 'book']))
    await db.rows("UPDATE Order WHERE number = 1 ADD (LOOKUP Item WHERE title = 'pen') TO items")
    expect(((await titles()) as string[]).length).toBe(3)
  })

  const toWhole = (attributeName: string): object => ({
    attributesToChange: [{ attributeName, logicalType: 'integer' }],
  })

  queryTest(
    'do not look at indexes that go with attributes deleted in the same request',
    [...shop, 'CREATE UNIQUE INDEX byBoth ON Client (note, age)', 'CREATE INDEX byNote ON Client (note)'],
    async ({ fd, ...db }) => {
      await db.rows("UPDATE Client WHERE name = 'Dunn' SET note TO ' 7' SET age TO 30")
      const body = { attributesToDelete: ['age'], ...toWhole('note') }
      expect(await fd.previewAlteration('Shop.Client', body, { isCascading: true })).toMatchObject({
        indexesDropped: ['byBoth'],
        indexesRebuilt: ['byNote'],
      })
      await fd.alterClass('Shop.Client', body, { isCascading: true })
      expect(await fd.listIndexes()).toMatchObject([{ name: 'byNote', entryCount: 2 }])
      expect(await db.rows('FROM Client WHERE note = 7 RETURN name')).toHaveLength(2)
    },
  )

  queryTest(
    'are refused by a unique index in a dry run as in earnest, over one attribute or several',
    [...shop, 'CREATE UNIQUE INDEX byNote ON Client (note)'],
    async ({ fd, ...db }) => {
      await db.rows("UPDATE Client WHERE name = 'Dunn' SET note TO ' 7'")
      for (const change of [fd.previewAlteration.bind(fd), fd.alterClass.bind(fd)]) {
        const error = await refusal(change('Shop.Client', toWhole('note')))
        expect(error).toMatchObject({ type: 'UniqueViolation', message: expect.stringMatching(/note 7 .*'byNote'/) })
      }
      await fd.deleteIndex('byNote')
      await db.rows('CREATE UNIQUE INDEX byBoth ON Client (age, note)')
      expect(await fd.previewAlteration('Shop.Client', toWhole('note'))).toMatchObject({ indexesRebuilt: ['byBoth'] })
      await fd.alterClass('Shop.Client', toWhole('note'))
      expect(await fd.readIndex('byBoth')).toMatchObject({ entryCount: 2 })
    },
  )

  queryTest('count each element of a list that does not fit', shop, async ({ fd, ...db }) => {
    await db.rows(`UPDATE SCHEMA { CREATE CLASS Shop.Row {texts: List{Element: String}, reals: List{Element: Real}} };
      CREATE Row {texts: LIST{'1', 'x', '+2', ' 3 '}, reals: LIST{0, 0.5, 1, 7, -1}}`)
    const toList = (attributeName: string, logicalType: string): object => ({
      attributeName,
      logicalType: 'list',
      elementSpecification: { logicalType },
    })
    const body = { attributesToChange: [toList('texts', 'integer'), toList('reals', 'boolean')] }
    const valuesLost = [
      { className: 'Shop.Row', attributeName: 'reals', values: 3 },
      { className: 'Shop.Row', attributeName: 'texts', values: 2 },
    ]
    const error = await refusal(fd.alterClass('Shop.Row', body))
    expect(error).toMatchObject({ extensions: { valuesLost: expect.arrayContaining(valuesLost) } })
    expect((await refusal(fd.previewAlteration('Shop.Row', body))).message).toBe(error.message)
    expect(await fd.previewAlteration('Shop.Row', body, { isLossAllowed: true })).toMatchObject({ valuesLost })
    await fd.alterClass('Shop.Row', body, { isLossAllowed: true })
    expect(await db.rows('FROM Row RETURN texts, reals')).toEqual([{ texts: [1, 3], reals: [false, true] }])
  })
})
