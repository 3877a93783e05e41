/** What it takes to look whether callers of statements have lost a right, several times a second for as long as the statements last. */
import { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AshlarError } from '@ashlar/engine'
import { pino } from 'pino'
import { expect, it, onTestFinished, vi } from 'vitest'
import { defaultServerLimits } from '../../src/limits.ts'
import { type Caller, makeCaller, nobody, withRoles } from '../../src/security/caller.ts'
import { addRole, changeRole, findRole, listRoles } from '../../src/security/custom-roles.ts'
import type { CustomRole } from '../../src/security/roles.ts'
import { Security } from '../../src/security/security.ts'
import { SecurityDatabase } from '../../src/security/security-database.ts'
import { AbortedReplies } from '../../src/statements/aborted-replies.ts'
import { Statements } from '../../src/statements/statements.ts'
import { openSecureServer } from './open-secure-server.ts'

it('compares what a caller may with what it could once, until that changes again', async () => {
  const { security, token } = await openSecureServer()
  const of = async (id: string): Promise<Caller> => (await security.callers.token(id))?.caller ?? nobody
  const id = (await token({ roles: ['writer'] })).replace(/^Bearer ash_([^_]+)_.*$/, '$1')
  const jwt = makeCaller({ ...nobody, kind: 'jwt', name: 'eve', grants: [], credential: { kind: 'jwt', id: 'eve' } })
  for (const before of [await of(id), withRoles(jwt, new Map())]) {
    const endOf = (caller: Caller): Promise<Error | undefined> => security.endOf(caller, 'fleet')
    const asked = vi.spyOn(before, 'may')
    await security.change((database) => database.change(async () => undefined))
    expect(await endOf(before)).toBeUndefined()
    const first = asked.mock.calls.length
    expect(first).toBeGreaterThan(0)
    for (let ticks = 0; ticks < 3; ticks++) expect(await endOf(before)).toBeUndefined()
    expect(asked).toHaveBeenCalledTimes(first)
    await security.change((database) => database.change(async () => undefined))
    expect(await endOf(before)).toBeUndefined()
    expect(asked.mock.calls.length).toBeGreaterThan(first)
  }
})

it('lets others have their turn between two statements', async () => {
  const statements = new Statements(defaultServerLimits, new AbortedReplies(pino({ level: 'silent' })))
  const request = { raw: { socket: { remoteAddress: '::1' } }, caller: nobody, response: new EventEmitter() }
  type StatementRequest = Parameters<Statements['begin']>[3]
  for (let i = 0; i < 3; i++) {
    statements.begin('query', 'FROM A', 'fleet', request as unknown as StatementRequest).lasts()
  }
  const order: string[] = []
  const ends = statements.endEach(async () => {
    order.push('statement')
    return undefined
  })
  for (let i = 0; i < 4; i++) {
    await nextTurn()
    order.push('other')
  }
  await ends
  expect(order.filter((who) => who === 'statement')).toHaveLength(3)
  expect(order.join()).not.toContain('statement,statement')
})

it('finds out once that roles have too many grants', () => {
  let read = 0
  const roleOn = (names: string): CustomRole => ({
    actions: [],
    get grants() {
      read++
      return Array.from({ length: 400 }, (_, i) => ({
        on: { kind: 'class' as const, className: `${names}${i}` },
        actions: ['read' as const],
      }))
    },
  })
  const customRoles = new Map(['one', 'two', 'three'].map((name) => [name, roleOn(name)]))
  const grants = [...customRoles.keys()].map((name) => ({ role: name, aliases: undefined }))
  const caller = makeCaller({ ...nobody, kind: 'user', name: 'eve', grants, customRoles })
  const refusal = (): unknown => {
    try {
      return caller.policyOn('fleet')
    } catch (error) {
      return error
    }
  }
  expect(refusal()).toBeInstanceOf(AshlarError)
  const before = read
  expect(refusal()).toMatchObject({ type: 'Forbidden' })
  expect(() => caller.mayAnything('fleet')).toThrow(AshlarError)
  expect(read).toBe(before)
})

it('lets a role whose grants cannot be read allow nothing, and the others go on', async () => {
  const told: string[] = []
  const security = new Security(await SecurityDatabase.open('memory:'), (error) => told.push((error as Error).message))
  onTestFinished(() => security.close())
  const { database } = security
  const grants = [{ on: { kind: 'all' }, actions: ['read'] }]
  await addRole(database, 'old', { grants })
  await addRole(database, 'newer', { actions: ['write'], grants })
  const stored = JSON.stringify([{ ...grants[0], unheardOf: ['salary'] }])
  await database.change(async (change) => {
    const [role] = await change.rows<{ __identifier__: string }>(
      `FROM AshlarSecurity.Role WHERE name = 'newer' RETURN *`,
    )
    await change.update(role?.__identifier__ ?? '', { grants: stored })
  })
  const roles = await security.callers.roles()
  expect(roles.get('newer')).toMatchObject({ actions: [], grants: [] })
  expect(roles.get('old')).toMatchObject({ grants })
  expect(told).toEqual([expect.stringMatching(/^The role newer allows nothing, .* cannot have a field 'unheardOf'/)])
  expect((await listRoles(database)).map(({ name }) => name)).toContain('newer')
  await expect(findRole(database, 'newer')).rejects.toMatchObject({ type: 'MalformedRequest' })
  await expect(changeRole(database, 'newer', { actions: ['read'] })).rejects.toMatchObject({ type: 'MalformedRequest' })
  await changeRole(database, 'newer', { actions: [], grants })
  expect(await findRole(database, 'newer')).toMatchObject({ grants })
})
