/** The function that commits is renewed when a store of an earlier version is opened, beside servers that go on using it: PostgreSQL. */
import { createHash, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { keyPlacement } from '../../src/storage/key-placement.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { citusCommitFunction } from '../../src/store/citus/commit-sql.ts'
import { commitFunction, commitFunctionVersion } from '../../src/store/postgres/commit-function.ts'
import type { Change, Precondition, Store } from '../../src/store/store.ts'
import { commitOf, entriesIn, put } from './bytes.ts'
import { runSql } from './database-client.ts'
import { freshAddress } from './postgres-stores.ts'

const schemaOf = (address: string): string => new URL(address).searchParams.get('schema') ?? ''

const currentMark = `-- version ${commitFunctionVersion}`

async function bodyIn(address: string): Promise<string> {
  const [row] = await runSql(address, `SELECT prosrc FROM pg_proc WHERE oid = '${schemaOf(address)}.commit'::regproc`)
  return row?.prosrc as string
}

/** As if an earlier or later server had defined it: the same but for what it says of its version. */
async function putMark(address: string, mark: string): Promise<void> {
  const tables = { schema: schemaOf(address), keys: keyPlacement }
  await runSql(address, commitFunction(tables).replace(currentMark, mark))
}

it('its version is increased whenever its body changes', () => {
  const tables = { schema: 's', hasRoot: true, keys: keyPlacement }
  const text = commitFunction(tables) + citusCommitFunction(tables)
  const digest = createHash('sha256').update(text.replaceAll(/\s+/g, ' ')).digest('hex').slice(0, 16)
  expect({ version: commitFunctionVersion, digest }).toEqual({ version: 9, digest: 'adfec5cd01775746' })
})

it.each(['-- of the first version', '-- version 1'])('one of an earlier version is replaced: %s', async (mark) => {
  const address = freshAddress()
  await (await openStore(address)).close()
  expect(await bodyIn(address)).toContain(currentMark)
  await putMark(address, mark)
  const stores = await Promise.all([openStore(address), openStore(address), openStore(address)])
  expect(await bodyIn(address)).toContain(currentMark)
  for (const store of stores) await store.close()
})

it('one of a later version stays', async () => {
  const address = freshAddress()
  await (await openStore(address)).close()
  await putMark(address, '-- version 1000')
  const store = await openStore(address)
  expect(await store.commit(commitOf([put('a', '1')]))).toEqual({ isCommitted: true })
  await store.close()
  expect(await bodyIn(address)).toContain('-- version 1000')
})

it('servers that commit while it is replaced lose nothing, and each key is added once', async () => {
  const address = freshAddress()
  const stores: Store[] = [await openStore(address), await openStore(address)]
  await putMark(address, '-- of the first version')
  let isReplaced = false
  const added: number[] = []
  const committing = stores.map(async (store) => {
    for (let round = 0; !isReplaced || round < 5; round++) {
      const changes: Change[] = Array.from({ length: 200 }, (_, i) => put(`\x05\x00\x00\x00\x01${round} ${i}`, 'x'))
      const required = changes.map(({ key }): Precondition => ({ kind: 'absent', key }))
      const outcome = await store.commit(commitOf(changes, required))
      if (outcome.isCommitted) added.push(round)
    }
  })
  const third = await openStore(address)
  isReplaced = true
  await Promise.all(committing)
  expect(await bodyIn(address)).toContain(currentMark)
  expect(new Set(added).size).toBe(added.length)
  expect(await entriesIn(third)).toHaveLength(added.length * 200)
  for (const store of [...stores, third]) await store.close()
})

it('a user who may not replace it cannot open the store, and is told who can', async () => {
  const address = freshAddress()
  await (await openStore(address)).close()
  await putMark(address, '-- of the first version')
  const role = `test_${randomBytes(8).toString('hex')}`
  const schema = schemaOf(address)
  await runSql(
    address,
    `CREATE ROLE ${role} LOGIN PASSWORD 'basalt'; GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
  )
  const own = new URL(address)
  own.username = role
  own.password = 'basalt'
  await expect(openStore(own.href)).rejects.toThrow(`its function ${schema}.commit is of an earlier version of Ashlar`)
  expect(await bodyIn(address)).not.toContain(currentMark)
  await runSql(postgresOfRun(), `DROP OWNED BY ${role}; DROP ROLE ${role}`)
})
