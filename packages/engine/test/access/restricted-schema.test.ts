/** What a restricted caller may define and index, and what it is told of the schema by trying (contract 9.4). */
import { describe, expect, it, vi } from 'vitest'
import type { AccessPolicy, Grant } from '../../src/access/access-policy.ts'
import { ClassAccess } from '../../src/access/class-access.ts'
import { restrictedCatalog } from '../../src/access/restricted-catalog.ts'
import { CatalogCache } from '../../src/catalog/catalog-cache.ts'
import type { Database } from '../../src/database-operations.ts'
import { buildCatalog } from '../../src/schema/build-catalog.ts'
import { runToEnd } from '../../src/store/time-slice.ts'
import { withSnapshot } from '../../src/store/with-snapshot.ts'
import { index } from '../engine/open-fd.ts'
import { bob, everyAction, failureOf, oidOf, on, rowsOf, user, withNotes } from './access-notes.ts'

const all = [...everyAction, 'define', 'index'] as const
const whole = (className: string): Grant => on(className, { actions: all })
const designer: AccessPolicy = { user, grants: [whole('D.Note'), whole('D.Folder')] }
const text = (attributeName: string) => ({ attributeName, logicalType: 'string' })
const newClass = (className: string, more = {}) => [
  { className, isReferenceable: true, attributes: [text('a')], ...more },
]

const typeOf = async (act: () => unknown): Promise<string> => (await failureOf(act)).type

/** Each way to change the schema, by name. */
function changesOf(database: Database): Readonly<Record<string, () => unknown>> {
  return {
    define: () => database.defineClasses([{ className: 'D.Note', attributes: [text('added')] }], 'createOrExtend'),
    alter: () => database.alterClass('D.Note', { attributesToDelete: ['pages'] }),
    alterInBackground: () => database.startAlteration('D.Note', { attributesToDelete: ['pages'] }),
    retype: () =>
      database.alterClass('D.Note', { attributesToChange: [{ attributeName: 'title', logicalType: 'integer' }] }),
    rename: () => database.alterClass('D.Note', { classRename: 'D.Other' }),
    delete: () => database.deleteClass('D.Memo'),
    statement: () => rowsOf(database, 'UPDATE SCHEMA { ALTER CLASS D.Note { ADD s: String } }'),
    drop: () => rowsOf(database, 'UPDATE SCHEMA { DROP CLASS D.Memo }'),
    index: () => database.createIndex(index('i', 'D.Note', false, 'pages')),
    inBackground: () => database.createIndex(index('i', 'D.Note', false, 'pages'), { isBackground: true }),
    indexStatement: () => rowsOf(database, 'CREATE INDEX i ON D.Note (pages)'),
    indexAmongOthers: () => rowsOf(database, 'LET x = 1; CREATE INDEX i ON D.Note (pages)'),
    deleteIndex: () => database.deleteIndex('noteOwner'),
    dropIndex: () => rowsOf(database, 'DROP INDEX noteOwner'),
    step: () => database.createIndex(index('i', 'D.Note', false, 'pages')),
  }
}

function previewsOf(database: Database): Readonly<Record<string, () => unknown>> {
  return {
    define: () => database.previewClasses([{ className: 'D.Note', attributes: [text('added')] }], 'createOrExtend'),
    alter: () => database.previewAlteration('D.Note', { attributesToDelete: ['pages'] }, { isCascading: true }),
    delete: () => database.previewDeletion('D.Memo'),
  }
}

describe('a restricted caller that changes the schema', () => {
  it('sees a change in the background, and its failure, where it may define the class', () =>
    withNotes(async (fd) => {
      const fields = { classFields: { checks: [{ name: 'none', expression: 'pages < 0' }] } }
      expect(await fd.as(designer).startAlteration('D.Note', fields)).toMatchObject({ isRunning: true })
      await vi.waitFor(async () => {
        expect((await fd.readClass('D.Note')).validation).toMatchObject({ state: 'failed' })
      })
      expect((await fd.as(designer).readClass('D.Note')).validation).toMatchObject({ state: 'failed' })
      const reader: AccessPolicy = { user, grants: [on('D.Note', { actions: everyAction })] }
      expect(await fd.as(reader).readClass('D.Note')).not.toHaveProperty('validation')
    }))

  it('does so where it may define or index the class, and sees it whole', () =>
    withNotes(async (fd) => {
      const database = fd.as(designer)
      await database.defineClasses([{ className: 'D.Note', attributes: [text('added')] }], 'createOrExtend')
      await database.defineClasses(newClass('D.Letter', { superClass: 'D.Note' }), 'create')
      await database.alterClass('D.Note', { attributesToRename: [{ originalName: 'added', newName: 'later' }] })
      await database.alterClass('D.Note', { attributesToChange: [{ attributeName: 'pages', logicalType: 'string' }] })
      await rowsOf(database, 'UPDATE SCHEMA { ALTER CLASS D.Note { ADD s: String } }')
      await database.createIndex(index('i', 'D.Note', true, 'title', 'pages'))
      await rowsOf(database, 'CREATE INDEX j ON D.Note (s); DROP INDEX i')
      await database.transaction(async (step) => {
        await step(1).createIndex(index('k', 'D.Note', false, 'pages'))
        await step(2).deleteIndex('j')
        await step(3).deleteClass('D.Letter')
      }, false)
      expect((await fd.listIndexes()).map(({ name }) => name)).toEqual(['k', 'noteOwner', 'noteTitle'])
      expect((await fd.readClass('D.Note')).attributes.map(({ attributeName }) => attributeName)).toContain('later')
      expect(await rowsOf(fd, "FROM D.Note WHERE title = 'memo' RETURN pages")).toEqual([{ pages: '2' }])
      const preview = await database.previewAlteration('D.Note', { attributesToDelete: ['secret'] })
      expect(preview.valuesLost).toEqual([{ className: 'D.Note', attributeName: 'secret', values: 4 }])
    }))

  const without: Readonly<Record<string, AccessPolicy>> = {
    'without the action': bob,
    'of which it does not see all objects': {
      user,
      grants: [on('D.Note', { actions: all, rules: { read: 'TRUE' } }), whole('D.Folder')],
    },
    'of which an attribute is hidden': {
      user,
      grants: [on('D.Note', { actions: all, hidden: ['tags'] }), whole('D.Folder')],
    },
  }
  for (const [what, policy] of Object.entries(without)) {
    it(`is refused for a class ${what}, and changes nothing`, () =>
      withNotes(async (fd) => {
        const before = [await fd.listClasses(), await fd.listIndexes()]
        const database = fd.as(policy)
        for (const [name, change] of Object.entries({ ...changesOf(database), ...previewsOf(database) })) {
          expect({ name, type: await typeOf(change) }).toEqual({ name, type: 'Forbidden' })
        }
        const inSteps = database.transaction(async (step) => {
          for (const [name, change] of Object.entries({ ...changesOf(step(1)), ...previewsOf(step(1)) })) {
            if (name === 'inBackground') continue
            expect({ name, type: await typeOf(change) }).toEqual({ name, type: 'Forbidden' })
          }
        }, false)
        await inSteps
        expect([await fd.listClasses(), await fd.listIndexes()]).toEqual(before)
      }))
  }

  it('is told the same of a class, an attribute and an index that are hidden and that are not there', () =>
    withNotes(async (fd) => {
      await fd.createIndex(index('ofVault', 'Hidden.Vault', false, 'code'))
      const database = fd.as({ user, grants: [...designer.grants, on('D.Note', { actions: ['define'], hidden: [] })] })
      const reference = (referencedClass: string) => [
        { className: 'D.Note', attributes: [{ attributeName: 'v', logicalType: 'reference', referencedClass }] },
      ]
      const asked: Readonly<Record<string, (name: string) => unknown>> = {
        extend: (name) =>
          database.defineClasses([{ className: `Hidden.${name}`, attributes: [text('b')] }], 'createOrExtend'),
        refer: (name) => database.defineClasses(reference(`Hidden.${name}`), 'createOrExtend'),
        inherit: (name) => database.defineClasses(newClass('D.New', { superClass: `Hidden.${name}` }), 'create'),
        alter: (name) => database.alterClass(`Hidden.${name}`, { attributesToDelete: ['code'] }),
        delete: (name) => database.deleteClass(`Hidden.${name}`),
        preview: (name) => database.previewDeletion(`Hidden.${name}`),
        index: (name) => database.createIndex(index('i', `Hidden.${name}`, false, 'code')),
        deleteIndex: (name) => database.deleteIndex(`of${name}`),
        statement: (name) => rowsOf(database, `UPDATE SCHEMA { DROP CLASS Hidden.${name} }`),
        create: (name) => database.defineClasses(newClass(`Hidden.${name}`), 'create'),
      }
      for (const [what, ask] of Object.entries(asked)) {
        const [hidden, missing] = [await failureOf(() => ask('Vault')), await failureOf(() => ask('Voult'))]
        const told = `${missing.type} ${missing.message}`.replaceAll('Voult', 'Vault')
        expect({ what, told: `${hidden.type} ${hidden.message}` }).toEqual({ what, told })
      }
    }))

  it('needs the right for every class that is changed with the one it names', () =>
    withNotes(async (fd) => {
      const readsFolders = fd.as({ user, grants: [whole('D.Note'), on('D.Folder', { actions: ['read', 'query'] })] })
      // Its inverse attribute would go as well.
      const failure = await failureOf(() =>
        readsFolders.alterClass('D.Note', { attributesToDelete: ['folder'] }, { isCascading: true }),
      )
      expect(failure.message).toBe('The caller may not define class D.Folder.')
      await fd.as(designer).alterClass('D.Note', { attributesToDelete: ['folder'] }, { isCascading: true })
      // A class that it does not know refers to notes, and is not named.
      await rowsOf(fd, 'DELETE Hidden.Vault; DELETE D.Note')
      await fd.as(designer).deleteClass('D.Memo')
      const refused = await failureOf(() => fd.as(designer).deleteClass('D.Note'))
      expect(refused.type).toBe('Forbidden')
      expect(refused.message).not.toContain('Vault')
    }))

  it('makes new classes by a grant for all, for their namespace or for their superclass', () =>
    withNotes(async (fd) => {
      const grants: Readonly<Record<string, Grant['on']>> = {
        all: { kind: 'all' },
        namespace: { kind: 'namespace', namespace: 'N' },
        super: { kind: 'class', className: 'D.Memo' },
      }
      for (const [name, scope] of Object.entries(grants)) {
        const database = fd.as({
          user,
          grants: [{ on: scope, actions: all, readOnly: ['x'] }, on('D.Note'), on('D.Folder')],
        })
        const superClass = name === 'super' ? { superClass: 'D.Memo' } : {}
        await database.defineClasses(newClass(`N.Of${name}`, superClass), 'create')
        if (name !== 'all')
          expect(await typeOf(() => database.defineClasses(newClass('M.Other'), 'create'))).toBe('Forbidden')
      }
      expect((await fd.readNamespace('N')).classes).toHaveLength(3)
    }))
})

describe('an index that is not ready', () => {
  it('is seen and deleted by whoever may index its class, and sees it whole', () =>
    withNotes(async (fd) => {
      const database = fd.as(designer)
      // Two notes have one owner.
      await database.createIndex(index('oneOwner', 'D.Note', true, 'owner'), { isBackground: true })
      await vi.waitFor(async () => expect((await database.readIndex('oneOwner')).state).toBe('failed'), 10_000)
      const others: readonly AccessPolicy[] = [
        bob,
        { user, grants: [on('D.Note', { actions: [...everyAction, 'define'] }), whole('D.Folder')] },
        { user, grants: [on('D.Note', { actions: all, hidden: ['secret'] }), whole('D.Folder')] },
        { user, grants: [on('D.Note', { actions: all, rules: { read: "owner = 'bob'" } }), whole('D.Folder')] },
      ]
      for (const other of others) {
        const asOther = fd.as(other)
        expect(await typeOf(() => asOther.readIndex('oneOwner'))).toBe('IndexNotFound')
        expect(await typeOf(() => asOther.deleteIndex('oneOwner'))).toBe('IndexNotFound')
        expect((await asOther.listIndexes()).map(({ name }) => name)).not.toContain('oneOwner')
      }
      expect(await database.readIndex('oneOwner')).toEqual(await fd.readIndex('oneOwner'))
      expect((await database.listIndexes()).map(({ name }) => name)).toContain('oneOwner')
      // It is no access path, and the caller may make it anew.
      const plan = JSON.stringify(await rowsOf(database, "EXPLAIN FROM D.Note WHERE owner = 'bob' RETURN title"))
      expect(plan).not.toContain('oneOwner')
      await database.deleteIndex('oneOwner')
      await database.createIndex(index('oneOwner', 'D.Note', false, 'owner'))
      expect((await fd.readIndex('oneOwner')).state).toBe('ready')
    }))

  it('is seen while it is being built', () =>
    withNotes(async (fd) => {
      const catalog = await withSnapshot(fd.store, (snapshot) => new CatalogCache(() => undefined).at(snapshot))
      const indexes = catalog.state.indexes.map((one) => ({ ...one, state: 'building' as const }))
      const building = buildCatalog({ ...catalog.state, indexes }, catalog.version)
      const seenBy = (policy: AccessPolicy): string[] =>
        runToEnd(restrictedCatalog(new ClassAccess(building, policy.grants))).indexes.map(({ name }) => name)
      expect(seenBy(designer)).toEqual(['noteTitle', 'noteOwner'])
      expect(seenBy(bob)).toEqual([])
    }))
})

describe('grants, after attributes are renamed or added', () => {
  const renamed = { attributesToRename: [{ originalName: 'secret', newName: 'code' }] }

  it('show by name, those with a list nothing else', () =>
    withNotes(async (fd) => {
      const byList = fd.as({
        user,
        grants: [on('D.Note', { shown: ['title', 'owner', 'secret'], hidden: ['secret'] })],
      })
      const byHidden = fd.as(bob)
      const seen = async (database: Database): Promise<string[]> => {
        const [row] = await rowsOf(database, "FROM D.Note WHERE title = 'his' RETURN *")
        return Object.keys(row as object).filter((name) => !name.startsWith('__'))
      }
      expect(await seen(byList)).toEqual(['title', 'owner'])
      await fd.alterClass('D.Note', renamed)
      await fd.defineClasses([{ className: 'D.Note', attributes: [text('added')] }], 'createOrExtend')
      await fd.createIndex(index('noteCode', 'D.Note', false, 'code'))
      expect(await seen(byList)).toEqual(['title', 'owner'])
      expect(await typeOf(() => rowsOf(byList, "FROM D.Note WHERE code = 'y' RETURN title"))).toBe('QueryError')
      expect(await typeOf(() => rowsOf(byList, "UPDATE D.Note SET added TO 'a'"))).toBe('QueryError')
      expect(await typeOf(() => byList.readIndex('noteCode'))).toBe('IndexNotFound')
      // What is hidden by its name is not under another one.
      expect(await seen(byHidden)).toEqual(expect.arrayContaining(['code', 'added']))
      const hisId = await oidOf(fd, 'his')
      await rowsOf(byList, `UPDATE D.Note WHERE $$ID = ${hisId} SET owner TO 'eve'`)
      expect(await rowsOf(fd, "FROM D.Note WHERE title = 'his' RETURN owner, code")).toEqual([
        { owner: 'eve', code: 'y' },
      ])
    }))
})
