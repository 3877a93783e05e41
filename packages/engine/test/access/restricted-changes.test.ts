/** What a restricted caller may change of single objects, and what it is told where it may not (contract 9.4). */
import { describe, expect, it } from 'vitest'
import type { AccessPolicy, Grant } from '../../src/access/access-policy.ts'
import type { Database } from '../../src/database-operations.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Store } from '../../src/store/store.ts'
import { rowTexts, rowValues } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS D.Note {title: String, owner: String, secret: String, pages: Integer, next: Reference{Referenced: D.Note}}
  CREATE CLASS D.Memo SUPERCLASS D.Note {place: String}
  CREATE CLASS Hidden.Vault {code: String}
};
LET hers = CREATE D.Note {title: 'hers', owner: 'eve', secret: 'x'};
LET his = CREATE D.Note {title: 'his', owner: 'bob', secret: 'y', next: $hers};
LET memo = CREATE D.Memo {title: 'memo', owner: 'bob', secret: 'z', next: $his, place: 'p'};
LET shared = CREATE D.Note {title: 'shared', owner: 'all', secret: 's'};
CREATE Hidden.Vault {code: '1'}`

const user = { name: 'bob', roles: [], claims: {} }
const mine = 'owner = $$USER.name'
const on = (className: string, more: Partial<Grant> = {}): Grant => ({
  on: { kind: 'class', className },
  actions: ['read', 'create', 'update', 'delete'],
  ...more,
})
const bob: AccessPolicy = {
  user,
  grants: [
    on('D.Note', {
      hidden: ['secret'],
      readOnly: ['pages'],
      rules: { read: `${mine} OR owner = 'all'`, create: mine, update: mine, delete: `${mine} AND NOT title = 'memo'` },
    }),
  ],
}

interface Data {
  readonly fd: FederatedDatabase
  /** Of the caller. */
  readonly database: Database
  oidOf(title: string): Promise<string>
  all(): Promise<unknown[]>
}

async function withData(use: (data: Data) => Promise<void>, policy = bob): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'access', store: await openStoreOfRun() })
  await rowTexts(await fd.query({ text: setUp }))
  const rows = async (text: string): Promise<unknown[]> => rowValues(await fd.query({ text }))
  const oidOf = async (title: string): Promise<string> => {
    const [row] = await rows(`FROM D.Note WHERE title = '${title}' RETURN $$ID AS id`)
    return (row as { id: string }).id
  }
  await use({ fd, database: fd.as(policy), oidOf, all: () => rows('FROM D.Note ORDER BY title RETURN *') })
  await fd.close()
}

async function failure(act: () => unknown): Promise<AshlarError> {
  try {
    await act()
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
  throw new Error('it did not fail')
}

describe('a restricted caller that changes single objects', () => {
  it('does so where the rules hold before and after, and keeps what is hidden', () =>
    withData(async ({ fd, database, oidOf }) => {
      const his = await oidOf('his')
      await database.updateObject(his, { title: 'new' })
      expect(JSON.parse((await fd.readObject(his)).toString())).toMatchObject({ title: 'new', secret: 'y' })
      const made = await database.createObject('D.Memo', { title: 'made', owner: 'bob', place: 'q' })
      expect(JSON.parse((await fd.readObject(made)).toString())).toMatchObject({ title: 'made', secret: '' })
      await database.deleteObject(his)
      expect((await failure(() => fd.readObject(his))).type).toBe('ObjectNotFound')
    }))

  it('is refused by 403 where a rule does not hold, before or after, and nothing is changed', () =>
    withData(async ({ database, oidOf, all }) => {
      const [his, memo, shared] = [await oidOf('his'), await oidOf('memo'), await oidOf('shared')]
      const before = await all()
      const refused: Readonly<Record<string, () => unknown>> = {
        [`The caller may not update object ${shared} of class D.Note.`]: () =>
          database.updateObject(shared, { title: 'x' }),
        'The caller may not update such an object of class D.Note.': () => database.updateObject(his, { owner: 'all' }),
        'The caller may not create such an object of class D.Note.': () =>
          database.createObject('D.Note', { owner: 'eve' }),
        'The caller may not create such an object of class D.Memo.': () =>
          database.createObjects([{ class: 'D.Memo', attributes: { owner: 'bob' } }, { class: 'D.Memo' }]),
        [`The caller may not delete object ${memo} of class D.Memo.`]: () => database.deleteObject(memo),
        'Attribute pages of class D.Note is read-only for the caller: it keeps its value.': () =>
          database.updateObject(his, { pages: 3 }),
        'Attribute pages of class D.Note is read-only for the caller: new objects have its default value.': () =>
          database.createObject('D.Note', { owner: 'bob', pages: 3 }),
      }
      for (const [message, change] of Object.entries(refused)) {
        const error = await failure(change)
        expect([error.type, error.message]).toEqual(['Forbidden', message])
      }
      expect(await all()).toEqual(before)
    }))

  it('is not waited for by its rules once it has gone', () =>
    withData(async ({ database, oidOf, all }) => {
      const [before, his] = [await all(), await oidOf('his')]
      const gone = new Error('gone')
      const client = { signal: AbortSignal.abort(gone) }
      for (const act of [
        () => database.createObject('D.Note', { owner: 'bob' }, client),
        () => database.createObjects([{ class: 'D.Note', attributes: { owner: 'bob' } }], client),
        () => database.updateObject(his, { title: 'x' }, undefined, undefined, client),
        () => database.deleteObject(his, undefined, client),
      ]) {
        await expect(act()).rejects.toBe(gone)
      }
      expect(await all()).toEqual(before)
    }))

  it('may give a read-only attribute the value that it has', () =>
    withData(async ({ database, oidOf }) => {
      await database.updateObject(await oidOf('his'), { pages: 0, title: 'new' })
      await database.createObject('D.Note', { owner: 'bob', pages: 0 })
    }))

  it('is told of what is hidden as of what is missing', () =>
    withData(async ({ database, oidOf, all }) => {
      const hidden = await oidOf('hers')
      const before = await all()
      const replies = new Set<string>()
      for (const oid of [hidden, hidden.replace(/\d+$/, '60000'), hidden.replace(/^\d+-\d+/, '3-30000')]) {
        const acts = [() => database.updateObject(oid, { title: 'x' }), () => database.deleteObject(oid)]
        for (const act of acts) {
          const { type, message, errors } = await failure(act)
          replies.add(JSON.stringify([type, message, errors]).replaceAll(oid, 'OID'))
        }
      }
      expect([...replies]).toEqual(['["ObjectNotFound","There is no object OID.",[]]'])
      const [asHidden, asMissing] = await Promise.all(
        ['secret', 'sekrit'].map((name) =>
          failure(async () => database.updateObject(await oidOf('his'), { [name]: 'x' })),
        ),
      )
      expect(asHidden?.message.replaceAll('secret', 'sekrit')).toBe(asMissing?.message)
      const classes = await Promise.all(
        ['Hidden.Vault', 'Hidden.Nault'].map((name) => failure(() => database.createObject(name, {}))),
      )
      expect(classes[0]?.message.replaceAll('Vault', 'Nault')).toBe(classes[1]?.message)
      expect(await all()).toEqual(before)
    }))

  it('needs the action on the class, whatever the object', () =>
    withData(
      async ({ database, oidOf }) => {
        const his = await oidOf('his')
        expect((await failure(() => database.createObject('D.Note', {}))).message).toContain('create objects of class')
        expect((await failure(() => database.updateObject(his, {}))).type).toBe('Forbidden')
        expect((await failure(() => database.deleteObject(his))).type).toBe('Forbidden')
      },
      { user, grants: [on('D.Note', { actions: ['read'] })] },
    ))

  it('is decided anew where the object has changed until the commit', async () => {
    const store = await openStoreOfRun()
    let meanwhile: (() => Promise<unknown>) | undefined
    const commit: Store['commit'] = async (asked) => {
      const act = meanwhile
      meanwhile = undefined
      await act?.()
      return store.commit(asked)
    }
    const fd = await FederatedDatabase.open({ alias: 'access', store: { ...store, commit } })
    await rowTexts(await fd.query({ text: setUp }))
    const his = await fd.createObject('D.Note', { owner: 'bob', title: 'old' })
    const other = await fd.createObject('D.Note', { owner: 'bob' })
    const database = fd.as(bob)
    const changes: readonly (() => Promise<unknown>)[] = [
      () => database.updateObject(his, { title: 'new' }),
      () => database.updateObject(his, { next: other }),
      () => database.deleteObject(his),
    ]
    for (const change of changes) {
      meanwhile = () => fd.updateObject(his, { owner: 'all' })
      const error = await failure(change)
      expect([error.type, meanwhile]).toEqual(['Forbidden', undefined])
      expect(JSON.parse((await fd.readObject(his)).toString())).toMatchObject({ title: 'old', next: '0-0-0-0' })
      await fd.updateObject(his, { owner: 'bob' })
    }
    await fd.close()
  })
})
