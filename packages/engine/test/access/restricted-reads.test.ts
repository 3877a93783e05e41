/** What a restricted caller reads, by each way there is (contract 9.4). */
import { describe, expect, it } from 'vitest'
import type { AccessPolicy, Grant } from '../../src/access/access-policy.ts'
import type { Database } from '../../src/database-operations.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { entityTagOf } from '../../src/objects/condition.ts'
import { index } from '../engine/open-fd.ts'
import { rowTexts, rowValues } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS D.Note {title: String, owner: String, secret: String, next: Reference{Referenced: D.Note},
    folder: Reference{Referenced: D.Folder, Inverse: notes}}
  CREATE CLASS D.Memo SUPERCLASS D.Note {pages: Integer}
  CREATE CLASS D.Folder {name: String, notes: List{Element: Reference{Referenced: D.Note, Inverse: folder}}}
  CREATE CLASS Hidden.Vault {code: String, note: Reference{Referenced: D.Note}}
};
CREATE UNIQUE INDEX noteTitle ON D.Note (title); CREATE INDEX noteOwner ON D.Note (owner);
CREATE INDEX noteSecret ON D.Note (secret);
LET f = CREATE D.Folder {name: 'all'};
LET hers = CREATE D.Note {title: 'hers', owner: 'eve', secret: 'x', folder: $f};
LET his = CREATE D.Note {title: 'his', owner: 'bob', secret: 'y', folder: $f, next: $hers};
LET memo = CREATE D.Memo {title: 'memo', owner: 'bob', secret: 'z', folder: $f, next: $his, pages: 3};
CREATE Hidden.Vault {code: '1', note: $his}`

const user = { name: 'bob', roles: ['team'], claims: { sub: 'b' } }
const own = { rules: { read: 'owner = $$USER.name' } }
const on = (className: string, more: Partial<Grant> = {}): Grant => ({
  on: { kind: 'class', className },
  actions: ['read', 'query'],
  ...more,
})
const bob: AccessPolicy = { user, grants: [on('D.Note', { ...own, hidden: ['secret'] }), on('D.Folder')] }

async function withData(use: (fd: FederatedDatabase) => Promise<void>): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'access', store: await openStoreOfRun() })
  await rowTexts(await fd.query({ text: setUp }))
  await use(fd)
  await fd.close()
}

const rows = async (database: Database, text: string): Promise<unknown[]> => rowValues(await database.query({ text }))

async function failure(act: () => unknown): Promise<AshlarError> {
  try {
    await act()
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
  throw new Error('it did not fail')
}

async function oidOf(fd: FederatedDatabase, title: string): Promise<string> {
  const [row] = await rows(fd, `FROM D.Note WHERE title = '${title}' RETURN $$ID AS id`)
  return (row as { id: string }).id
}

const answers: Readonly<Record<string, unknown[]>> = {
  'FROM D.Note ORDER BY title RETURN title': [{ title: 'his' }, { title: 'memo' }],
  "FROM D.Note WHERE owner = 'eve' RETURN title": [],
  "FROM D.Note WHERE title = 'hers' RETURN title": [],
  "FROM D.Note WHERE owner = $$USER.name AND title = 'his' RETURN IS_NULL(next) AS ends": [{ ends: true }],
  'FROM D.Note RETURN COUNT() AS c': [{ c: 2 }],
  'FROM D.Memo RETURN next.title AS t': [{ t: 'his' }],
  'FROM D.Folder RETURN COUNT(notes) AS c, notes.title AS t, notes[0].title AS first, notes[-1].title AS last': [
    { c: 2, t: ['his', 'memo'], first: 'his', last: 'memo' },
  ],
  'FROM D.Note GROUP BY owner RETURN owner, COUNT() AS c': [{ owner: 'bob', c: 2 }],
  'MATCH (a:D.Note)-[:next]->(b) RETURN a.title AS a, b.title AS b': [{ a: 'memo', b: 'his' }],
  'MATCH (f:D.Folder)-->(n) RETURN COUNT() AS c': [{ c: 2 }],
  "SHOW (LOOKUP D.Note WHERE title = 'hers')": [null],
  'SHOW COUNT((FROM D.Note RETURN title))': [2],
  'FROM ooObj RETURN COUNT() AS c': [{ c: 3 }],
  'SHOW LIST{$$USER.name, $$USER.claims["sub"], $$USER.claims["none"], $$USER.roles[0]}': [['bob', 'b', null, 'team']],
}

describe('a restricted caller', () => {
  it('reads as if what is hidden were not there', () =>
    withData(async (fd) => {
      for (const [text, expected] of Object.entries(answers)) {
        expect({ text, rows: await rows(fd.as(bob), text) }).toEqual({ text, rows: expected })
      }
    }))

  it('has the same reply for an object that is hidden and for one that is not there', () =>
    withData(async (fd) => {
      const hidden = await oidOf(fd, 'hers')
      const missing = hidden.replace(/\d+$/, '60000')
      const unknown = hidden.replace(/^\d+-\d+/, '3-30000')
      const replies: string[] = []
      for (const oid of [hidden, missing, unknown]) {
        const { type, message } = await failure(() => fd.as(bob).readObject(oid))
        replies.push(`${type} ${message}`.replaceAll(oid, 'OID'))
      }
      expect(new Set(replies).size).toBe(1)
      expect(replies[0]).toContain('ObjectNotFound')
    }))

  it('does not know hidden attributes, nor what tells of them: their indexes, entity tags, values', () =>
    withData(async (fd) => {
      const database = fd.as(bob)
      const asked = await failure(() => rows(database, "FROM D.Note WHERE secret = 'x' RETURN *"))
      const nothing = await failure(() => rows(database, "FROM D.Note WHERE sekrit = 'x' RETURN *"))
      expect(asked.message).toBe(nothing.message.replaceAll('sekrit', 'secret'))
      expect((await database.listIndexes()).map(({ name }) => name)).toEqual(['noteOwner', 'noteTitle'])
      expect((await failure(() => database.readIndex('noteSecret'))).type).toBe('IndexNotFound')
      // How many he sees of it would have to be found out object by object.
      expect(await database.readIndex('noteOwner')).not.toHaveProperty('entryCount')
      const names = (await database.readClass('D.Note')).attributes.map(({ attributeName }) => attributeName)
      expect(names).toEqual(['title', 'owner', 'next', 'folder'])
      const oid = await oidOf(fd, 'his')
      const before = await entityTagOf(await database.readObject(oid))
      await fd.updateObject(oid, { secret: 'other' })
      expect(await entityTagOf(await database.readObject(oid))).toBe(before)
    }))

  it('does not know classes without a grant', () =>
    withData(async (fd) => {
      const database = fd.as(bob)
      expect((await database.listClasses()).map(({ className }) => className)).toEqual(['D.Note', 'D.Memo', 'D.Folder'])
      expect(await database.listNamespaces()).toEqual([null, 'D'])
      expect((await failure(() => database.readClass('Hidden.Vault'))).type).toBe('ClassNotFound')
      expect((await failure(() => rows(database, 'FROM Hidden.Vault RETURN *'))).type).toBe('QueryError')
      const [row] = await rows(fd, 'FROM Hidden.Vault RETURN $$ID AS id')
      expect((await failure(() => database.readObject((row as { id: string }).id))).type).toBe('ObjectNotFound')
    }))

  it('is told by EXPLAIN ANALYZE of what it sees alone', () =>
    withData(async (fd) => {
      const [plan] = await rows(fd.as(bob), 'EXPLAIN ANALYZE FROM D.Note RETURN title')
      expect(JSON.stringify(plan)).toContain('"returned":2')
      expect(JSON.stringify(plan)).not.toMatch(/"(examined|objectsRead|returned)":3/)
    }))

  it('is given an index on what a rule asks of the objects themselves', () =>
    withData(async (fd) => {
      const [plan] = await rows(fd.as(bob), 'EXPLAIN ANALYZE FROM D.Note RETURN title')
      expect(JSON.stringify(plan)).toContain('noteOwner')
      expect(JSON.stringify(plan)).toContain('owner = $$USER.name')
      const two = fd.as({ user, grants: [on('D.Note', own), on('D.Note', { rules: { read: "owner = 'eve'" } })] })
      expect(JSON.stringify(await rows(two, 'EXPLAIN FROM D.Note RETURN title'))).toContain('noteOwner')
      expect(await rows(two, 'FROM D.Note RETURN COUNT() AS c')).toEqual([{ c: 3 }])
    }))

  it('sees by a rule over what it does not see itself, and by one over a hidden attribute', () =>
    withData(async (fd) => {
      const byFolder = fd.as({ user, grants: [on('D.Note', { rules: { read: "folder.name = 'all'" } })] })
      expect(await rows(byFolder, 'FROM D.Note RETURN COUNT() AS c')).toEqual([{ c: 3 }])
      const nested = fd.as({ user, grants: [on('D.Note', { rules: { read: 'title IN (FROM D.Note RETURN title)' } })] })
      expect(await rows(nested, 'FROM D.Note RETURN *')).toEqual([])
      const bySecret = fd.as({ user, grants: [on('D.Note', { hidden: ['secret'], rules: { read: "secret = 'x'" } })] })
      expect(await rows(bySecret, 'FROM D.Note RETURN title')).toEqual([{ title: 'hers' }])
      expect(JSON.stringify(await rows(bySecret, 'EXPLAIN FROM D.Note RETURN title'))).not.toContain('secret')
    }))

  it('ends a scan over hidden objects when it goes', () =>
    withData(async (fd) => {
      const creations = Array.from({ length: 3_000 }, (_, i) => ({
        class: 'D.Memo',
        attributes: { owner: 'eve', title: `${i}` },
      }))
      await fd.createObjects(creations)
      const client = new AbortController()
      const nobody = fd.as({ user: null, grants: [on('D.Note', { rules: { read: 'LENGTH(owner) > 5' } })] })
      const asked = failure(async () =>
        rowTexts(await nobody.query({ text: 'FROM D.Note RETURN *', signal: client.signal })),
      )
      client.abort(new AshlarError('StatementStopped', 'gone'))
      expect((await asked).message).toContain('gone')
    }))

  it('changes nothing while its policy does not say what', () =>
    withData(async (fd) => {
      const database = fd.as(bob)
      const oid = await oidOf(fd, 'his')
      const changes: Readonly<Record<string, () => unknown>> = {
        create: () => database.createObject('D.Note', {}),
        update: () => database.updateObject(oid, { title: 'x' }),
        delete: () => database.deleteObject(oid),
        query: () => rows(database, 'DELETE D.Note'),
        analyzed: () => rows(database, 'EXPLAIN ANALYZE DELETE D.Note'),
        define: () =>
          database.defineClasses(
            [{ className: 'X', isReferenceable: true, attributes: [{ attributeName: 'a', logicalType: 'string' }] }],
            'create',
          ),
        index: () => database.createIndex(index('i', 'D.Note', false, 'owner')),
      }
      for (const [what, change] of Object.entries(changes)) {
        expect({ what, type: (await failure(change)).type }).toEqual({ what, type: 'Forbidden' })
      }
      expect(await rows(fd, 'FROM D.Note RETURN COUNT() AS c')).toEqual([{ c: 3 }])
    }))

  it('does not see hidden attributes of embedded objects, nor in objects that are older than these', () =>
    withData(async (fd) => {
      const place = [
        { attributeName: 'town', logicalType: 'string' },
        { attributeName: 'code', logicalType: 'string' },
      ]
      const embedded = [{ attributeName: 'place', logicalType: 'object', class: 'D.Place' }]
      const more = [
        { className: 'D.Place', isReferenceable: false, attributes: place },
        { className: 'D.Note', attributes: embedded },
      ]
      await fd.defineClasses(more, 'createOrExtend')
      await rowTexts(
        await fd.query({ text: "UPDATE D.Note WHERE title = 'his' SET place.town TO 't', place.code TO 'c'" }),
      )
      const database = fd.as({ ...bob, grants: [...bob.grants, on('D.Place', { hidden: ['code'] })] })
      const read = async (title: string): Promise<unknown> =>
        (JSON.parse((await database.readObject(await oidOf(fd, title))).toString()) as { place: unknown }).place
      expect(await read('his')).toEqual({ town: 't' })
      expect(await read('memo')).toEqual({ town: '' })
    }))

  it('sees less where a rule no longer binds, and that is told', () =>
    withData(async (fd) => {
      await fd.alterClass('D.Note', { attributesToDelete: ['owner'] }, { isCascading: true })
      expect(await rows(fd.as(bob), 'FROM D.Note RETURN title')).toEqual([])
      const missing = expect.stringMatching(/^Class D\.Note: .*no attribute 'owner'/)
      const problems = await fd.grantProblems([...bob.grants, on('D.Nothing'), on('D.Memo', { hidden: ['secert'] })])
      const at = bob.grants.findIndex(({ rules }) => rules?.read === 'owner = $$USER.name')
      expect(problems).toEqual([
        { grant: at, field: 'rules.read', message: missing },
        { grant: bob.grants.length, field: 'on', message: 'There is no such class or namespace.' },
        { grant: bob.grants.length + 1, field: 'hidden', message: "None of its classes has an attribute 'secert'." },
      ])
      expect(await fd.grantProblems([on('E.Elsewhere')])).toBeUndefined()
    }))

  it('sees an attribute of a subclass that only a grant on that shows, and what several grants add up to', () =>
    withData(async (fd) => {
      const more = fd.as({ user, grants: [...bob.grants, on('D.Memo')] })
      expect(await rows(more, 'FROM D.Memo RETURN secret')).toEqual([{ secret: 'z' }])
      expect((await failure(() => rows(more, 'FROM D.Note RETURN secret'))).type).toBe('QueryError')
      const both = fd.as({ user, grants: [...bob.grants, on('D.Note', { rules: { read: "secret = 'x'" } })] })
      expect(await rows(both, 'FROM D.Note ORDER BY title RETURN title, secret')).toHaveLength(3)
    }))
})

describe('$$USER', () => {
  it('is null where nobody is known, and no parameter can set it', () =>
    withData(async (fd) => {
      const text = 'SHOW LIST{IS_NULL($$USER), IS_NULL($$USER.name), IS_NULL($$USER.claims["a"])}'
      const parameters = { USER: { name: 'eve' }, $USER: { name: 'eve' }, $$USER: { name: 'eve' }, user: 'eve' }
      expect(await rowValues(await fd.query({ text, parameters }))).toEqual([[true, true, true]])
      const nobody = fd.as({ user: null, grants: bob.grants })
      expect(await rows(nobody, 'FROM D.Note RETURN *')).toEqual([])
      const eve = fd.as({ user: { ...user, name: 'eve' }, grants: bob.grants })
      expect(await rows(eve, 'FROM D.Note RETURN title')).toEqual([{ title: 'hers' }])
    }))
})
