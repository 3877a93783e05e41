/**
 * What callers with an object rule wait for, and let others wait for, where they change long collections, beside callers without one: a list kept in the record, and
 * a list, a set and a map kept as links. For each the time and the longest stretch in which nobody else had a turn; LMDB, in one process.
 * Run: node --import tsx bench/restricted-collections.ts [elements]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, FederatedDatabase, type Grant, openStore } from '../packages/engine/src/index.ts'
import { stretchOf } from './longest-stretch.ts'

const elements = Number(process.argv[2] ?? 200_000)
const runToEnd = 5_000
const user = { name: 'u7', roles: [], claims: {} }
const allows = (className: string, rule?: string): Grant => ({
  on: { kind: 'class', className },
  actions: ['read', 'query', 'create', 'update'],
  ...(rule === undefined ? {} : { rules: { read: rule } }),
})

async function run(database: Database, text: string, parameters = {}): Promise<void> {
  const { chunks } = await database.query({ text, parameters })
  for await (const { bytes } of chunks) if (bytes.length === 0) throw new Error('a chunk holds something')
}

/** How long the work took, and the longest time between two turns of the event loop meanwhile. */
async function timed(work: () => Promise<unknown>): Promise<string> {
  const { ms, longestMs, longestCpuMs } = await stretchOf(work)
  const stretch = `longest stretch ${longestMs.toFixed(0).padStart(4)}, of a processor ${longestCpuMs.toFixed(0).padStart(3)}`
  return `${ms.toFixed(0).padStart(6)} ms, ${stretch}`
}

const directory = mkdtempSync(join(tmpdir(), 'ashlar-restricted-'))
const fd = await FederatedDatabase.open({ alias: 'bench', store: await openStore(`lmdb:${directory}`) })
try {
  const target = 'Reference{Referenced: Doc'
  await run(
    fd,
    `UPDATE SCHEMA { CREATE CLASS Doc {n: Integer, team: Integer, inPaired: ${target.replace('Doc', 'Box')}, Inverse: paired}}
      CREATE CLASS Box {inRecord: List{Element: ${target}}}, paired: List{Element: ${target}, Inverse: inPaired}},
        bag: Set{Element: ${target}}}, byName: Map{Element: ${target}}}} }`,
  )
  const oids: string[] = []
  for (let from = 0; from < elements; from += runToEnd) {
    const made = Array.from({ length: runToEnd }, (_, i) => {
      return { class: 'Doc', attributes: { n: from + i, team: (from + i) % 2 } }
    })
    for (const oid of await fd.createObjects(made)) oids.push(oid)
  }
  const half = fd.as({ user, grants: [allows('Doc', 'team = 1'), allows('Box')] })
  const all = { whole: oids, seen: oids.filter((_oid, i) => i % 2 === 1) }
  const [extra] = await fd.createObjects([{ class: 'Doc', attributes: { n: -1, team: 1 } }])
  for (const name of ['inRecord', 'paired', 'bag', 'byName']) {
    const jsonOf = (of: readonly string[]): unknown => {
      return name === 'byName' ? Object.fromEntries(of.map((value) => [value, value])) : of
    }
    for (const [who, database, known] of [
      ['everybody', fd, all.whole],
      ['rule team = 1', half, all.seen],
    ] as const) {
      const box = (await fd.createObject('Box', { [name]: jsonOf(all.whole) })) as unknown as string
      const [same, longer] = [jsonOf(known), jsonOf([...known, extra as string])]
      const added = name === 'byName' ? [{ key: 'new', value: extra }] : [extra]
      const say = async (what: string, work: () => Promise<unknown>): Promise<void> => {
        console.log(`${name.padEnd(9)} ${who.padEnd(14)} ${what.padEnd(22)} ${await timed(work)}`)
      }
      await say('one more added', () => database.updateObject(box, { [name]: { action: 'add', elements: added } }))
      const what = name === 'byName' ? '{$key: $more}' : '$more'
      const parameters = { box, more: extra, key: 'by a statement' }
      await say('one by UPDATE … ADD', () =>
        run(database, `UPDATE Box WHERE $$ID = $box ADD ${what} TO ${name} RETURN COUNT()`, parameters),
      )
      await say('sent back as it is', () => database.updateObject(box, { [name]: same }))
      await say('sent with one more', () => database.updateObject(box, { [name]: longer }))
      await fd.deleteObject(box)
    }
  }
} finally {
  await fd.close()
  rmSync(directory, { recursive: true, force: true })
}
