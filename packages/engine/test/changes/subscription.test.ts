/** Subscriptions as they are kept: who works for one, what becomes of it when that ends, and what could not be delivered. */
import { describe, expect, it } from 'vitest'
import { type DeadLetter, Subscription, SubscriptionLost } from '../../src/changes/subscription.ts'
import { deadLettersMax, deadLettersPageMax } from '../../src/limits.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'

const begin = async (): Promise<string> => 'here'
const letter: DeadLetter = { number: 0, at: '', attempts: 3, error: 'status 500', id: 'msg', changes: 2, body: '{}' }

async function two(name = 'a', other = name): Promise<readonly [Subscription, Subscription]> {
  const store = await openMemoryStore()
  return [new Subscription(store, 1, name), new Subscription(store, 2, other)]
}

describe('a subscription', () => {
  it('is worked for by one process at a time, from where it was left', async () => {
    const [first, second] = await two()
    expect(await first.state()).toBeUndefined()
    expect(await first.acquire(begin)).toMatchObject({ position: 'here', owner: 1 })
    await first.update({ position: 'there', deliveries: 1 })
    expect(await second.acquire(begin)).toBeUndefined()
    await first.release()
    expect(await second.acquire(begin)).toMatchObject({ position: 'there', deliveries: 1, owner: 2 })
    await expect(first.update()).rejects.toThrow(SubscriptionLost)
  })

  it('is taken over from a process of this machine that has ended', async () => {
    const [first, second] = await two()
    await first.acquire(begin)
    // No process has this number.
    await first.update({ pid: 2 ** 30 })
    expect(await second.acquire(begin)).toMatchObject({ owner: 2 })
    await expect(first.update({ position: 'lost' })).rejects.toThrow(SubscriptionLost)
    expect(await second.state()).toMatchObject({ position: 'here' })
  })

  it('is one of several by their names', async () => {
    const [a, b] = await two('a', 'b')
    expect(await a.acquire(begin)).toMatchObject({ owner: 1 })
    expect(await b.acquire(begin)).toMatchObject({ owner: 2 })
    await a.update({}, letter)
    expect(await b.deadLetters(0)).toEqual([])
  })

  it('is lost to its process where somebody intervenes, and nothing of it is', async () => {
    const [first, second] = await two()
    await first.acquire(begin)
    await first.update({ disabled: 'gone', deliveries: 7 })
    await second.intervene((state) => ({ ...state, disabled: undefined }))
    await expect(first.update()).rejects.toThrow(SubscriptionLost)
    expect((await first.acquire(begin))?.disabled).toBeUndefined()
    expect(await first.state()).toMatchObject({ deliveries: 7, owner: 1 })
  })

  it('keeps what could not be delivered, the last ones, in their order', async () => {
    const [first, second] = await two()
    await first.acquire(begin)
    for (let i = 1; i <= deadLettersMax + 3; i++) await first.update({}, { ...letter, changes: i })
    expect(await first.state()).toMatchObject({ deadLetters: deadLettersMax })
    const page = await second.deadLetters(0)
    expect(page).toHaveLength(deadLettersPageMax)
    expect(page[0]).toEqual({ number: 4, at: '', attempts: 3, error: 'status 500', id: 'msg', changes: 4 })
    expect((await second.deadLetters(page.at(-1)?.number ?? 0))[0]?.number).toBe(4 + deadLettersPageMax)
    expect(await second.deadLetter(4)).toMatchObject({ body: '{}' })
    expect(await second.removeDeadLetter(4)).toBe(true)
    expect(await second.removeDeadLetter(4)).toBe(false)
    expect(await second.deadLetter(4)).toBeUndefined()
    expect(await second.state()).toMatchObject({ deadLetters: deadLettersMax - 1 })
  })
})
