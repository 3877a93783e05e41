/** Several operations of a restricted caller as one, and what it does once (contract 9.4). */
import { describe, expect, it } from 'vitest'
import { AlreadyDone } from '../../src/receipts/receipt.ts'
import { rowValues } from '../row-texts.ts'
import { allNotes, bob, failureOf, oidOf, on, rowsOf, user, withNotes } from './access-notes.ts'

describe('a transaction of a restricted caller', () => {
  it('has steps that see what those before did, by its rules', () =>
    withNotes(async (fd) => {
      const database = fd.as(bob)
      const [his, hers] = [await oidOf(fd, 'his'), await oidOf(fd, 'hers')]
      const seen = await database.transaction(async (step) => {
        const made = await step(1).createObject('D.Note', { title: 'made', owner: 'bob' })
        await step(2).updateObject(his, { pages: 8 })
        const read = JSON.parse((await step(3).readObject(his)).toString())
        const hidden = await failureOf(() => step(4).readObject(hers))
        const rows = await rowsOf(step(5), 'FROM D.Note ORDER BY title RETURN title, pages')
        await rowsOf(step(6), "UPDATE D.Note WHERE title = 'made' SET pages TO 9")
        await step(7).deleteObject(his)
        const gone = await failureOf(() => step(8).readObject(his))
        const classes = (await step(9).listClasses()).map(({ className }) => className)
        return { made, read, hidden: hidden.message, rows, gone: gone.message, classes }
      }, false)
      expect(seen.read).not.toHaveProperty('secret')
      expect(seen.read).toMatchObject({ pages: 8, next: '0-0-0-0' })
      expect(seen.hidden).toBe(`There is no object ${hers}.`)
      expect(seen.gone).toBe(`There is no object ${his}.`)
      expect(seen.rows).toEqual([
        { title: 'his', pages: 8 },
        { title: 'made', pages: 0 },
        { title: 'memo', pages: 2 },
        { title: 'shared', pages: 3 },
      ])
      expect(seen.classes).toEqual(['D.Note', 'D.Memo', 'D.Folder'])
      expect(await rowsOf(fd, 'FROM D.Note ORDER BY title RETURN title, pages')).toEqual([
        { title: 'hers', pages: 0 },
        { title: 'made', pages: 9 },
        { title: 'memo', pages: 2 },
        { title: 'shared', pages: 3 },
      ])
    }))

  it('gives the same OIDs in the rehearsal, and none of what is refused', () =>
    withNotes(async (fd) => {
      const database = fd.as(bob)
      const oids: string[] = []
      const types: string[] = []
      await database.transaction(async (step, isRehearsal) => {
        oids.push(await step(1).createObject('D.Note', { title: 'one', owner: 'bob' }))
        if (isRehearsal) types.push((await failureOf(() => step(2).createObject('D.Note', { owner: 'eve' }))).type)
        oids.push(await step(3).createObject('D.Note', { title: 'three', owner: 'bob' }))
      }, true)
      expect(oids.slice(0, 2)).toEqual(oids.slice(2))
      expect(types).toEqual(['Forbidden'])
      expect(await rowsOf(fd, "FROM D.Note WHERE owner = 'bob' ORDER BY title RETURN title")).toEqual(
        ['his', 'memo', 'one', 'three'].map((title) => ({ title })),
      )
    }))

  it('is nothing as a whole where a step is refused', () =>
    withNotes(async (fd) => {
      const before = await allNotes(fd)
      const shared = await oidOf(fd, 'shared')
      const failure = await failureOf(() =>
        fd.as(bob).transaction(async (step) => {
          await rowsOf(step(1), "UPDATE D.Note WHERE owner = 'bob' SET pages TO 9")
          await step(2).updateObject(shared, { pages: 9 })
        }, false),
      )
      expect(failure.type).toBe('Forbidden')
      expect(await allNotes(fd)).toEqual(before)
    }))

  it('is made once with a receipt, and so are a query and other work', () =>
    withNotes(async (fd) => {
      const database = fd.as(bob)
      const once = (key: string) => ({
        request: { caller: 'bob', key, fingerprint: Buffer.alloc(32) },
        replyOf: () => Buffer.from(`reply of ${key}`),
      })
      const create = (key: string): Promise<string> => {
        const body = { title: key, owner: 'bob' }
        return database.transaction(async (step) => step(1).createObject('D.Note', body), false, once(key))
      }
      await create('a')
      const again = await create('a').catch((error) => error)
      expect(again).toBeInstanceOf(AlreadyDone)
      expect(String(again.reply)).toBe('reply of a')
      const update = async () => {
        const text = "UPDATE D.Note WHERE title = 'a' SET pages TO pages + 1 RETURN pages"
        return rowValues(await database.query({ text, once: once('b') }))
      }
      expect(await update()).toEqual([{ pages: 1 }])
      expect(await update().catch((error) => error)).toBeInstanceOf(AlreadyDone)
      let runs = 0
      const work = () =>
        database.runOnce(
          once('c'),
          async () => ++runs,
          () => true,
        )
      await work()
      expect(await work().catch((error) => error)).toBeInstanceOf(AlreadyDone)
      expect(runs).toBe(1)
    }))

  it('is told what a text would do', () =>
    withNotes(async (fd) => {
      const database = fd.as(bob)
      expect(await database.classify({ text: 'DELETE D.Note' })).toBe('write')
      expect(await database.classify({ text: 'EXPLAIN DELETE D.Note' })).toBe('read')
    }))

  it('tells a listener of the request what it has committed', () =>
    withNotes(async (fd) => {
      let told = 0
      const database = fd.as(bob).observedBy(() => told++)
      const his = await oidOf(fd, 'his')
      await database.updateObject(his, { pages: 5 })
      await rowsOf(database, "UPDATE D.Note WHERE title = 'his' SET pages TO 6")
      await database.transaction(async (step) => step(1).updateObject(his, { pages: 7 }), false)
      await rowsOf(database, 'FROM D.Note RETURN *')
      expect(told).toBe(3)
    }))

  it('reads many objects by a rule, statement after statement, within the memory of one', () =>
    withNotes(async (fd) => {
      const creations = Array.from({ length: 500 }, (_, i) => {
        return { class: 'D.Note', attributes: { title: `n${i}`, owner: i % 2 === 0 ? 'bob' : 'eve' } }
      })
      await fd.createObjects(creations)
      const database = fd.as({
        user,
        grants: [on('D.Note', { rules: { read: "folder.name = 'all' OR owner = 'bob'" } })],
      })
      const counts = await database.transaction(async (step) => {
        const seen: unknown[] = []
        for (let number = 1; number <= 6; number++) {
          seen.push(...(await rowsOf(step(number), 'UPDATE D.Note SET pages TO pages + 1 RETURN COUNT() AS c')))
        }
        return seen
      }, false)
      expect(counts).toEqual(Array.from({ length: 6 }, () => ({ c: 254 })))
      expect(await rowsOf(fd, "FROM D.Note WHERE owner = 'eve' RETURN SUM(pages) AS s")).toEqual([{ s: 6 }])
    }))
})
