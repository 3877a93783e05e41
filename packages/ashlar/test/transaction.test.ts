/** Interactive transactions: atomic, isolated, run again after conflicts, and over when their function is. */
import { readFileSync } from 'node:fs'
import { AshlarRequestError, AshlarTimeoutError, type Id } from '@ashlar/client'
import { expect, it, onTestFinished } from 'vitest'
import type { Schema } from '../../client/test/typed-schema.d.ts'
import { type OpenDatabase, open, type Transaction } from '../src/index.ts'

const schema = readFileSync(new URL('../../client/test/typed-schema.do', import.meta.url), 'utf8')

async function openWithSchema(): Promise<OpenDatabase<Schema>> {
  const db = await open<Schema>('memory:')
  onTestFinished(() => db.close())
  await db.client.query(schema)
  return db
}

async function increment(tx: Transaction<Schema>, badge: Id<'Badge'>): Promise<number> {
  const found = await tx.get('Badge', badge, { select: { code: true } })
  const code = (found?.code ?? 0) + 1
  await tx.update('Badge', badge, { code })
  return code
}

it('commits what its calls have done, each of which sees those before it', async () => {
  const db = await openWithSchema()
  const [ann, seen] = await db.transaction(async (tx) => {
    const person = await tx.create('Person', { name: 'Ann' })
    await tx.create('Work.Task', { title: 'A', owner: person })
    const [badge] = await tx.createMany('Badge', [{ code: 1 }, { code: 2 }])
    await tx.upsert('Badge', ['code'], { code: 2, text: 'two' })
    await tx.update('Badge', badge as Id<'Badge'>, { holder: person })
    const task = await tx.create('Work.Task', { title: 'B', owner: tx.new('Person', { name: 'Bob' }) })
    await tx.unlink('Person', person, 'tasks', (await tx.get('Person', person))?.tasks ?? [])
    await tx.link('Person', person, 'tasks', task)
    await tx.delete('Badge', badge as Id<'Badge'>)
    const names: string[] = []
    for await (const page of tx.pages('Person', { orderBy: { name: 'asc' }, take: 1 }))
      names.push(...page.map((one) => one.name))
    const outside = await db.count('Party')
    const rows = await tx.query`FROM Work.Task ORDER BY title RETURN title, owner.name AS owner`
    return [person, { names, rows, badges: await tx.count('Badge'), outside }] as const
  })
  expect(seen).toEqual({
    names: ['Ann', 'Bob'],
    rows: [
      { title: 'A', owner: null },
      { title: 'B', owner: 'Ann' },
    ],
    badges: 1,
    outside: 0,
  })
  expect(await db.find('Badge', { select: { text: true, code: true } })).toMatchObject([{ text: 'two', code: 2 }])
  expect(await db.get('Person', ann, { select: { tasks: { title: true } } })).toMatchObject({ tasks: [{ title: 'B' }] })
})

it('is run again on newer data if another change conflicts', async () => {
  const db = await openWithSchema()
  const badge = await db.create('Badge', { code: 0 })
  let runs = 0
  const code = await db.transaction(async (tx) => {
    const next = await increment(tx, badge)
    if (++runs === 1) await db.update('Badge', badge, { code: 10 })
    return next
  })
  expect([code, runs]).toEqual([11, 2])
  const all = await Promise.all(Array.from({ length: 20 }, () => db.transaction((tx) => increment(tx, badge))))
  expect(new Set(all).size).toBe(20)
  expect(await db.get('Badge', badge, { select: { code: true } })).toMatchObject({ code: 31 })
})

it('is run again if its failure follows from what has changed meanwhile', async () => {
  const db = await openWithSchema()
  let runs = 0
  await db.transaction(async (tx) => {
    const taken = await tx.count('Badge', { code: 5 })
    if (++runs === 1) await db.create('Badge', { code: 5 })
    await tx.create('Badge', { code: 5 + taken })
  })
  expect(runs).toBe(2)
  expect(await db.count('Badge')).toBe(2)
})

it('leaves nothing behind if its function throws, or if a call fails', async () => {
  const db = await openWithSchema()
  const thrown = new Error('no')
  await expect(
    db.transaction(async (tx) => {
      await tx.create('Person', { name: 'Ann' })
      throw thrown
    }),
  ).rejects.toBe(thrown)
  await expect(
    db.transaction(async (tx) => {
      await tx.create('Person', { name: 'Ann' })
      const refusal = await tx.create('Badge', { code: 1.5 }).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(AshlarRequestError)
      await expect(tx.count('Person')).rejects.toBeInstanceOf(AshlarRequestError)
    }),
  ).rejects.toMatchObject({ name: 'AshlarRequestError', status: 422, type: 'ValueNotAllowed' })
  await expect(
    db.transaction(async (tx) => void tx.create('Badge', { code: 1.5 }).catch(() => undefined)),
  ).rejects.toMatchObject({
    status: 422,
  })
  await expect(
    db.transaction(async (tx) => {
      await tx.create('Person', { name: 'Ann', friends: [await tx.create('Person', { name: 'Bob' })] })
      await tx.query`UPDATE Person WHERE name = 'Bob' SET name TO NULL`
    }),
  ).rejects.toMatchObject({ type: 'ConstraintViolation' })
  expect(await db.count('Party')).toBe(0)
})

it('waits for calls that its function did not wait for, and has none after its end', async () => {
  const db = await openWithSchema()
  const escaped = await db.transaction(async (tx) => {
    for (const name of ['a', 'b', 'c']) void tx.create('Person', { name })
    return { tx }
  })
  expect(await db.count('Person')).toBe(3)
  await expect(escaped.tx.count('Person')).rejects.toThrow('The transaction has ended')
})

it('ends at its time limit, and when its signal is aborted', async () => {
  const db = await openWithSchema()
  const reason = new Error('enough')
  const controller = new AbortController()
  const forever = (tx: Transaction<Schema>): Promise<never> => {
    controller.abort(reason)
    void tx.create('Person', { name: 'Ann' }).catch(() => undefined)
    return new Promise(() => undefined)
  }
  await expect(db.transaction(forever, { timeoutMs: 20 })).rejects.toBeInstanceOf(AshlarTimeoutError)
  await expect(db.transaction(forever, { signal: controller.signal })).rejects.toBe(reason)
  const limited = db.transaction(async (tx) => tx.count('Person', {}, { timeoutMs: 5 }))
  await expect(limited).rejects.toThrow('timeoutMs is an option of the transaction')
  expect(await db.count('Person')).toBe(0)
})
