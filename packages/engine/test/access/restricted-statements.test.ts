/** What the statements of a restricted caller change, and what they are told of it (contract 9.4). */
import { describe, expect, it } from 'vitest'
import type { AccessPolicy } from '../../src/access/access-policy.ts'
import type { Database } from '../../src/database-operations.ts'
import { rowValues } from '../row-texts.ts'
import { allNotes, bob, everyAction, failureOf, mine, oidOf, on, rowsOf, user, withNotes } from './access-notes.ts'

describe('the statements of a restricted caller', () => {
  it('change what it sees and may change, and show what it sees', () =>
    withNotes(async (fd) => {
      const database = fd.as(bob)
      const updated = await rowsOf(
        database,
        "UPDATE D.Note WHERE owner = 'bob' SET pages TO pages + 10, tags TO LIST{'a', title} RETURN title, pages, tags, IS_NULL(next) AS ends",
      )
      expect(updated).toEqual([
        { title: 'his', pages: 11, tags: ['a', 'his'], ends: true },
        { title: 'memo', pages: 12, tags: ['a', 'memo'], ends: false },
      ])
      expect(await rowsOf(database, "DELETE D.Memo WHERE title = 'memo' RETURN title, number")).toEqual([
        { title: 'memo', number: 3 },
      ])
      expect(await rowsOf(database, "CREATE D.Note {title: 'new', owner: 'bob'}")).toHaveLength(1)
      await rowsOf(database, "UPSERT D.Note {title: 'new', owner: 'bob', pages: 7} ON (title)")
      expect(await allNotes(fd)).toEqual([
        { title: 'hers', owner: 'eve', secret: 'x', pages: 0, next: null, tags: [] },
        { title: 'his', owner: 'bob', secret: 'y', pages: 11, next: 'hers', tags: ['a', 'his'] },
        { title: 'new', owner: 'bob', secret: '', pages: 7, next: null, tags: [] },
        { title: 'shared', owner: 'all', secret: 's', pages: 3, next: null, tags: [] },
      ])
      expect(
        JSON.stringify(await rowsOf(database, "UPDATE D.Note WHERE title = 'his' SET pages TO 1 RETURN *")),
      ).not.toContain('secret')
    }))

  it('do not meet what is hidden', () =>
    withNotes(async (fd) => {
      const database = fd.as(bob)
      for (const text of [
        "UPDATE D.Note WHERE owner = 'eve' SET pages TO 9 RETURN COUNT() AS c",
        "DELETE D.Note WHERE title = 'hers' RETURN COUNT() AS c",
        `UPDATE (FROM D.Note WHERE $$ID = ${await oidOf(fd, 'hers')} RETURN *) SET pages TO 9 RETURN COUNT() AS c`,
      ]) {
        expect({ text, rows: await rowsOf(database, text).catch(({ message }) => message) }).toEqual({
          text,
          rows: [{ c: 0 }],
        })
      }
      const held = await failureOf(() => rowsOf(database, "UPSERT D.Note {title: 'hers', owner: 'bob'} ON (title)"))
      expect(held.type).toBe('UniqueViolation')
      expect(await rowsOf(fd, "FROM D.Note WHERE owner = 'eve' RETURN title, pages")).toEqual([
        { title: 'hers', pages: 0 },
      ])
    }))

  it('know no hidden attributes and classes, in any place', () =>
    withNotes(async (fd) => {
      const database = fd.as(bob)
      const texts = [
        "UPDATE D.Note SET secret TO 'a'",
        "UPDATE D.Note WHERE secret = 'x' SET pages TO 1",
        'UPDATE D.Note SET title TO secret',
        'UPDATE D.Note CLEAR secret',
        "CREATE D.Note {title: 'a', owner: 'bob', secret: 'b'}",
        "UPSERT D.Note {title: 'his', secret: 'b'} ON (title)",
        "DELETE D.Note WHERE secret = 'x'",
        'UPDATE D.Note SET pages TO 1 RETURN secret',
      ]
      for (const text of texts) {
        const hidden = await failureOf(() => rowsOf(database, text))
        const unknown = await failureOf(() => rowsOf(database, text.replaceAll('secret', 'sekrit')))
        const told = (error: typeof hidden): string => `${error.type} ${error.message}`
        expect(told(hidden)).toBe(told(unknown).replaceAll('sekrit', 'secret'))
      }
      for (const text of ['DELETE Hidden.Vault', "CREATE Hidden.Vault {code: '2'}", 'UPDATE Hidden.Vault CLEAR code']) {
        const hidden = await failureOf(() => rowsOf(database, text))
        const unknown = await failureOf(() => rowsOf(database, text.replaceAll('Vault', 'Vaolt')))
        expect(`${hidden.type} ${hidden.message}`).toBe(
          `${unknown.type} ${unknown.message}`.replaceAll('Vaolt', 'Vault'),
        )
      }
    }))

  it('are refused where they meet what is seen and may not be changed, and then change nothing', () =>
    withNotes(async (fd) => {
      const before = await allNotes(fd)
      const database = fd.as(bob)
      for (const text of [
        'UPDATE D.Note SET pages TO 9',
        'DELETE D.Note',
        "UPDATE D.Note WHERE title = 'his' SET owner TO 'eve'",
        "CREATE D.Note {title: 'b', owner: 'eve'}",
        "UPSERT D.Note {title: 'shared', pages: 9} ON (title)",
        'FOR EACH n IN (FROM D.Note RETURN *) => (UPDATE $n SET pages TO 9)',
        "IF TRUE THEN (UPDATE D.Note WHERE title = 'shared' SET pages TO 4)",
        "UPDATE D.Note WHERE title = 'memo' SET next.pages TO 4; DELETE D.Note WHERE title = 'shared'",
      ]) {
        const failure = await failureOf(() => rowsOf(database, text))
        expect({ text, type: failure.type }).toEqual({ text, type: 'Forbidden' })
      }
      expect(await allNotes(fd)).toEqual(before)
    }))

  it('need their action on the class, also where no object is found', () =>
    withNotes(async (fd) => {
      const actions: Readonly<Record<string, string>> = {
        'UPDATE D.Note WHERE FALSE SET pages TO 1': 'update',
        'DELETE D.Note WHERE FALSE': 'delete',
        "UPDATE D.Note WHERE FALSE SET next TO CREATE D.Note {title: 'x'}": 'create',
        "CREATE D.Note {title: 'x', owner: 'bob'}": 'create',
        "UPSERT D.Note {title: 'his', pages: 1} ON (title)": 'create',
        'FROM D.Note WHERE FALSE RETURN *': 'query',
        'LOOKUP D.Note WHERE FALSE': 'query',
        'MATCH (n:D.Note)-->() WHERE FALSE RETURN n': 'query',
        'EXPLAIN UPDATE D.Note WHERE FALSE SET pages TO 1': 'update',
      }
      for (const [text, action] of Object.entries(actions)) {
        const without = everyAction.filter((one) => one !== action)
        const database = fd.as({ user, grants: [on('D.Note', { actions: without }), on('D.Folder')] })
        const failure = await failureOf(() => rowsOf(database, text))
        expect({ text, type: failure.type, message: failure.message }).toEqual({
          text,
          type: 'Forbidden',
          message: `The caller may not ${action} objects of class D.Note.`,
        })
      }
      // What is left out needs nothing, and does nothing.
      const reading = fd.as({ user, grants: [on('D.Note', { actions: ['read', 'query'] }), on('D.Folder')] })
      expect(await rowsOf(reading, 'IF FALSE THEN (DELETE D.Note)')).toEqual([])
      const never = "FOR EACH n IN (FROM D.Note WHERE FALSE RETURN *) => (CREATE D.Note {title: 'x'})"
      expect(await rowsOf(reading, never)).toEqual([])
      expect((await failureOf(() => rowsOf(reading, 'IF TRUE THEN (DELETE D.Note WHERE FALSE)'))).type).toBe(
        'Forbidden',
      )
      // By a subclass alone.
      const memos = fd.as({ user, grants: [on('D.Note', { actions: ['read', 'query'] }), on('D.Memo')] })
      expect(await rowsOf(memos, "UPDATE D.Note WHERE title = 'memo' SET pages TO 5 RETURN pages")).toEqual([
        { pages: 5 },
      ])
      expect((await failureOf(() => rowsOf(memos, "CREATE D.Note {title: 'x'}"))).type).toBe('Forbidden')
    }))

  it('are explained and analyzed by what the caller sees, and nothing is kept of it', () =>
    withNotes(async (fd) => {
      const database = fd.as(bob)
      const before = await allNotes(fd)
      const plan = JSON.stringify(
        await rowsOf(database, "EXPLAIN ANALYZE UPDATE D.Note WHERE owner = 'bob' SET pages TO 9"),
      )
      expect(plan).toContain('"returned":2')
      expect(plan).not.toMatch(/"(examined|returned)":[3-9]/)
      expect(plan).not.toContain('BytesMax')
      expect(JSON.stringify(await rowsOf(database, 'EXPLAIN DELETE D.Note'))).toContain('delete')
      expect((await failureOf(() => rowsOf(database, 'EXPLAIN ANALYZE DELETE D.Note'))).type).toBe('Forbidden')
      expect(await allNotes(fd)).toEqual(before)
    }))

  it('are analyzed in the same way where the text says EXPLAIN and the request ANALYZE', () =>
    withNotes(async (fd) => {
      const before = await allNotes(fd)
      const explain = { isAnalyzed: true, format: 'json' } as const
      const analyzed = async (database: Pick<Database, 'query'>, text: string) =>
        JSON.stringify(await rowValues(await database.query({ text, explain })))
      const text = "UPDATE D.Note WHERE owner = 'bob' SET pages TO 9"
      const explained = await analyzed(fd.as(bob), `EXPLAIN ${text}`)
      expect(explained).toContain('"returned":2')
      expect(explained).not.toMatch(/"(examined|returned)":[3-9]/)
      expect(explained).not.toContain('BytesMax')
      const reader = fd.as({ user, grants: [on('D.Note', { actions: ['read', 'query'] })] })
      expect((await failureOf(() => analyzed(reader, `EXPLAIN ${text}`))).type).toBe('Forbidden')
      expect(await allNotes(fd)).toEqual(before)
    }))

  it('read no files of the server', () =>
    withNotes(async (fd) => {
      const failure = await failureOf(() => rowsOf(fd.as(bob), "FOR EACH r IN IMPORT CSV 'a.csv' => (LET x = 1)"))
      const nobodys = await failureOf(() => rowsOf(fd, "FOR EACH r IN IMPORT CSV 'a.csv' => (LET x = 1)"))
      expect(failure.message).toBe(nobodys.message)
    }))

  it('see what the statements before have changed, by rules as they hold then', () =>
    withNotes(async (fd) => {
      const policy: AccessPolicy = { user, grants: [on('D.Note', { rules: { read: `${mine} AND pages < 5` } })] }
      const database = fd.as(policy)
      expect(
        await rowsOf(
          database,
          "LET n = CREATE D.Note {title: 'new', owner: 'bob'}; UPDATE D.Note WHERE title = 'his' SET pages TO 6; FROM D.Note ORDER BY title RETURN title",
        ),
      ).toEqual([{ title: 'memo' }, { title: 'new' }])
      // Who has hidden it does not see it any more.
      expect(await rowsOf(database, "UPDATE D.Note WHERE title = 'memo' SET pages TO 7 RETURN title")).toEqual([])
      expect(await rowsOf(fd, "FROM D.Note WHERE title = 'memo' RETURN pages")).toEqual([{ pages: 7 }])
    }))

  it('keep what is hidden within embedded objects and among elements, where it stands', () =>
    withNotes(async (fd) => {
      const place = { logicalType: 'object', class: 'D.Place' }
      const added = [
        { attributeName: 'place', ...place },
        { attributeName: 'places', logicalType: 'list', elementSpecification: place },
        {
          attributeName: 'all',
          logicalType: 'list',
          elementSpecification: { logicalType: 'reference', referencedClass: 'D.Note' },
        },
      ]
      await fd.defineClasses([{ className: 'D.Note', attributes: added }], 'createOrExtend')
      await rowsOf(
        fd,
        `LET hers = (LOOKUP D.Note WHERE title = 'hers'); LET memo = (LOOKUP D.Note WHERE title = 'memo');
        UPDATE D.Note WHERE title = 'his' SET place TO D.Place {town: 't', code: 'c'}, all TO LIST{$memo, $hers, $memo},
          places TO LIST{D.Place {town: 'a', code: '1'}, D.Place {town: 'b', code: '2'}, D.Place {town: 'c', code: '3'}}`,
      )
      // The object is of an earlier shape then, and shown in the present one, without what is hidden.
      await fd.defineClasses(
        [{ className: 'D.Note', attributes: [{ attributeName: 'later', logicalType: 'string' }] }],
        'createOrExtend',
      )
      const database = fd.as({ ...bob, grants: [...bob.grants, on('D.Place', { hidden: ['code'] })] })
      const stored = async (title: string): Promise<unknown> => {
        const text = `FROM D.Note WHERE title = '${title}' RETURN place.town + place.code AS place, places.town AS towns, places.code AS codes, all.title AS all`
        return (await rowsOf(fd, text))[0]
      }
      const change = (action: string, parameters = {}): Promise<unknown[]> =>
        rowsOf(database, `UPDATE D.Note WHERE title = 'his' ${action}`, parameters)
      await change("SET place.town TO 'T', places[1].town TO 'B', all[1] TO (LOOKUP D.Note WHERE title = 'his')")
      const all = ['memo', 'hers', 'his']
      expect(await stored('his')).toEqual({ place: 'Tc', towns: ['a', 'B', 'c'], codes: ['1', '2', '3'], all })
      // Elements that are meant by their place are known, whatever they look like, and however many of them change.
      await change("SET places[0].town TO 'c', places[1].town TO 'c'")
      await change("SET places[0].town TO 'a', places[1].town TO 'B', places[2].town TO 'd'")
      expect(await stored('his')).toMatchObject({ towns: ['a', 'B', 'd'], codes: ['1', '2', '3'] })
      await change("SET places[2].town TO 'c'")
      await change("SET place TO D.Place {town: 'U'} REMOVE places[0] FROM places REMOVE all[0] FROM all")
      expect(await stored('his')).toMatchObject({ place: 'Uc', towns: ['B', 'c'], codes: ['2', '3'] })
      expect(await stored('his')).toMatchObject({ all: expect.arrayContaining(['hers', 'his']) })
      await change("ADD D.Place {town: 'd'} TO places CLEAR all")
      expect(await stored('his')).toMatchObject({ towns: ['B', 'c', 'd'], codes: ['2', '3', ''], all: ['hers'] })
      // What is copied is what the caller sees.
      await rowsOf(
        database,
        "UPDATE D.Note WHERE title = 'memo' SET place TO next.place, places TO next.places, all TO next.all",
      )
      expect(await stored('memo')).toEqual({ place: 'U', towns: ['B', 'c', 'd'], codes: ['', '', ''], all: [] })
      const given = async (name: string): Promise<string> => {
        const { type, message } = await failureOf(() => change('SET place TO $p', { p: { [name]: 'z' } }))
        return `${type} ${message}`
      }
      expect(await given('code')).toBe((await given('cude')).replaceAll('cude', 'code'))
      await change('SET place TO $p', { p: { town: 'V' } })
      expect(await stored('his')).toMatchObject({ place: 'Vc' })
    }))
})
