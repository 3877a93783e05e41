/** Opening and closing a database in process: its addresses, its options, and the life of the process. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { AshlarConnectionError, AshlarTimeoutError } from '@ashlar/client'
import { expect, it, onTestFinished } from 'vitest'
import { open } from '../src/index.ts'

interface Schema {
  Note: { $id: never; text: string | null; at: string | null }
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-open-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const schema = 'UPDATE SCHEMA { CREATE CLASS Note {text: String, at: Instant} }'

it('keeps a database in a directory, by its path or its address, until it is closed', async () => {
  const folder = join(temporaryFolder(), 'data')
  const db = await open<Schema>(folder)
  await db.client.query(schema)
  const id = await db.create('Note', { text: 'kept' } as never)
  await db.close()
  await db.close()
  expect(existsSync(join(folder, 'data.mdb'))).toBe(true)
  const closed = new AshlarConnectionError(`lmdb:${folder}`, `The database at lmdb:${folder} has been closed.`)
  await expect(db.count('Note')).rejects.toThrow(closed)
  await expect(db.transaction(async () => 1)).rejects.toThrow(closed)
  await expect(db.watch('Note').next()).rejects.toThrow(closed)
  const again = await open<Schema>(`lmdb:${folder}`, { isolation: 'snapshot' })
  expect(await again.get('Note', id as never, { select: { text: true } })).toEqual({ $id: id, text: 'kept' })
  await again[Symbol.asyncDispose]()
})

it('ends live queries that are followed when it is closed', async () => {
  const db = await open<Schema>('memory:')
  await db.client.query(schema)
  const watched = db.watch('Note')
  expect(await watched.next()).toEqual({ done: false, value: [] })
  const next = watched.next()
  await db.close()
  await expect(next).rejects.toBeInstanceOf(AshlarConnectionError)
})

it('refuses what is no place of a database, and time limits that are none', async () => {
  await expect(open('mysql://localhost/x')).rejects.toThrow(/mysql/)
  await expect(open('lmdb:')).rejects.toThrow(/directory/)
  await expect(open('memory:', { timeoutMs: -1 })).rejects.toThrow('timeoutMs is -1')
  await expect(open('memory:', { changeLog: 'maybe' as never })).rejects.toThrow("changeLog is 'maybe'")
})

it('refuses a directory on Deno, which would end the process', async () => {
  Object.assign(globalThis, { Deno: {} })
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'Deno'))
  await expect(open('./data')).rejects.toThrow('Deno cannot open the LMDB directory of lmdb:./data')
  await (await open('memory:')).close()
})

it('ends calls at their time limit and when their signal is aborted', async () => {
  const db = await open<Schema>('memory:', { timeoutMs: 50 })
  onTestFinished(() => db.close())
  await db.client.query(schema)
  await db.createMany('Note', Array.from({ length: 500 }, () => ({ text: 'x' })) as never)
  const late = db.client.query(
    'FROM Note AS a, Note AS b, Note AS c WHERE a.text = b.text AND b.text = c.text RETURN a, b, c',
  )
  await expect(late).rejects.toThrow(new AshlarTimeoutError('memory:', 50, 'POST /v1/query'))
  await expect(db.count('Note', {}, { timeoutMs: 0 })).rejects.toThrow(RangeError)
  const reason = new Error('enough')
  await expect(db.count('Note', {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})

it('lets the process end without close, but not while a call runs', async () => {
  const source = fileURLToPath(new URL('../dist/index.js', import.meta.url))
  const program = `
    const { open } = await import(${JSON.stringify(source)})
    const db = await open('memory:')
    await db.client.query(${JSON.stringify(schema)})
    setTimeout(() => void db.create('Note', { text: 'late' }), 300).unref()
    let rows = 0
    for await (const notes of db.watch('Note')) if ((rows = notes.length) > 0) break
    console.log(rows)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  expect(stdout).toBe('1\n')
})
