/**
 * Writes the example database as files that later versions are tested with: `write-fixture.ts <directory> [<index.js of an engine>]`, by
 * default with the engine of this checkout, whose PostgreSQL tables are written as well. To be run once for each version of the storage format,
 * and of these tables.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import type * as engine from '../../src/index.ts'
import { fillExample, readExample } from './example-database.ts'
import { contentFile, entriesFile, entriesOf, fixedNow, lmdbFile, postgresFile } from './fixture-files.ts'
import { postgresStatements } from './postgres-statements.ts'

const [to = '', other] = process.argv.slice(2)
const from = other ?? new URL('../../src/index.ts', import.meta.url).pathname
const { FederatedDatabase, openStore } = (await import(pathToFileURL(resolve(from)).href)) as typeof engine
Date.now = () => fixedNow
mkdirSync(to, { recursive: true })
const directory = mkdtempSync(join(tmpdir(), 'ashlar-fixture-'))
try {
  const store = await openStore(`lmdb:${directory}`)
  // A thread would be another session.
  const limits = { statementThreadsMax: 0 }
  const fd = await FederatedDatabase.open({ alias: 'fixture', store, limits, changeLog: 'on' })
  const content = await readExample(fd, await fillExample(fd))
  await fd.close()
  writeFileSync(join(to, contentFile), `${JSON.stringify(content, null, 1)}\n`)
  const written = await openStore(`lmdb:${directory}`)
  const entries = await entriesOf(written)
  await written.close()
  writeFileSync(join(to, entriesFile), gzipSync(entries.map((entry) => `${entry}\n`).join(''), { level: 9 }))
  writeFileSync(join(to, lmdbFile), gzipSync(readFileSync(join(directory, 'data.mdb')), { level: 9 }))
  if (other === undefined) {
    writeFileSync(join(to, postgresFile), gzipSync(postgresStatements(entries), { level: 9 }))
  }
  process.stdout.write(`${entries.length} entries\n`)
} finally {
  rmSync(directory, { recursive: true })
}
