/** What a caller with grants is told of changes: applied one after the other, they give what the caller sees (contract 9.4.14). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AccessPolicy, Grant } from '../../src/access/access-policy.ts'
import type { CallerDatabase } from '../../src/caller-operations.ts'
import type { LiveStep } from '../../src/changes/live-query.ts'
import type { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, toMany, toOne } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const place = (shown: object): Grant => ({
  on: { kind: 'class', className: 'Place' },
  actions: ['read', 'query'],
  ...shown,
})
const thing = (shown: object): Grant => ({
  on: { kind: 'class', className: 'Thing' },
  actions: ['read', 'query'],
  ...shown,
})
const policyOf = (...grants: readonly Grant[]): AccessPolicy => ({
  user: { name: 'ann', roles: [], claims: {} },
  grants,
})

/** A thing names places in its record; a box has its things as links. */
async function withFd(use: (fd: FederatedDatabase) => Promise<void>): Promise<void> {
  const fd = await FederatedDatabase.open({ alias: 'test', store: await openStoreOfRun(), changeLog: 'on' })
  await fd.defineClasses([classOf('Place', { code: 'integer' }), classOf('Vault', { code: 'integer' })], 'create')
  await fd.defineClasses(
    [
      classOf('Thing', {
        owner: 'string',
        number: 'integer',
        secret: 'integer',
        at: toOne('Place'),
        vault: toOne('Vault'),
        any: toOne('ooObj'),
        places: toMany('Place'),
        box: toOne('Box', 'things'),
      }),
      classOf('Box', { things: toMany('Thing', 'box') }),
    ],
    'create',
  )
  await use(fd)
  expect(await fd.verify()).toMatchObject({ problems: [] })
  await fd.close()
}

type Json = Record<string, unknown>

/** All objects that are seen, without their collections of links, by OID. */
async function seenNow(
  database: Pick<CallerDatabase, 'query'>,
  classes: readonly string[],
): Promise<Map<string, Json>> {
  const found = new Map<string, Json>()
  for (const name of classes) {
    for (const row of await rowValues(await database.query({ text: `FROM ${name} RETURN *` }))) {
      const { __identifier__: oid } = row as Json
      found.set(String(oid), valuesOf(row as Json))
    }
  }
  return found
}

const valuesOf = (row: Json): Json => Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('__')))

class Mirror {
  readonly objects = new Map<string, Json>()
  position = 'first'

  async follow(
    fd: FederatedDatabase,
    policy: AccessPolicy,
    asked: { className?: string; where?: string } = {},
  ): Promise<void> {
    for (let isAtEnd = false; !isAtEnd; ) {
      const page = await fd
        .following(policy)
        .changes.page({ ...asked, since: this.position, include: 'values', limit: 3 })
      for (const { json } of page.changes) this.apply(JSON.parse(json.toString()))
      this.position = page.position
      isAtEnd = page.isAtEnd
    }
  }

  private apply({ change, oid, before, after }: { change: string; oid: string; before: Json; after: Json }): void {
    const held = this.objects.get(oid)
    if (change === 'schema' || change === 'linked' || change === 'unlinked') return
    expect([change, held === undefined]).toEqual([change, change === 'created'])
    if (held !== undefined) expect(held).toMatchObject(before)
    if (change === 'deleted') this.objects.delete(oid)
    else this.objects.set(oid, { ...held, ...after })
  }
}

const small = fc.nat({ max: 3 })
const act = fc.record({
  kind: fc.constantFrom('create', 'update', 'update', 'update', 'delete', 'place', 'vault'),
  which: fc.nat(),
  owner: fc.constantFrom('ann', 'bob'),
  number: small,
  secret: small,
  refers: fc.record({ at: fc.option(small), vault: fc.option(small), any: fc.option(fc.nat({ max: 9 })) }),
  only: fc.subarray(['owner', 'number', 'secret', 'at', 'vault', 'any', 'places'], { minLength: 1 }),
})

const policies: readonly AccessPolicy[] = [
  policyOf(thing({ rules: { read: 'owner = $$USER.name' }, hidden: ['secret', 'any'] }), place({})),
  policyOf(thing({ rules: { read: 'owner = $$USER.name OR secret > 1' }, hidden: ['secret', 'owner', 'any'] })),
  policyOf(thing({ shown: ['number', 'at', 'any'] }), place({ shown: [] })),
  policyOf(thing({ rules: { read: '10 / number > 4' }, hidden: ['any'] }), place({}), {
    on: { kind: 'class', className: 'Vault' },
    actions: ['read', 'query'],
  }),
]

/** The objects that there are, by their classes. */
type Made = Record<'Thing' | 'Place' | 'Vault', string[]>

type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

async function carryOut(
  fd: FederatedDatabase,
  made: Made,
  { kind, which, refers, only, ...values }: Act,
): Promise<void> {
  const every = Object.values(made).flat()
  const pick = (oids: readonly string[], nth: number | null): string | null =>
    nth === null ? null : (oids[nth % Math.max(1, oids.length)] ?? null)
  const { at, vault, any } = refers
  const named = { at: pick(made.Place, at), vault: pick(made.Vault, vault), any: pick(every, any) }
  const all: Json = { ...values, ...named, places: made.Place.slice(0, values.number) }
  const target = pick(every, which)
  if (kind === 'create') made.Thing.push(await fd.createObject('Thing', all))
  else if (kind === 'place') made.Place.push(await fd.createObject('Place', { code: values.number }))
  else if (kind === 'vault') made.Vault.push(await fd.createObject('Vault', { code: values.number }))
  else if (kind === 'delete' && target !== null) {
    await fd.deleteObject(target)
    for (const oids of Object.values(made)) if (oids.includes(target)) oids.splice(oids.indexOf(target), 1)
  } else if (target !== null && made.Thing.includes(target)) {
    await fd.updateObject(target, Object.fromEntries(only.map((name) => [name, all[name]])))
  } else if (target !== null) await fd.updateObject(target, { code: values.number })
}

const acts = fc.array(act, { maxLength: 25, size: 'max' })

/** What a client has of a live query. */
class Rows {
  private rows: { readonly oid: string; readonly row: Json }[] = []

  apply({ events }: LiveStep): Json[] {
    for (const { name, json } of events) {
      const { oid, after, ...told } = JSON.parse(json.toString())
      const at = this.rows.findIndex((one) => one.oid === oid)
      expect([name, at < 0]).toEqual([name, name === 'row' || name === 'enter'])
      const row = { oid, row: told.row ?? this.rows[at]?.row }
      if (name === 'change' && after === undefined) {
        this.rows[at] = row
        continue
      }
      if (at >= 0) this.rows.splice(at, 1)
      if (name === 'leave') continue
      const place = after === undefined ? this.rows.length : 1 + this.rows.findIndex((one) => one.oid === after)
      this.rows.splice(place, 0, row)
    }
    return this.rows.map(({ row }) => row)
  }
}

const followed = [
  'FROM Thing RETURN $$ID AS oid, number',
  'FROM Thing WHERE number > 1 RETURN $$ID AS oid, number, at.code AS code',
  'FROM Thing WHERE at.code = 1 RETURN $$ID AS oid, places',
  'FROM Thing ORDER BY number, $$ID TAKE 2 RETURN $$ID AS oid, at',
]

const byOthers: readonly AccessPolicy[] = [
  ...policies,
  policyOf(thing({ rules: { read: 'at.code = 1' } }), place({})),
  policyOf(thing({ rules: { read: "owner = 'ann'" } }), place({ rules: { read: 'code > 1' } })),
  policyOf(
    thing({ rules: { read: 'places ANY (code = 1) OR COUNT(places) = 2' } }),
    place({ rules: { read: 'code < 2' } }),
  ),
]

describe('changes for callers with grants', () => {
  it('rebuild what the caller sees, at every commit', async () => {
    const property = fc.asyncProperty(acts, fc.constantFrom(...policies), async (done, policy) => {
      await withFd(async (fd) => {
        const made: Made = { Thing: [], Place: [], Vault: [] }
        const mirror = new Mirror()
        const knows = ['Thing', 'Place', 'Vault'].filter((name) =>
          policy.grants.some(({ on }) => on.kind === 'class' && on.className === name),
        )
        for (const one of done) {
          await carryOut(fd, made, one)
          await mirror.follow(fd, policy)
          expect(mirror.objects).toEqual(await seenNow(fd.as(policy), knows))
        }
        // Nobody is told otherwise from the beginning.
        const anew = new Mirror()
        await anew.follow(fd, policy)
        expect(anew.objects).toEqual(mirror.objects)
      })
    })
    await fc.assert(property, runs(60))
  })

  it('of a live query give what the query gives the caller anew, at every commit', async () => {
    const property = fc.asyncProperty(acts, fc.constantFrom(...byOthers), async (done, policy) => {
      await withFd(async (fd) => {
        const made: Made = { Thing: [], Place: [], Vault: [] }
        for (const code of [1, 2]) made.Place.push(await fd.createObject('Place', { code }))
        const live = followed.map((text) => ({
          text,
          query: fd.following(policy).liveQuery({ text }),
          rows: new Rows(),
        }))
        const sorted = (text: string, rows: readonly unknown[]): string[] => {
          const texts = rows.map((row) => JSON.stringify(row))
          return text.includes('ORDER BY') ? texts : texts.toSorted()
        }
        try {
          // What a caller does not know cannot be asked for.
          const begun: typeof live = []
          for (const one of live) {
            try {
              one.rows.apply(await one.query.begin())
              begun.push(one)
            } catch (error) {
              expect(error).toMatchObject({ type: 'QueryError' })
            }
          }
          expect(begun.length).toBeGreaterThan(0)
          for (const one of done) {
            await carryOut(fd, made, one)
            for (const { text, query, rows } of begun) {
              const told = rows.apply(await query.next())
              const anew = await rowValues(await fd.as(policy).query({ text }))
              expect([text, sorted(text, told)]).toEqual([text, sorted(text, anew)])
            }
          }
        } finally {
          for (const { query } of live) query.end()
        }
      })
    })
    await fc.assert(property, runs(40))
  })

  it('are refused where rules ask for what was not kept, for exactly that part', async () => {
    await withFd(async (fd) => {
      const since = (await fd.changes.page({ since: 'now', include: 'keys', limit: 1 })).position
      const at = await fd.createObject('Place', { code: 1 })
      await fd.createObject('Thing', {
        owner: 'ann',
        number: 1,
        at,
        places: [at],
        box: await fd.createObject('Box', {}),
      })
      const told = async (
        policy: AccessPolicy,
        className?: string,
        where?: string,
        attributes?: readonly string[],
      ): Promise<unknown> => {
        const asked = { since, className, where, attributes, include: 'keys', limit: 9 } as const
        try {
          const { changes } = await fd.following(policy).changes.page(asked)
          return changes.map(({ json }) => JSON.parse(json.toString()).change)
        } catch (error) {
          return `${(error as AshlarError).type}: ${(error as Error).message}`
        }
      }
      const byPath = policyOf(thing({ rules: { read: 'at.code = 1' } }), place({}))
      expect(await told(byPath)).toMatch(/^Forbidden: Changes of Thing .* depends on other objects .* by class\.$/)
      expect(await told(byPath, 'Place')).toEqual(['created'])
      const byTime = policyOf(thing({ rules: { read: 'NOT IS_NULL($$NOW)' }, hidden: ['any'] }), place({}))
      expect(await told(byTime, 'Thing')).toMatch(/^Forbidden: .* or on the time/)
      const named = policyOf(place({ rules: { read: 'code = 1' } }), thing({}))
      expect(await told(named, 'Thing')).toMatch(/^Forbidden: .* at refers to objects that are visible by a rule/)
      const box: Grant = { on: { kind: 'class', className: 'Box' }, actions: ['read'] }
      const owned = policyOf(place({}), box, thing({ rules: { read: "owner = 'ann'" }, hidden: ['any'] }))
      expect(await told(owned, 'Thing')).toEqual(['created'])
      expect(await told(owned, 'Box')).toMatch(/^Forbidden: .* links of things are logged .* where=TRUE\.$/)
      expect(await told(owned, 'Box', 'TRUE')).toEqual(['created'])
      expect(await told(named, 'Thing', undefined, ['number', 'owner'])).toEqual(['created'])
      expect(await told(named, 'Thing', undefined, ['number', 'at'])).toMatch(/^Forbidden: .* at refers to objects/)
      expect(await told(owned, 'Thing', undefined, ['nmber'])).toMatch(/^UnknownAttribute: .* Did you mean number\?$/)
      expect(await told(owned, 'Thing', undefined, ['any'])).toMatch(/^UnknownAttribute: /)
      const all = policyOf(place({}), box, thing({}))
      expect(await told(all, 'Box')).toEqual(['created', 'linked'])
      expect(await told(all, 'Vault')).toBe("UnknownClass: There is no class 'Vault'.")
      expect(await told(all, 'Thing', 'vault IS NULL')).toMatch(/^QueryError: .* no attribute .vault.\.$/)
    })
  })

  it('follow a query by what the caller sees, as other objects decide it too', async () => {
    await withFd(async (fd) => {
      const at = await fd.createObject('Place', { code: 1 })
      const oids = [at, null].map((one) => fd.createObject('Thing', { owner: 'ann', number: 1, at: one, secret: 5 }))
      const [first = '', second = ''] = await Promise.all(oids)
      const policy = policyOf(thing({ rules: { read: 'at.code = 1' }, hidden: ['secret'] }), place({}))
      const live = fd.following(policy).liveQuery({ text: 'FROM Thing RETURN number' })
      const names = ({ events }: LiveStep) =>
        events.map(({ name, json }) => `${name} ${JSON.parse(json.toString()).oid}`)
      expect(names(await live.begin())).toEqual([`row ${first}`])
      await fd.updateObject(second, { at })
      expect(names(await live.next())).toEqual([`enter ${second}`])
      await fd.updateObject(first, { secret: 6 })
      expect(names(await live.next())).toEqual([])
      await fd.updateObject(at, { code: 2 })
      expect(names(await live.next()).toSorted()).toEqual([`leave ${first}`, `leave ${second}`].toSorted())
      live.end()
      const of = (text: string, rules: object) => fd.following(policyOf(thing({ rules }))).liveQuery({ text })
      await expect(of('FROM Thing RETURN number', { read: 'RAND() > 2' }).begin()).rejects.toThrow(
        /for the time or for chance/,
      )
      await expect(of('FROM Thing RETURN secret, vault', { read: 'number = 1' }).begin()).rejects.toThrow(
        /no attribute 'vault'/,
      )
    })
  })
})
