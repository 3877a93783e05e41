/** Deletions that follow from others, and constraints of links, over HTTP. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { classOf, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { openShop } from './own-roles-world.ts'
import { rule } from './rule.ts'
import { type Loose, type Reply, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'deletions', '--fd', 'words'] })
  fd = new FdUnderTest(server, 'deletions')
  await fd.define(
    classOf('Country', { name: 'string' }),
    classOf('City', { name: 'string', country: { ...reference('Country'), onTargetDelete: 'restrict' } }),
    classOf('House', {
      city: { ...reference('City'), onTargetDelete: 'delete' },
      plans: set({ ...reference('Plan'), onSourceDelete: 'deleteUnreferenced' }),
      owner: { ...reference('Person'), onTargetDelete: 'clear', isReadOnly: true },
    }),
    classOf('Plan', { name: 'string' }),
    classOf('Person', { name: 'string', friends: list({ ...reference('Person'), onTargetDelete: 'clear' }) }),
    classOf('Team', { members: { ...list(reference('Member', 'team')), minItems: 1, maxItems: 2 } }),
    classOf('Member', { team: reference('Team', 'members') }),
    classOf('Ship', { crew: { ...list(reference('Sailor', 'ship')), isReadOnly: true } }),
    classOf('Sailor', { ship: { ...reference('Ship', 'crew'), isRequired: true } }),
  )
})
afterAll(() => server.remove())

function remove(oid: string, more = ''): Promise<Reply> {
  return server.delete(`${fd.at(`/v1/object/${oid}`)}${more}`)
}

async function query(text: string, alias = fd): Promise<Reply> {
  return server.post(alias.at('/v1/query'), { query: text })
}

function violation(reply: Reply): Loose {
  expect([reply.status, reply.json.type], reply.text).toEqual([422, 'ConstraintViolation'])
  return reply.json.errors[0]
}

/** The object that a line creates under that name. */
const named = (id: string) => ['$', '{', id, '}'].join('')

const deletionOf = (oid: string) => ({ method: 'delete', uri: `/v1/object/${oid}` })

async function isThere(oid: string): Promise<boolean> {
  return (await server.get(fd.at(`/v1/object/${oid}`))).status === 200
}

async function lines(...commands: unknown[]): Promise<Loose[]> {
  const raw = commands.map((command) => JSON.stringify(command)).join('\n')
  const headers = { 'content-type': 'application/x-ndjson' }
  const reply = await server.send('POST', `${fd.at('/v1/object')}&onError=skip`, { raw, headers })
  return reply.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

describe('definitions', () => {
  rule('10.4.1', 'have the two fields where references are, and show them where they say more than keep', async () => {
    const shown = await server.get(fd.at('/v1/schema/House'))
    const [city, plans] = shown.json.attributes
    expect(city).toEqual({ attributeName: 'city', ...reference('City'), onTargetDelete: 'delete' })
    expect(plans.elementSpecification).toEqual({ ...reference('Plan'), onSourceDelete: 'deleteUnreferenced' })
    const alias = new FdUnderTest(server, 'words')
    const made = await query(
      'UPDATE SCHEMA {CREATE CLASS Part {whole: Reference{Referenced: Part, OnTargetDelete: Delete, OnSourceDelete: keep}, others: Map{Element: Reference{Referenced: Part, OnTargetDelete: clear}}}}',
      alias,
    )
    expect(made.status, made.text).toBe(200)
    const part = (await server.get(alias.at('/v1/schema/Part'))).json.attributes
    expect(part[0]).toEqual({ attributeName: 'whole', ...reference('Part'), onTargetDelete: 'delete' })
    expect(part[1].elementSpecification).toEqual({ ...reference('Part'), onTargetDelete: 'clear' })
    for (const bad of [
      { a: { logicalType: 'string', onTargetDelete: 'clear' } },
      { a: { ...reference('Bad'), onTargetDelete: 'deleteUnreferenced' } },
      { a: { ...list(reference('Bad')), onTargetDelete: 'clear' } },
    ]) {
      expectProblem(await alias.putSchema(classOf('Bad', bad)), 422, 'InvalidDefinition')
    }
    const within = classOf(
      'Within',
      { a: { ...reference('Part'), onTargetDelete: 'clear' } },
      { isReferenceable: false },
    )
    expectProblem(await alias.putSchema(within), 422, 'InvalidDefinition')
  })
})

describe('a deletion', () => {
  rule(
    '10.4.2',
    'is refused with the number of those who refer and the first ten of them, unless they go too',
    async () => {
      const country = await fd.create('Country', { name: 'Italy' })
      const cities: string[] = []
      for (let i = 0; i < 12; i++) cities.push(await fd.create('City', { country }))
      const refused = await remove(country)
      expectProblem(refused, 409, 'DeleteRestricted')
      expect(refused.json.references).toEqual([
        { className: 'City', attributeName: 'country', count: 12, oids: cities.slice(0, 10) },
      ])
      expect(refused.json.message).toContain('12 objects')
      const asStatement = await query(`DELETE Country WHERE name = 'Italy'`)
      expectProblem(asStatement, 409, 'DeleteRestricted')
      const asLine = await lines(deletionOf(country))
      expect(asLine[0]).toMatchObject({ error: { type: 'DeleteRestricted' } })
      expect((await query('DELETE City; DELETE Country')).status).toBe(200)
    },
  )

  rule('10.4.3', 'takes with it who refers to the object and what nobody else refers to, in one commit', async () => {
    const [one, other] = [await fd.create('Plan', { name: 'one' }), await fd.create('Plan', { name: 'other' })]
    const city = await fd.create('City', { name: 'Rome' })
    const house = await fd.create('House', { city, plans: [one, other] })
    const stays = await fd.create('House', { plans: [other] })
    await fd.remove(city)
    expect(await Promise.all([city, house, stays, one, other].map(isThere))).toEqual([false, false, true, false, true])
    await fd.remove(stays)
    expect(await isThere(other)).toBe(false)
  })

  rule('10.4.4', 'clears references and takes elements out of collections, also of read-only attributes', async () => {
    const [ann, bob] = [await fd.create('Person', { name: 'Ann' }), await fd.create('Person', { name: 'Bob' })]
    await fd.update(bob, { friends: [ann, bob, ann] })
    const house = await fd.create('House', { owner: ann })
    expect(violation(await fd.putObject(house, { owner: bob }))).toMatchObject({ constraint: 'isReadOnly' })
    await fd.remove(ann)
    expect(await fd.read(bob)).toMatchObject({ friends: [bob] })
    expect(await fd.read(house)).toMatchObject({ owner: '0-0-0-0' })
  })

  rule('10.4.5', 'is judged by line of a load, each of which sees those before it', async () => {
    const country = await fd.create('Country', {})
    const done = await lines(
      { class: 'City', id: 'c', attributes: { name: 'Late', country } },
      deletionOf(country),
      deletionOf(named('c')),
      deletionOf(country),
    )
    expect(done.slice(0, 4).map(({ error }) => error?.type)).toEqual([
      undefined,
      'DeleteRestricted',
      undefined,
      undefined,
    ])
    expect(await isThere(country)).toBe(false)
  })

  rule('10.4.6', 'has a dry run, and an analyzed statement tells the same', async () => {
    const city = await fd.create('City', { name: 'Dry' })
    await fd.create('House', { city })
    await fd.create('House', { city })
    const deleted = [
      { className: 'City', attributeName: null, count: 1 },
      { className: 'House', attributeName: 'city', count: 2 },
    ]
    const previewed = await remove(city, '&dryRun=true')
    expect([previewed.status, previewed.json]).toEqual([200, { deleted, cleared: [] }])
    expect(await isThere(city)).toBe(true)
    const analyzed = await query(`EXPLAIN ANALYZE DELETE City WHERE name = 'Dry'`)
    expect(analyzed.json[0].inputs[0]).toMatchObject({ operator: 'delete', deleted, cleared: [] })
    const country = await fd.create('Country', {})
    await fd.create('City', { country })
    expectProblem(await remove(country, '&dryRun=true'), 409, 'DeleteRestricted')
    const member = await fd.create('Member')
    await fd.create('Team', { members: [member] })
    expect(violation(await remove(member, '&dryRun=true')).constraint).toBe('minItems')
    expect(violation(await query(`EXPLAIN ANALYZE DELETE Member WHERE $$ID = ${member}`)).constraint).toBe('minItems')
    const plain = await fd.create('Plan', {})
    const alone = { deleted: [{ className: 'Plan', attributeName: null, count: 1 }], cleared: [] }
    expect((await remove(plain, '&dryRun=true')).json).toEqual(alone)
  })

  rule('10.4.11', 'and somebody who refers to the object at the same time do not miss each other', async () => {
    for (let i = 0; i < 10; i++) {
      const country = await fd.create('Country', {})
      const both = i % 2 === 0 ? [remove(country), fd.postObject('City', { country })] : undefined
      const replies = await Promise.all(both ?? [fd.postObject('City', { country }), remove(country)])
      const types = replies.map(({ json }) => json?.type ?? 'done').sort()
      expect([
        ['DeleteRestricted', 'done'],
        ['InvalidReference', 'done'],
      ]).toContainEqual(types)
    }
  })

  rule('10.4.7', 'takes at most deletedObjectsMax others with it', async () => {
    const data = temporaryDirectory()
    const config = join(data, 'ashlar.json')
    writeFileSync(config, JSON.stringify({ limits: { deletedObjectsMax: 3 } }))
    const limited = await startServer({ words: ['--fd', 'limited', '--config', config], data })
    try {
      const small = new FdUnderTest(limited, 'limited')
      await small.define(classOf('Node', { next: { ...reference('Node'), onTargetDelete: 'delete' } }))
      let last = await small.create('Node')
      const first = last
      for (let i = 0; i < 4; i++) last = await small.create('Node', { next: last })
      expectProblem(await limited.delete(small.at(`/v1/object/${first}`)), 422, 'LimitExceeded')
      await small.remove(last)
      await small.remove(first)
    } finally {
      await limited.remove()
    }
  })
})

describe('constraints of links', () => {
  rule('10.4.8', 'hold whichever side changes them', async () => {
    const member = await fd.create('Member')
    expect(violation(await fd.postObject('Team', {}))).toMatchObject({ constraint: 'minItems', value: 0 })
    const team = await fd.create('Team', { members: [member] })
    const second = await fd.create('Member', { team })
    expect(violation(await fd.postObject('Member', { team }))).toMatchObject({ constraint: 'maxItems', oid: team })
    await fd.remove(second)
    expect(violation(await remove(member))).toMatchObject({ constraint: 'minItems', oid: team, className: 'Team' })
    const ship = await fd.create('Ship')
    expect(violation(await fd.postObject('Sailor', { ship }))).toMatchObject({ constraint: 'isReadOnly', oid: ship })
  })

  rule('10.4.12', 'may be broken by a step of a transaction that a later one mends', async () => {
    const run = (...operations: unknown[]) => server.post(fd.at('/v1/transaction'), operations)
    const create = (className: string, attributes: object, more: object = {}) => {
      return { method: 'post', uri: '/v1/object', body: { class: className, attributes }, ...more }
    }
    const mended = await run(create('Team', {}, { id: 't' }), create('Member', { team: named('t') }))
    expect(mended.status, mended.text).toBe(200)
    const team = mended.json[0].result.__identifier__
    const refused = await run(create('Member', {}), create('Team', {}), create('Plan', {}))
    expect(violation(refused)).toMatchObject({ pointer: '/1/body/attributes/members', constraint: 'minItems' })
    expect(refused.json).toMatchObject({ operation: 2 })
    const emptied = await run({ method: 'put', uri: `/v1/object/${team}`, body: { attributes: { members: [] } } })
    expect(violation(emptied)).toMatchObject({ constraint: 'minItems', oid: team })
    const swapped = await run(
      { method: 'put', uri: `/v1/object/${team}`, body: { attributes: { members: [] } } },
      create('Member', { team }),
    )
    expect(swapped.status, swapped.text).toBe(200)
    const third = create('Member', { team }, { id: 'm' })
    const tooMany = await run(create('Member', { team }), third, create('Plan', {}))
    expect(violation(tooMany)).toMatchObject({ constraint: 'maxItems', value: 3, oid: team })
    expect(tooMany.json).toMatchObject({ operation: 2 })
    const withdrawn = await run(create('Member', { team }), third, deletionOf(named('m')))
    expect(withdrawn.status, withdrawn.text).toBe(200)
    const asText = await query('LET s = CREATE Sailor {}; LET t = CREATE Ship {crew: LIST{$s}}')
    expect(asText.status, asText.text).toBe(200)
    expect(violation(await query('CREATE Sailor {}'))).toMatchObject({ constraint: 'isRequired' })
    expect(violation(await fd.postObject('Sailor'))).toMatchObject({ constraint: 'isRequired' })
  })

  rule('10.4.9', 'let deletions of others change what is read-only, and not clear what is required', async () => {
    const made = await lines(
      { class: 'Sailor', attributes: { ship: named('s') } },
      { class: 'Ship', id: 's', attributes: {} },
    )
    const [sailor, ship] = made.map(({ __identifier__: oid }) => oid)
    expect(sailor, JSON.stringify(made)).toBeDefined()
    expect(violation(await remove(ship))).toMatchObject({ constraint: 'isRequired', oid: sailor, className: 'Sailor' })
    await fd.remove(sailor)
    expect((await fd.read(ship)).crew).toEqual([])
  })
})

describe('a caller that does not see all', () => {
  rule('10.4.10', 'is told of what it does not see only that it is there, and that follows all the same', async () => {
    const { ask, token, user } = await openShop()
    const admin = await token({ roles: ['admin'] })
    const classes = [
      classOf('Shop.Root', { n: 'integer' }),
      classOf('Shop.Seen', { root: { ...reference('Shop.Root'), onTargetDelete: 'restrict' }, n: 'integer' }),
      classOf('Shop.Unseen', { root: { ...reference('Shop.Root'), onTargetDelete: 'restrict' } }),
      classOf('Shop.Leaf', { root: { ...reference('Shop.Root'), onTargetDelete: 'delete' } }),
    ]
    expect((await ask(admin, 'PUT', '/v1/schema', classes)).statusCode).toBe(201)
    const granted = (className: string, more: object = {}) => {
      return { on: { kind: 'class', className }, actions: ['read', 'query', 'delete'], ...more }
    }
    const grants = [granted('Shop.Root'), granted('Shop.Seen', { rules: { read: 'n = 0' } })]
    await ask(admin, 'POST', '/v1/security/role', { name: 'clerk', grants })
    const bob = await user('bob', ['clerk@shop'])
    const create = async (className: string, attributes: object): Promise<string> => {
      return (await ask(admin, 'POST', '/v1/object', { class: className, attributes })).json().__identifier__
    }
    const root = await create('Shop.Root', {})
    const seen = await create('Shop.Seen', { root })
    const remove = (more = '') => ask(bob, 'DELETE', `/v1/object/${root}${more}`)
    const named = { className: 'Shop.Seen', attributeName: 'root' }
    expect((await remove()).json()).toMatchObject({ references: [{ ...named, count: 1, oids: [seen] }] })
    const hidden = await create('Shop.Seen', { root, n: 1 })
    const other = await create('Shop.Unseen', { root })
    const refused = await remove()
    expect(refused.json()).toMatchObject({ type: 'DeleteRestricted', references: [{ ...named, oids: [seen] }, {}] })
    for (const secret of [hidden, other, 'Unseen']) expect(refused.body).not.toContain(secret)
    for (const oid of [seen, hidden, other]) await ask(admin, 'DELETE', `/v1/object/${oid}`)
    const leaf = await create('Shop.Leaf', { root })
    expect((await remove('?dryRun=true')).json()).toEqual({
      deleted: [
        { className: 'Shop.Root', attributeName: null, count: 1 },
        { className: null, attributeName: null },
      ],
      cleared: [],
    })
    expect((await remove()).statusCode).toBe(204)
    expect((await ask(admin, 'GET', `/v1/object/${leaf}`)).statusCode).toBe(404)
  })
})

rule('10.4.1', 'the fields may be given to an attribute that exists, and taken away', async () => {
  await fd.define(classOf('Target', {}), classOf('Source', { to: reference('Target'), all: list(reference('Target')) }))
  const alter = (fields: object) => {
    const body = { attributesToConstrain: [{ attributeName: 'to', ...fields }] }
    return server.put(fd.at('/v1/schema/Source'), body)
  }
  const deleted = async () => {
    const target = await fd.create('Target', {})
    const source = await fd.create('Source', { to: target })
    await server.send('DELETE', fd.at(`/v1/object/${target}`))
    return (await server.get(fd.at(`/v1/object/${source}`))).status
  }
  const earlier = await fd.create('Target', {})
  const source = await fd.create('Source', { to: earlier })
  expect(await deleted()).toBe(200)
  const reply = await alter({ onTargetDelete: 'delete' })
  expect(reply.status, reply.text).toBe(201)
  expect(await deleted()).toBe(404)
  await server.send('DELETE', fd.at(`/v1/object/${earlier}`))
  expect((await server.get(fd.at(`/v1/object/${source}`))).status).toBe(404)
  expect((await alter({ onTargetDelete: null })).status).toBe(201)
  expect(await deleted()).toBe(200)
  const element = { attributeName: 'all', elementSpecification: { onTargetDelete: 'clear' } }
  const cleared = await server.put(fd.at('/v1/schema/Source'), { attributesToConstrain: [element] })
  expect(cleared.status, cleared.text).toBe(201)
})
