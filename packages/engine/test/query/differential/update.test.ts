/** UPDATE against a plain model: assignments by comma, elements, ranges and CLEAR, all of which read what was there before. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { runs } from '../../bytes/property-runs.ts'
import { queryTest } from '../query-database.ts'
import { ModelState, randomActions, randomShip, type Ship, titles, updateText } from './random-update.ts'

const setUp = [
  `UPDATE SCHEMA {
    CREATE CLASS Task {title: String, ship: Reference{Referenced: Ship, Inverse: tasks}}
    CREATE CLASS Ship {
      n: Integer, name: String, names: List{Element: String}, plain: List{Element: Reference{Referenced: Task}},
      tasks: List{Element: Reference{Referenced: Task, Inverse: ship}}
    }
  }`,
  `${titles.map((title) => `CREATE Task {title: '${title}'}`).join(';')}; CREATE Ship {name: 'x'}; CREATE Ship {name: 'other'}`,
]

queryTest('UPDATE does what a model of it does', setUp, async (db) => {
  const tasks = await db.rows('FROM Task RETURN $$ID AS oid, title')
  const oids = Object.fromEntries(tasks.map(({ oid, title }) => [title, oid])) as Record<string, string>
  const titleOf = new Map(Object.entries(oids).map(([title, oid]) => [oid, title]))
  const read = async (): Promise<Ship> => {
    const [row] = await db.rows("FROM Ship WHERE name != 'other' RETURN n, name, names, plain, tasks")
    const { plain, tasks } = row as { plain: string[]; tasks: string[] }
    const named = (list: readonly string[]): (string | null)[] => list.map((oid) => titleOf.get(oid) ?? null)
    return { ...(row as unknown as Ship), plain: named(plain), tasks: named(tasks) as string[] }
  }
  await fc.assert(
    fc.asyncProperty(randomShip, randomActions, fc.boolean(), async (before, actions, isJoined) => {
      if (actions.length === 0) return
      const given = {
        ...before,
        plain: before.plain.map((title) => (title === null ? null : oids[title])),
        tasks: before.tasks.map((title) => oids[title]),
      }
      const whole = Object.keys(before).map((name) => `${name} TO $${name}`)
      await db.rows(
        `UPDATE Ship WHERE name = 'other' SET tasks TO $all; UPDATE Ship WHERE name != 'other' SET ${whole.join(', ')}`,
        {
          ...given,
          all: Object.values(oids),
        },
      )
      const text = updateText(actions, isJoined)
      const state = new ModelState(before)
      for (const action of actions) action.apply(before, state)
      await db.rows(text, oids)
      expect({ text, before, after: await read() }).toEqual({ text, before, after: state.result() })
      const partners = await db.rows("FROM Task WHERE ship.name != 'other' ORDER BY title RETURN title")
      expect(partners.map(({ title }) => title)).toEqual([...state.result().tasks].sort())
    }),
    runs(60),
  )
})
