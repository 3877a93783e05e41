/** A database in process on PostgreSQL: the same interface, shared with another process of which this stands for one. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Id } from '@ashlar/client'
import { expect, it, onTestFinished } from 'vitest'
import { postgresOfRun } from '../../../tools/postgres-of-run.ts'
import type { Schema } from '../../client/test/typed-schema.d.ts'
import { type OpenDatabase, open } from '../src/index.ts'

const schema = readFileSync(new URL('../../client/test/typed-schema.do', import.meta.url), 'utf8')

it('is opened twice, and conflicting transactions of both are run again', async () => {
  const address = `${postgresOfRun()}?schema=ashlar_${randomBytes(4).toString('hex')}&connections=4`
  const openOne = async (): Promise<OpenDatabase<Schema>> => {
    const db = await open<Schema>(address)
    onTestFinished(() => db.close())
    return db
  }
  const [one, other] = [await openOne(), await openOne()]
  await one.client.query(schema)
  const badge = await one.create('Badge', { code: 0, text: '0-0-0-0' })
  expect(await other.get('Badge', badge)).toEqual({ $id: badge, $class: 'Badge', code: 0, text: null, holder: null })
  expect(await other.get('Badge', '9-9-9-9' as Id<'Badge'>)).toBeNull()
  const increment = (db: OpenDatabase<Schema>): Promise<number> =>
    db.transaction(async (tx) => {
      const code = ((await tx.get('Badge', badge))?.code ?? 0) + 1
      await tx.update('Badge', badge, { code })
      return code
    })
  const all = await Promise.all(Array.from({ length: 10 }, (_, nth) => increment(nth % 2 === 0 ? one : other)))
  expect(all.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  await other.close()
  const closed = await other.count('Badge').catch((error: unknown) => error)
  expect(closed).toMatchObject({ name: 'AshlarConnectionError', message: expect.stringContaining('has been closed') })
  expect(JSON.stringify(closed) + String(closed)).not.toContain(new URL(address).password)
  const changes: unknown[] = []
  for await (const { change } of one.changes('Badge')) if (changes.push(change) === 12) break
  expect(changes).toEqual(['schema', 'created', ...Array.from({ length: 10 }, () => 'updated')])
})
