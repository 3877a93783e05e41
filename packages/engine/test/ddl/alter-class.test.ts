/** PUT and DELETE /v1/schema/{class} under stored objects: classes and attributes (contract 5.3). */
import { describe, expect } from 'vitest'
import { type QueryDatabase, queryTest } from '../query/query-database.ts'
import { client, refusal, shop } from './changing-shop.ts'

describe('a class', () => {
  queryTest(
    'is renamed: its number, objects, indexes and references stay',
    [...shop, 'CREATE INDEX byAge ON Client (age)'],
    async ({ fd, ...db }) => {
      const { classNumber, shapeNumber } = await fd.readClass('Shop.Client')
      await fd.alterClass('Shop.Client', { classRename: 'Customer' })
      expect(await fd.readClass(classNumber)).toMatchObject({ className: 'Shop.Customer', shapeNumber })
      expect((await refusal(fd.readClass('Shop.Client'))).type).toBe('ClassNotFound')
      expect(await fd.readClass('Shop.Company')).toMatchObject({ superClass: 'Shop.Customer' })
      expect(await fd.readClass('Shop.Order')).toMatchObject({
        attributes: [{}, { referencedClass: 'Shop.Customer' }, {}],
      })
      expect(await fd.readIndex('byAge')).toMatchObject({ indexedClass: 'Shop.Customer', entryCount: 2 })
      expect(await db.rows('FROM Customer WHERE age = 30 RETURN name')).toEqual([{ name: 'Ann' }])
      await fd.alterClass(classNumber, { classRename: '.Client' })
      expect(await fd.readClass(classNumber)).toMatchObject({ className: 'Client' })
      await fd.alterClass('Client', { classRename: 'Other.Person' })
      expect(await fd.listNamespaces()).toEqual([null, 'Other', 'Shop'])
      expect((await refusal(fd.alterClass('Other.Person', { classRename: 'Shop.Item' }))).type).toBe('ClassExists')
      expect((await refusal(fd.alterClass('Other.Person', { classRename: '5x' }))).type).toBe('InvalidName')
      expect((await refusal(fd.alterClass('Other.Persom', { classRename: 'X' }))).message).toMatch(
        /Did you mean Other\.Person/,
      )
    },
  )

  queryTest('is renamed alone', shop, async ({ fd }) => {
    const both = { classRename: 'A', attributesToDelete: ['age'] }
    expect((await refusal(fd.alterClass('Shop.Client', both))).type).toBe('MalformedRequest')
    for (const body of [{}, [], null, { attributesToAlter: [] }, { attributesToDelete: 'age' }, { classRename: 5 }]) {
      expect((await refusal(fd.alterClass('Shop.Client', body))).type).toMatch(/Malformed|UnknownField/)
    }
    expect((await fd.readClass('Shop.Client')).className).toBe('Shop.Client')
  })
})

describe('attributes', () => {
  queryTest('are deleted, renamed, changed and added at once, in this order', shop, async ({ fd, ...db }) => {
    const before = await fd.readClass('Shop.Client')
    await fd.alterClass('Shop.Client', {
      attributesToDelete: ['note'],
      attributesToRename: [{ originalName: 'age', newName: 'note' }],
      attributesToChange: [{ attributeName: 'note', logicalType: 'integer', encoding: 'signed', storage: 'b64' }],
      attributesToAdd: [{ attributeName: 'age', logicalType: 'string', encoding: 'utf8', storage: 'variable' }],
    })
    const after = await fd.readClass('Shop.Client')
    expect(after.attributes.map(({ attributeName }) => attributeName)).toEqual([
      'name',
      'note',
      'address',
      'homes',
      'orders',
      'tags',
      'age',
    ])
    expect(Number(after.shapeNumber)).toBeGreaterThan(Number(before.shapeNumber))
    expect(await client(db as QueryDatabase)).toMatchObject({
      name: 'Ann',
      note: 30,
      age: '',
      address: { city: 'Oslo' },
    })
    expect(await client(db as QueryDatabase, 'Dunn')).toMatchObject({ note: 300, age: '', taxNumber: 5 })
    await db.rows("UPDATE Client SET age TO 'old'")
    expect(await client(db as QueryDatabase)).toMatchObject({ note: 30, age: 'old' })
  })

  queryTest(
    'keep their order and number under another name, and no shape changes',
    [...shop, 'CREATE UNIQUE INDEX byName ON Client (name, address.zip)'],
    async ({ fd, ...db }) => {
      const { shapeNumber } = await fd.readClass('Shop.Client')
      await fd.alterClass('Shop.Client', {
        attributesToRename: [
          { originalName: 'name', newName: 'title' },
          { originalName: 'orders', newName: 'purchases' },
        ],
      })
      await fd.alterClass('Shop.Address', { attributesToRename: [{ originalName: 'zip', newName: 'code' }] })
      expect((await fd.readClass('Shop.Client')).shapeNumber).toBe(shapeNumber)
      expect(await fd.readIndex('byName')).toMatchObject({
        keyAttributes: [{ attributeName: 'title' }, { attributeName: 'address.code' }],
      })
      expect(await fd.readClass('Shop.Order')).toMatchObject({
        attributes: [{}, { inverseAttribute: 'purchases' }, {}],
      })
      expect(
        await db.rows("FROM Client WHERE title = 'Ann' RETURN address.code AS code, purchases.number AS numbers"),
      ).toEqual([{ code: 150, numbers: [1, 2] }])
    },
  )

  queryTest('that are deleted are gone from objects, embedded ones too', shop, async ({ fd, ...db }) => {
    await fd.alterClass('Shop.Address', { attributesToDelete: ['city'] })
    await fd.alterClass('Shop.Client', { attributesToDelete: ['homes', 'tags'] })
    const ann = await client(db as QueryDatabase)
    expect(ann.address).toEqual({ zip: 150 })
    expect(Object.keys(ann)).toEqual(['__class__', '__identifier__', 'name', 'age', 'note', 'address', 'orders'])
    await db.rows('UPDATE Client SET age TO age + 1')
    expect((await client(db as QueryDatabase)).address).toEqual({ zip: 150 })
    await fd.alterClass('Shop.Client', {
      attributesToAdd: [
        {
          attributeName: 'tags',
          logicalType: 'set',
          elementSpecification: { logicalType: 'reference', referencedClass: 'Shop.Item' },
        },
      ],
    })
    expect((await client(db as QueryDatabase)).tags).toEqual([])
  })

  queryTest(
    'that an index or a link uses are deleted with cascade alone',
    [...shop, 'CREATE INDEX byZip ON Client (age, address.zip)'],
    async ({ fd, ...db }) => {
      const ofIndex = await refusal(fd.alterClass('Shop.Client', { attributesToDelete: ['age'] }))
      expect(ofIndex).toMatchObject({
        type: 'AttributeInUse',
        message: expect.stringMatching(/age of class Shop\.Client.*index 'byZip'.*option cascade/),
      })
      expect((await refusal(fd.alterClass('Shop.Address', { attributesToDelete: ['zip'] }))).type).toBe(
        'AttributeInUse',
      )
      const ofLink = await refusal(fd.alterClass('Shop.Client', { attributesToDelete: ['orders'] }))
      expect(ofLink).toMatchObject({
        type: 'AttributeInUse',
        message: expect.stringMatching(/orders of class Shop\.Client.*client of class Shop\.Order/),
      })
      expect(await fd.readIndex('byZip')).toMatchObject({ entryCount: 2 })

      await fd.alterClass('Shop.Address', { attributesToDelete: ['zip'] }, { isCascading: true })
      expect((await refusal(fd.readIndex('byZip'))).type).toBe('IndexNotFound')
      await fd.alterClass('Shop.Client', { attributesToDelete: ['orders'] }, { isCascading: true })
      expect((await fd.readClass('Shop.Order')).attributes.map(({ attributeName }) => attributeName)).toEqual([
        'number',
        'items',
      ])
      expect(await db.rows('FROM Order RETURN COUNT() AS n')).toEqual([{ n: 2 }])
      expect(await db.rows("DELETE Client WHERE name = 'Ann' RETURN name")).toEqual([{ name: 'Ann' }])
    },
  )

  queryTest('that the class does not have are told', shop, async ({ fd }) => {
    const wrong: readonly (readonly [string, object, string, RegExp])[] = [
      ['Shop.Client', { attributesToDelete: ['agge'] }, 'UnknownAttribute', /'agge'.*Did you mean age/],
      ['Shop.Company', { attributesToDelete: ['age'] }, 'UnknownAttribute', /declared by class Shop\.Client/],
      ['Shop.Client', { attributesToDelete: ['age', 'age'] }, 'InvalidDefinition', /twice/],
      ['Shop.Client', { attributesToRename: [{ originalName: 'age', newName: 'name' }] }, 'AttributeExists', /name/],
      ['Shop.Client', { attributesToRename: [{ originalName: 'age', newName: '5' }] }, 'InvalidName', /5/],
      ['Shop.Client', { attributesToAdd: [{ attributeName: 'age', logicalType: 'date' }] }, 'AttributeExists', /age/],
      [
        'Shop.Client',
        { attributesToChange: [{ attributeName: 'age', logicalType: 'date' }] },
        'InvalidDefinition',
        /age cannot be changed from.*to.*added, filled/,
      ],
      [
        'Shop.Client',
        {
          attributesToChange: [
            { attributeName: 'age', logicalType: 'list', elementSpecification: { logicalType: 'date' } },
          ],
        },
        'InvalidDefinition',
        /age/,
      ],
    ]
    for (const [cls, body, type, message] of wrong) {
      const error = await refusal(fd.alterClass(cls, body))
      expect({ body, type: error.type, message: error.message }).toEqual({
        body,
        type,
        message: expect.stringMatching(message),
      })
    }
  })
})

describe('a class that is deleted', () => {
  queryTest(
    'is read by its number, and its name is free',
    [...shop, 'CREATE INDEX byTitle ON Item (title)', 'CREATE INDEX byPages ON Book (pages)'],
    async ({ fd, ...db }) => {
      expect((await refusal(fd.deleteClass('Shop.Item'))).message).toMatch(/Shop\.Book inherits from it/)
      expect((await refusal(fd.deleteClass('Shop.Book'))).message).toMatch(/it has objects/)
      expect((await refusal(fd.deleteClass('Shop.Address'))).message).toMatch(
        /attribute address of class Shop\.Client embeds it/,
      )
      await db.rows('DELETE Item RETURN COUNT()')
      const { classNumber } = await fd.readClass('Shop.Book')
      await fd.deleteClass('Shop.Book')
      expect((await refusal(fd.readClass('Shop.Book'))).type).toBe('ClassNotFound')
      expect(await fd.readClass(classNumber)).toMatchObject({
        className: 'Shop.Book',
        classNumber,
        isDeleted: true,
        superClass: 'Shop.Item',
        attributes: [{ attributeName: 'pages' }],
      })
      expect((await fd.listClasses()).map(({ className }) => className)).not.toContain('Shop.Book')
      expect((await fd.listIndexes()).map(({ name }) => name)).toEqual(['byTitle'])
      await fd.deleteClass('Shop.Item')
      expect((await fd.readClass('Shop.Order')).attributes.map(({ attributeName }) => attributeName)).toEqual([
        'number',
        'client',
      ])
      expect((await fd.readClass('Shop.Client')).attributes.map(({ attributeName }) => attributeName)).not.toContain(
        'tags',
      )
      expect(await fd.listIndexes()).toEqual([])
      expect((await refusal(fd.deleteClass(classNumber))).type).toBe('ClassNotFound')
      await db.rows('UPDATE SCHEMA { CREATE CLASS Shop.Item {price: Real} }; CREATE Item {price: 2.5}')
      expect(await db.rows('FROM Item RETURN price')).toEqual([{ price: 2.5 }])
      expect((await fd.readClass('Shop.Item')).classNumber).not.toBe(classNumber)
      expect(await client(db as QueryDatabase)).toMatchObject({ name: 'Ann' })
    },
  )
})

describe('a dry run', () => {
  queryTest(
    'tells what would change, be touched and be lost, and changes nothing',
    [...shop, 'CREATE INDEX byNote ON Client (note)'],
    async ({ fd, ...db }) => {
      const before = [await fd.listClasses(), await fd.listIndexes(), await db.rows('FROM Client RETURN *')]
      const body = {
        attributesToDelete: ['age', 'orders'],
        attributesToRename: [{ originalName: 'name', newName: 'title' }],
        attributesToChange: [{ attributeName: 'note', logicalType: 'integer' }],
        attributesToAdd: [{ attributeName: 'since', logicalType: 'date' }],
      }
      expect((await refusal(fd.previewAlteration('Shop.Client', body))).type).toBe('AttributeInUse')
      const lossy = await refusal(fd.previewAlteration('Shop.Client', body, { isCascading: true }))
      expect(lossy).toMatchObject({
        type: 'ValuesWouldBeLost',
        extensions: { valuesLost: [{ className: 'Shop.Client', attributeName: 'note', values: 1 }] },
      })
      expect(await fd.previewAlteration('Shop.Client', body, { isCascading: true, isLossAllowed: true })).toEqual({
        classes: [
          {
            className: 'Shop.Client',
            change: 'change',
            attributesAdded: ['since'],
            attributesDeleted: ['age', 'orders'],
            attributesRenamed: [{ originalName: 'name', newName: 'title' }],
            attributesChanged: [
              {
                attributeName: 'note',
                from: { logicalType: 'string', encoding: 'utf8', storage: 'variable' },
                to: { logicalType: 'integer', encoding: 'signed', storage: 'b32' },
              },
            ],
          },
          {
            className: 'Shop.Order',
            change: 'change',
            attributesAdded: [],
            attributesDeleted: ['client'],
            attributesRenamed: [],
            attributesChanged: [],
          },
        ],
        indexesDropped: [],
        indexesRebuilt: ['byNote'],
        objects: 4,
        valuesLost: [
          { className: 'Shop.Client', attributeName: 'age', values: 2 },
          { className: 'Shop.Client', attributeName: 'note', values: 1 },
          { className: 'Shop.Client', attributeName: 'orders', values: 2 },
          { className: 'Shop.Order', attributeName: 'client', values: 2 },
        ],
      })
      const toSet = {
        attributesToChange: [
          {
            attributeName: 'items',
            logicalType: 'set',
            elementSpecification: { logicalType: 'reference', referencedClass: 'Shop.Item' },
          },
        ],
      }
      expect(await fd.previewAlteration('Shop.Order', toSet, { isLossAllowed: true })).toMatchObject({
        classes: [
          {
            className: 'Shop.Order',
            attributesChanged: [{ attributeName: 'items' }],
            attributesDeleted: [],
            attributesAdded: [],
          },
        ],
        objects: 2,
        valuesLost: [{ className: 'Shop.Order', attributeName: 'items', values: 1 }],
      })
      expect(await fd.previewAlteration('Shop.Client', { classRename: 'Customer' })).toMatchObject({
        classes: [{ className: 'Shop.Client', change: 'rename', newName: 'Shop.Customer' }],
        objects: 0,
        valuesLost: [],
      })
      expect(
        await fd.previewClasses(
          [{ className: 'Shop.Item', attributes: [{ attributeName: 'price', logicalType: 'real' }] }],
          'createOrExtend',
        ),
      ).toMatchObject({
        classes: [{ className: 'Shop.Item', change: 'change', attributesAdded: ['price'] }],
        objects: 2,
        valuesLost: [],
      })
      expect((await refusal(fd.previewDeletion('Shop.Book'))).type).toBe('ClassInUse')
      await db.rows('UPDATE SCHEMA { CREATE CLASS Shop.Empty {a: Integer} }')
      expect(await fd.previewDeletion('Shop.Empty')).toMatchObject({
        classes: [{ className: 'Shop.Empty', change: 'delete' }],
      })
      await fd.deleteClass('Shop.Empty')
      expect([await fd.listClasses(), await fd.listIndexes(), await db.rows('FROM Client RETURN *')]).toEqual(before)
    },
  )
})

describe('in DO', () => {
  queryTest('classes and attributes are renamed and dropped, in one text with what uses them', shop, async (db) => {
    const rows = await db.rows(`UPDATE SCHEMA {
      RENAME CLASS Shop.Client TO Shop.Customer
      ALTER CLASS Customer {RENAME age TO years, DROP note, ADD since: Date}
      CREATE CLASS Shop.Note {text: String, about: Reference{Referenced: Customer}}
    };
    CREATE Note {text: 'x', about: (LOOKUP Customer WHERE years = 30)};
    FROM Note RETURN about.name AS who, about.since AS since`)
    expect(rows).toEqual([{ who: 'Ann', since: null }])
    expect((await db.failure('UPDATE SCHEMA { DROP CLASS Note }')).type).toBe('ClassInUse')
    expect(await db.rows('DELETE Note RETURN COUNT() AS n; UPDATE SCHEMA { DROP CLASS Note }')).toEqual([
      { className: 'Shop.Note', classNumber: expect.any(String) },
    ])
    expect((await db.failure('UPDATE SCHEMA { ALTER CLASS Customer {DROP orders} }')).type).toBe('AttributeInUse')
    expect((await db.failure('UPDATE SCHEMA { ALTER CLASS Customer {RENAME yeers TO age} }')).message).toMatch(
      /Did you mean years/,
    )
    expect((await db.failure('UPDATE SCHEMA { RENAME CLASS Customer TO Item; DROP CLASS Customer }')).type).toBe(
      'ClassExists',
    )
    expect((await db.fd.readClass('Shop.Customer')).className).toBe('Shop.Customer')
  })
})
