/**
 * What a caller with an object rule costs beside one without: CPU of the process a read, an equality by index, a change, a scan and a rule with an index, on
 * LMDB, in one process. Run: node --import tsx bench/restricted-callers.ts
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, FederatedDatabase, type Grant, openStore } from '../packages/engine/src/index.ts'

const objects = 100_000
const runToEnd = 5_000
const user = { name: 'u7', roles: [], claims: {} }
const allows = (className: string, rule?: string): Grant => ({
  on: { kind: 'class', className },
  actions: ['read', 'query', 'create', 'update'],
  ...(rule === undefined ? {} : { rules: { read: rule, create: rule, update: rule } }),
})

async function rowsOf(database: Database, text: string): Promise<string[]> {
  const texts: string[] = []
  for await (const { bytes } of (await database.query({ text })).chunks) texts.push(bytes.toString())
  return texts
}

async function measure(name: string, times: number, work: (nth: number) => unknown): Promise<void> {
  const warm = times > 200 ? 4_000 : Math.min(times, 20)
  for (let i = 0; i < warm; i++) await work(i)
  const rounds: number[] = []
  for (let round = 0; round < 3; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < times; i++) await work(i)
    const { user: own, system } = process.cpuUsage(before)
    rounds.push((own + system) / times)
  }
  console.log(`${name.padEnd(52)} ${rounds.map((us) => us.toFixed(1)).join('  ')} µs`)
}

const directory = mkdtempSync(join(tmpdir(), 'ashlar-restricted-'))
const fd = await FederatedDatabase.open({ alias: 'bench', store: await openStore(`lmdb:${directory}`) })
try {
  await rowsOf(fd, 'UPDATE SCHEMA { CREATE CLASS Doc {owner: String, n: Integer, team: Integer, title: String} }')
  await rowsOf(fd, 'CREATE INDEX byOwner ON Doc (owner)')
  await rowsOf(fd, 'CREATE INDEX byN ON Doc (n)')
  const oids: string[] = []
  for (let from = 0; from < objects; from += runToEnd) {
    const creations = Array.from({ length: runToEnd }, (_, i) => from + i).map((n) => {
      return { class: 'Doc', attributes: { owner: `u${n % 1_000}`, n, team: n % 2 } }
    })
    const made = await fd.createObjects(creations)
    for (const [i, oid] of made.entries()) if (i % 2 === 1) oids.push(oid)
  }
  const half = fd.as({ user, grants: [allows('Doc', 'team = 1')] })
  const owner = fd.as({ user, grants: [allows('Doc', 'owner = $$USER.name')] })
  // What is the same already is not written.
  let changes = 0
  const oid = (i: number): string => oids[i % oids.length] as string
  for (const [who, database] of [['everybody', fd] as const, ['rule team = 1', half] as const]) {
    await measure(`read by OID, ${who}`, 2_000, (i) => database.readObject(oid(i)))
    await measure(`equality by index, ${who}`, 1_000, (i) =>
      rowsOf(database, `FROM Doc WHERE n = ${2 * i + 1} RETURN n`),
    )
    await measure(`update, ${who}`, 1_000, (i) => database.updateObject(oid(i), { title: `${changes++}` }))
    await measure(`creation, ${who}`, 1_000, (i) => database.createObject('Doc', { owner: 'none', n: -i, team: 1 }))
  }
  await measure('scan with a predicate, everybody', 3, () => rowsOf(fd, 'FROM Doc WHERE team = 1 RETURN COUNT() AS c'))
  await measure('scan, rule team = 1', 3, () => rowsOf(half, 'FROM Doc RETURN COUNT() AS c'))
  await measure('100 by index on owner, everybody', 100, () => rowsOf(fd, "FROM Doc WHERE owner = 'u7' RETURN n"))
  await measure('100 by rule owner = $$USER.name', 100, () => rowsOf(owner, 'FROM Doc RETURN n'))
} finally {
  await fd.close()
  rmSync(directory, { recursive: true, force: true })
}
