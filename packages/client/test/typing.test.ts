/** What the type checker refuses of calls of the typed interface, with a message that says why; and its size in a web page. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { clientSource, compileProject } from './typed-project.ts'

const head = `import { AshlarClient, connect, databaseOf, type Id, liveOf, load } from '@ashlar/client'
import { hooksOf } from '@ashlar/client/react'
import type { Schema } from './schema.d.ts'
const db = connect<Schema>('http://127.0.0.1:8185')
const live = liveOf(db)
const { useWatch, useFind } = hooksOf<Schema>()
const person = '3-3-1-1' as Id<'Person'>
const task = '3-4-1-1' as Id<'Work.Task'>
`

/** Returns the first line of each error by the number of the snippet. All of them are one program. */
function errorsOf(snippets: readonly string[]): (string | undefined)[] {
  const files = Object.fromEntries(snippets.map((text, at) => [`s${at}.ts`, `${head}${text}\n`]))
  const schema = readFileSync(new URL('typed-schema.d.ts', import.meta.url), 'utf8')
  const stdout = compileProject({ ...files, 'schema.d.ts': schema }).errors
  const errors = new Map<number, string>()
  for (const [, at, message = ''] of stdout.matchAll(/^[^\s(]*\bs(\d+)\.ts\(\d+,\d+\): error TS\d+: (.*)$/gm)) {
    if (!errors.has(Number(at))) errors.set(Number(at), message)
  }
  const others = stdout.split('\n').filter((line) => /^\S/.test(line) && !/^[^\s(]*\bs\d+\.ts\(/.test(line))
  expect(others).toEqual([])
  return snippets.map((_, at) => errors.get(at))
}

/** Each with a part of its message. */
const wrong: readonly (readonly [string, string])[] = [
  // Classes
  ["db.find('Tasks')", '"Tasks"'],
  ["db.find('Address')", '"Address"'],
  ["db.create('Party', { name: 'A' })", 'never'],
  ["db.createMany('Party', [])", 'never'],
  // What is selected
  ["db.find('Person', { select: { nam: true } })", 'NoAttribute<Person, "nam">'],
  ["db.find('Person', { select: { name: true, nam: true } })", 'NoAttribute<Person, "nam">'],
  ["db.find('Person', { select: { title: true } })", 'NoAttribute<Person, "title">'],
  ["db.find('Person', { select: { name: 1 } })", "'{ name: number; }'"],
  ["db.find('Person', { select: { name: { first: true } } })", '& true'],
  ["db.find('Person', { select: { address: { street: true } } })", 'NoAttribute<Address, "street">'],
  ["db.find('Work.Task', { select: { owner: { nam: true } } })", 'NoAttribute<Person, "nam">'],
  ["db.find('Work.Task', { select: { owner: { tasks: { titel: true } } } })", 'NoAttribute<Work$Task, "titel">'],
  [
    "db.find('Person', { select: { tasks: { title: true, $where: { titel: 'x' } } } })",
    'NoAttribute<Work$Task, "titel">',
  ],
  ["db.find('Person', { select: { tasks: { title: true, $where: { title: 1 } } } })", 'WrongValue<Work$Task, "title">'],
  [
    "db.find('Person', { select: { tasks: { title: true, $orderBy: { title: 'up' } } } })",
    "'string' is not assignable",
  ],
  ["db.find('Person', { select: { tasks: { title: true, $limit: 3 } } })", 'NoAttribute<Work$Task, "$limit">'],
  // What is read
  ["const [row] = await db.find('Person', { select: { name: true } }); row?.address", "'address' does not exist"],
  ["const [row] = await db.find('Work.Task', { select: { owner: { name: true } } }); row?.owner.name", 'possibly'],
  ["const [row] = await db.find('Work.Task', { select: { points: true } }); row!.points + 1", 'possibly'],
  ["const [row] = await db.find('Work.Task'); const late: 'late' | undefined = row?.status", '"open"'],
  ["const [row] = await db.find('Work.Task'); row?.size", "'size' does not exist"],
  ["const row = await db.get('Person', person); row.name", 'possibly'],
  [
    "const row = await db.get('Person', person, { select: { tasks: { title: true } } }); row?.tasks[0]?.points",
    "'points' does not exist",
  ],
  // Filters and orders
  ["db.find('Person', { where: { nam: 'A' } })", "'nam' does not exist"],
  ["db.find('Person', { where: { name: 1 } })", "'number' is not assignable to type 'string"],
  ["db.find('Work.Task', { where: { status: 'late' } })", '"late"'],
  ["db.find('Work.Task', { where: { points: { $gt: '1' } } })", "'string' is not assignable to type 'number'"],
  ["db.find('Work.Task', { where: { points: { $near: 1 } } })", "'$near' does not exist"],
  ["db.find('Work.Task', { where: { owner: task } })", 'Id<"Work.Task">'],
  ["db.find('Work.Task', { where: { owner: { titel: 'x' } } })", "'titel' does not exist"],
  ["db.find('Work.Task', { where: { points: { $startsWith: '1' } } })", "'string' is not assignable"],
  ["db.find('Person', { where: { tasks: { title: 'A' } } })", "'title' does not exist"],
  ["db.find('Person', { where: { tasks: { $any: { titel: 'A' } } } })", "'titel' does not exist"],
  ["db.find('Person', { orderBy: { nam: 'asc' } })", "'nam' does not exist"],
  ["db.find('Person', { orderBy: { name: 'up' } })", '"up"'],
  ["db.find('Person', { orderBy: { name: 'asc' }, after: { name: 'A' } })", "'name' does not exist"],
  ["db.count('Person', { name: null })", "'null' is not assignable"],
  ["db.count('Person', { nam: 1 })", "'nam' does not exist"],
  // Values
  ["db.create('Work.Task', {})", 'NewValues<Work$Task>'],
  ["db.create('Work.Task', { title: null })", "'null' is not assignable"],
  ["db.create('Work.Task', { title: 'A', titel: 'B' })", "'titel' does not exist"],
  ["db.create('Work.Task', { title: 'A', size: 1 })", "'size' does not exist"],
  ["db.create('Work.Task', { title: 'A', points: '1' })", "'string' is not assignable to type 'number'"],
  ["db.create('Work.Task', { title: 'A', status: 'late' })", '"late"'],
  ["db.create('Work.Task', { title: 'A', status: null })", "'null' is not assignable"],
  ["db.create('Work.Task', { title: 'A', owner: task })", 'Id<"Work.Task">'],
  ["db.create('Work.Task', { title: 'A', owner: '3-3-1-1' })", "'string' is not assignable"],
  ["db.create('Work.Task', { title: 'A', $id: task })", "'$id' does not exist"],
  ["db.create('Work.Task', { title: 'A', owner: db.new('Work.Task', { title: 'B' }) })", 'Created<"Work.Task">'],
  ["db.create('Person', { name: 'A', address: { street: 'B' } })", "'street' does not exist"],
  ["db.update('Work.Task', task, { number: 1 })", "'number' does not exist"],
  ["db.update('Work.Task', task, { title: null })", "'null' is not assignable"],
  ["db.update('Work.Task', person, { title: 'A' })", 'Id<"Person">'],
  ["db.upsert('Work.Task', ['nummer'], { title: 'A' })", '"nummer"'],
  ["db.delete('Person', '3-3-1-1')", "'string' is not assignable"],
  ["db.link('Person', person, 'name', person)", '"name"'],
  ["db.link('Person', person, 'friends', task)", 'Id<"Work.Task">'],
  [
    "const [n] = await db.batch((batch) => [batch.count('Person')]); n.toUpperCase()",
    "'toUpperCase' does not exist on type 'number'",
  ],
  [
    "db.batch((batch) => [batch.create('Work.Task', { title: 'A', owner: batch.create('Work.Task', { title: 'B' }) })])",
    'Created<"Work.Task">',
  ],
  ["for await (const [row] of db.watch('Person', { select: { name: true } })) row?.tasks", "'tasks' does not exist"],
  [
    "load(databaseOf<Schema, AshlarClient>(new AshlarClient({ baseUrl: '' })), 'Person', [{ nam: 'A' }])",
    'Iterable<NewValues<Person>>',
  ],
  ["db.query('FROM Person RETURN *')", 'TemplateStringsArray'],
  ["connect<Schema>('http://127.0.0.1:8185', { dates: true })", "'dates' does not exist"],
  // Stores and hooks
  ["live.watch('Tasks')", '"Tasks"'],
  ["live.watch('Person', { select: { nam: true } })", 'NoAttribute<Person, "nam">'],
  ["live.find('Work.Task', { select: { owner: { nam: true } } })", 'NoAttribute<Person, "nam">'],
  ["useWatch('Work.Task', { where: { points: 'x' } })", "'string' is not assignable"],
  ["useFind('Person', { orderBy: { name: 'up' } })", '"asc"'],
  ["useWatch('Person', { after: { $id: person } })", "'after' does not exist"],
  ["useWatch('Person', { select: { name: true } }).rows[0]!.tasks", "'tasks' does not exist"],
  ["live.create('Party', { name: 'A' })", 'never'],
  ["live.update('Work.Task', task, { size: 1 })", "'size' does not exist"],
  ["live.update('Work.Task', person, { points: 1 })", '\'Id<"Person">\' is not assignable'],
  ["live.update('Work.Task', task, { points: 1 }, { shown: { nam: 1 } })", "'nam' does not exist"],
]

it('refuses what does not fit the schema', () => {
  const errors = errorsOf(wrong.map(([text]) => text))
  const untold = wrong.flatMap(([text, part], at) => {
    const message = errors[at] ?? 'accepted'
    return message.includes(part) && message.length < 500 ? [] : [{ text, part, message }]
  })
  expect(untold).toEqual([])
  expect(wrong.length).toBeGreaterThanOrEqual(40)
})

it('takes at most 10 kB in a web page, and nothing where it is not used', async () => {
  const bytesOf = async (contents: string): Promise<number> => {
    const stdin = { contents, resolveDir: dirname(clientSource) }
    const { outputFiles } = await build({ stdin, bundle: true, minify: true, write: false, format: 'esm' })
    return gzipSync(outputFiles[0]?.contents ?? '').length
  }
  expect(await bytesOf("export { connect } from './index.ts'")).toBeLessThan(10_000)
  expect(await bytesOf("export { LiveRows } from './index.ts'")).toBeLessThan(600)
  expect(await bytesOf("export { connect, liveOf } from './index.ts'")).toBeLessThan(12_000)
})
