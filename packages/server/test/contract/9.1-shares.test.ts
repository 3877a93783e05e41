/** Contract 9.1.13: who may have passwords hashed, and how often. */
import { expect } from 'vitest'
import { concurrentPasswordHashesMax, passwordHashesPerSharerMax, passwordHashesWaitingMax } from '../../src/limits.ts'
import { type Hasher, PasswordPlaces } from '../../src/security/password-places.ts'
import { SignInThrottle } from '../../src/security/sign-in-throttle.ts'
import { basic, openSecureServer, passwordOf } from '../unit/open-secure-server.ts'
import { rule } from './rule.ts'

/** Hashes that last until they are told to end, and the order in which they began. */
function underTest(failures: Readonly<Record<string, number>> = {}) {
  const places = new PasswordPlaces((sharer) => failures[sharer] ?? 0)
  const begun: string[] = []
  const ends: (() => void)[] = []
  const refused: string[] = []
  const hash = (name: string, sharer: string, isTrusted: boolean): void => {
    const hasher: Hasher = { sharer, isTrusted }
    const work = (): Promise<void> => {
      begun.push(name)
      return new Promise((resolve) => ends.push(resolve))
    }
    places.hash(hasher, work).catch((error) => refused.push(`${name} ${error.type}`))
  }
  /** Ends the one that began first of those that have not ended; the next begins. */
  const endOne = async (): Promise<void> => {
    ends.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { hash, begun, refused, endOne }
}

rule('9.1.13', 'hashes are by turns of callers who are known and of all others, and of each of them', async () => {
  const { hash, begun, endOne } = underTest()
  for (let at = 0; at < concurrentPasswordHashesMax; at++) hash(`first${at}`, 'address:a', false)
  for (let at = 0; at < 5; at++) hash('a', 'address:a', false)
  for (let at = 0; at < 5; at++) hash('mallory', 'user:mallory', true)
  for (const name of ['b', 'c']) hash(name, `address:${name}`, false)
  hash('ann', 'user:ann', true)
  for (let at = 0; at < 6; at++) await endOne()
  // None has a second one before those of the others that wait have their first.
  expect(begun.slice(concurrentPasswordHashesMax)).toEqual(['mallory', 'a', 'ann', 'b', 'mallory', 'c'])
})

rule('9.1.13', 'whoever has been wrong least goes first, in every other turn', async () => {
  const { hash, begun, endOne } = underTest({ 'address:guesses': 50, 'address:more': 80 })
  for (let at = 0; at < concurrentPasswordHashesMax; at++) hash('first', 'address:a', false)
  for (const name of ['more', 'more', 'guesses', 'guesses', 'new', 'other']) hash(name, `address:${name}`, false)
  for (let at = 0; at < 4; at++) await endOne()
  expect(begun.slice(concurrentPasswordHashesMax)).toEqual(['new', 'more', 'other', 'guesses'])
})

rule(
  '9.1.13',
  'a caller or address has its share of those that wait, and gives way where all places are taken',
  async () => {
    const { hash, begun, refused, endOne } = underTest()
    for (let at = 0; at < concurrentPasswordHashesMax; at++) hash('first', 'address:a', false)
    const sharers = passwordHashesWaitingMax / passwordHashesPerSharerMax
    for (let sharer = 0; sharer < sharers; sharer++) {
      for (let at = 0; at < passwordHashesPerSharerMax; at++) hash('many', `address:${sharer}`, false)
    }
    hash('more', 'address:0', false)
    await endOne()
    expect(refused).toEqual(['more TooManyRequests'])
    hash('many', 'address:0', false)
    hash('new', 'address:new', false)
    await new Promise((resolve) => setImmediate(resolve))
    expect(refused).toEqual(['more TooManyRequests', 'many ServerBusy'])
    for (let at = 0; at <= sharers && !begun.includes('new'); at++) await endOne()
    expect(begun).toContain('new')
  },
)

rule('9.1.13', 'a user changes its own password a few times an hour', async () => {
  const { app, user } = await openSecureServer({ limits: { passwordChangesPerHourMax: 2 } })
  let authorization = await user('bob', ['reader'])
  let current = passwordOf('bob')
  const change = async (newPassword: string, currentPassword = current) => {
    const payload = { currentPassword, newPassword }
    const reply = await app.inject({ method: 'PUT', url: '/v1/security/password', headers: { authorization }, payload })
    if (reply.statusCode === 204) {
      current = newPassword
      authorization = basic('bob', current)
    }
    return reply
  }
  // What changes nothing does not count.
  expect((await change('short')).json().type).toBe('WeakPassword')
  expect((await change('another password', 'a wrong password')).statusCode).toBe(403)
  for (const number of [1, 2]) expect((await change(`password number ${number}`)).statusCode).toBe(204)
  const third = await change('password number 3')
  expect([third.statusCode, third.json().type]).toEqual([429, 'TooManyRequests'])
  expect(third.json().message).toMatch(/of bob was changed 2 times within an hour.*passwordChangesPerHourMax/)
  expect(Number(third.headers['retry-after'])).toBeGreaterThan(3_000)
})

rule('9.1.13', 'changes that begin together count like those that begin one after the other, and are forgotten', () => {
  let now = 0
  const throttle = new SignInThrottle(() => now)
  const undo = throttle.beginChange('bob', 2)
  throttle.beginChange('bob', 2)
  expect(() => throttle.beginChange('bob', 2)).toThrow(/passwordChangesPerHourMax/)
  expect(() => throttle.beginChange('ann', 2)).not.toThrow()
  undo()
  throttle.beginChange('bob', 2)
  now = 3_600_000
  expect(() => throttle.beginChange('bob', 2)).not.toThrow()
})
