/** A class whose values name hidden objects, or have hidden parts, is not seen whole: its schema and indexes tell of them, and take them away. */
import { describe, expect, it } from 'vitest'
import { accessActions } from '../../src/access/access-policy.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { rowTexts } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { everyAction, failureOf, mine, on, rowsOf, user, withNotes } from './access-notes.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS Tip EMBEDDABLE {a: String, h: String}
  CREATE CLASS Hub {owner: String}
  CREATE CLASS T {n: Integer, tip: Object{Class: Tip}, hub: Reference{Referenced: Hub}, hubs: List{Element: Reference{Referenced: Hub}}}
};
LET h = CREATE Hub {owner: 'eve'};
CREATE T {n: 1, tip.h: 'secret', hub: $h, hubs: LIST{$h}}; CREATE T {n: 2, hub: $h}`

async function withT(use: (fd: FederatedDatabase, caller: ReturnType<FederatedDatabase['as']>) => Promise<void>) {
  const fd = await FederatedDatabase.open({ alias: 'whole', store: await openStoreOfRun() })
  await rowTexts(await fd.query({ text: setUp }))
  const grants = [
    on('T', { actions: accessActions }),
    on('Tip', { actions: ['read', 'query'], hidden: ['h'] }),
    on('Hub', { actions: ['read', 'query'], rules: { read: 'owner = $$USER.name' } }),
  ]
  await use(fd, fd.as({ user, grants }))
  await fd.close()
}

describe('a restricted caller that defines and indexes a class', () => {
  it('is not told by a unique index which hidden object two of them name', () =>
    withT(async (fd, caller) => {
      expect(await rowsOf(caller, 'FROM T ORDER BY n RETURN hub')).toEqual([{ hub: '0-0-0-0' }, { hub: '0-0-0-0' }])
      const [{ id }] = (await rowsOf(fd, 'FROM Hub RETURN $$ID AS id')) as [{ id: string }]
      const failures = [
        await failureOf(() => rowsOf(caller, 'CREATE UNIQUE INDEX i ON T (hub)')),
        await failureOf(() =>
          caller.createIndex({ name: 'i', class: 'T', keyAttributes: ['hub'], isUnique: true } as never),
        ),
      ]
      for (const { message } of failures) expect(message).not.toContain(id)
    }))

  for (const attribute of ['hub', 'hubs', 'tip'])
    it(`does not take away with ${attribute} what is hidden of it`, () =>
      withT(async (fd, caller) => {
        const before = await rowsOf(fd, 'FROM T ORDER BY n RETURN *')
        await rowsOf(caller, `UPDATE SCHEMA { ALTER CLASS T {DROP ${attribute}} }`).catch(() => undefined)
        expect(await rowsOf(fd, 'FROM T ORDER BY n RETURN *')).toEqual(before)
      }))
})

it('a subclass in a namespace of the caller does not show it a hidden attribute, nor which values of it there are', () =>
  withNotes(async (fd) => {
    await rowsOf(fd, 'CREATE UNIQUE INDEX bySecret ON D.Note (secret)')
    const caller = fd.as({
      user,
      grants: [
        on('D.Note', { hidden: ['secret'], actions: ['read', 'query'], rules: { read: mine } }),
        { on: { kind: 'namespace', namespace: 'My' }, actions: [...everyAction, 'define'] },
      ],
    })
    const before = await rowsOf(fd, 'FROM D.Note RETURN COUNT() AS c')
    const outcomes: string[] = []
    const attempt = async (text: string): Promise<void> => {
      const failed = await failureOf(() => rowsOf(caller, text)).catch(() => undefined)
      outcomes.push(failed?.type ?? 'done')
    }
    await attempt('UPDATE SCHEMA { CREATE CLASS My.X SUPERCLASS D.Note {more: String} }')
    // 'x' is the secret of a note that it does not see.
    await attempt("CREATE My.X {secret: 'x', owner: 'bob'}")
    await attempt("CREATE My.X {secret: 'of nobody', owner: 'bob'}")
    expect(outcomes[1]).toBe(outcomes[2])
    // It may not create notes, which everybody would see among the others.
    expect(await rowsOf(fd, 'FROM D.Note RETURN COUNT() AS c')).toEqual(before)
  }))
