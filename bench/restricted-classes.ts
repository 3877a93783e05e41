/**
 * What the first request of callers with grants takes where there are thousands of classes, and the first after a change of the schema: the time, and the longest stretch in
 * which nobody else had a turn; LMDB, in one process. Run: node --import tsx bench/restricted-classes.ts [classes]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, FederatedDatabase, type Grant, openStore } from '../packages/engine/src/index.ts'
import { stretchOf } from './longest-stretch.ts'

const classes = Number(process.argv[2] ?? 2_000)
const runToEnd = 250

async function run(database: Database, text: string): Promise<void> {
  const { chunks } = await database.query({ text })
  for await (const { bytes } of chunks) if (bytes.length === 0) throw new Error('a chunk holds something')
}

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const { ms, longestMs, longestCpuMs } = await stretchOf(work)
  const stretch = `longest stretch ${longestMs.toFixed(0)}, of a processor ${longestCpuMs.toFixed(0)}`
  console.log(`${what.padEnd(40)} ${ms.toFixed(0).padStart(5)} ms, ${stretch}`)
}

function classText(nth: number): string {
  const to = (back: number): string => `Reference{Referenced: C${Math.max(0, nth - back)}}`
  return `CREATE CLASS C${nth} {a: String, b: Integer, c: String, d: String, r: ${to(1)}, l: List{Element: ${to(2)}}}`
}

const directory = mkdtempSync(join(tmpdir(), 'ashlar-restricted-'))
const fd = await FederatedDatabase.open({ alias: 'bench', store: await openStore(`lmdb:${directory}`) })
try {
  for (let from = 0; from < classes; from += runToEnd) {
    const texts = Array.from({ length: runToEnd }, (_, i) => classText(from + i))
    await run(fd, `UPDATE SCHEMA { ${texts.join('\n')} }`)
  }
  const hiding = (name: string): Database => {
    const all: Grant = {
      on: { kind: 'all' },
      actions: ['read', 'create', 'update', 'delete', 'query', 'define'],
      hidden: [name],
    }
    const ruled: Grant = { on: { kind: 'class', className: 'C5' }, actions: ['read'], rules: { read: "a = 'x'" } }
    return fd.as({ user: null, grants: [all, ruled] })
  }
  const alter = (name: string): string => `UPDATE SCHEMA { ALTER CLASS C9 { ADD ${name}: String } }`
  await timed('query, everybody', () => run(fd, 'FROM C7 RETURN a'))
  for (const name of ['x', 'y', 'z'])
    await timed(`first query, ${name} hidden`, () => run(hiding(name), 'FROM C7 RETURN a'))
  await timed('first change, w hidden', () => hiding('w').createObject('C7', { a: 'x' }))
  await timed('change of the schema, everybody', () => run(fd, alter('one')))
  await timed('query after it, x hidden', () => run(hiding('x'), 'FROM C7 RETURN a'))
  await run(fd, alter('two'))
  await timed('change of the schema, x hidden', () => run(hiding('x'), alter('three')))
} finally {
  await fd.close()
  rmSync(directory, { recursive: true, force: true })
}
