/** Checks that count collections of references, over HTTP (contract 10.6.21, 10.6.22). */
import { describe, expect } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { openShop } from './own-roles-world.ts'
import { rule } from './rule.ts'
import type { Loose, Reply, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

const query = (text: string): Promise<Reply> => server.post(fd.at('/v1/query'), { query: text })
const run = (...operations: unknown[]): Promise<Reply> => server.post(fd.at('/v1/transaction'), operations)
const alter = (name: string, body: unknown, parameters = ''): Promise<Reply> => {
  return server.put(`${fd.at(`/v1/schema/${name}`)}${parameters}`, body)
}
const checksOf = async (name: string): Promise<Loose> => {
  return (await server.get(fd.at(`/v1/schema/${name}`))).json.checks
}
const runTool = async (tool: string): Promise<Loose> => (await server.post(fd.at('/v1/tool'), { tool })).json
const check = (name: string, expression: string) => ({ name, expression })
const crewed = check('crewed', "status != 'departed' OR COUNT(crew) >= 2")
/** The object that a line or operation creates under that name. */
const named = (id: string) => ['$', '{', id, '}'].join('')

/** The first violation. */
function violation(reply: Reply): Loose {
  expect([reply.status, reply.json.type], reply.text).toEqual([422, 'ConstraintViolation'])
  return reply.json.errors[0]
}

async function lines(parameters: string, ...commands: unknown[]): Promise<Reply> {
  const raw = commands.map((command) => JSON.stringify(command)).join('\n')
  const headers = { 'content-type': 'application/x-ndjson' }
  return server.send('POST', `${fd.at('/v1/object')}${parameters}`, { raw, headers })
}

const shipClass = (more: object = { checks: [crewed] }) => {
  return classOf('Ship', { name: 'string', status: 'string', crew: list(reference('Sailor', 'ship')) }, { ...more })
}
const sailorClass = classOf('Sailor', { name: 'string', ship: reference('Ship', 'crew') })

/** A ship under way with as many sailors. */
async function departed(sailors = 2): Promise<{ ship: string; crew: string[] }> {
  const crew: string[] = []
  for (let i = 0; i < sailors; i++) crew.push(await fd.create('Sailor'))
  return { ship: await fd.create('Ship', { status: 'departed', crew }), crew }
}

describe('a check', () => {
  rule('10.6.21', 'counts collections of references of any kind', async () => {
    const kinds = {
      inverse: list(reference('Other', 'a')),
      many: set(reference('Other', 'as')),
      tree: list(reference('Other'), 'TreeListOfReferences'),
      some: set(reference('Other')),
      array: list(reference('Other')),
      map: {
        logicalType: 'map',
        collectionTypeName: 'NameToReferenceMap',
        keySpecification: { logicalType: 'string' },
        elementSpecification: reference('Other'),
      },
    }
    const checks = Object.keys(kinds).map((name, i) =>
      check(name, i % 2 === 0 ? `COUNT(${name}) < 2` : `LENGTH(${name}) < 2`),
    )
    await fd.define(
      classOf('Other', { a: reference('A', 'inverse'), as: list(reference('A', 'many')) }),
      classOf('A', kinds, { checks }),
    )
    expect(await checksOf('A')).toEqual(checks)
    const [one, other] = [await fd.create('Other'), await fd.create('Other')]
    const value = (name: string, ...oids: string[]) =>
      name === 'map' ? Object.fromEntries(oids.map((oid, i) => [`k${i}`, oid])) : oids
    for (const name of Object.keys(kinds)) {
      const oid = await fd.create('A', { [name]: value(name, one) })
      expect(violation(await fd.putObject(oid, { [name]: value(name, one, other) }))).toMatchObject({
        constraint: 'checks',
        checkName: name,
        pointer: '/attributes',
      })
      expect(violation(await fd.postObject('A', { [name]: value(name, one, other) })).checkName).toBe(name)
      expect(await fd.read(oid)).toMatchObject({ [name]: value(name, one) })
    }
  })

  rule(['10.6.5', '10.6.21'], 'is made of nothing else of them', async () => {
    const wrong = [
      'crew[0] IS NULL',
      'COUNT(DISTINCT crew) > 1',
      'COUNT(crew.name) > 1',
      'COUNT(crew[0..1]) > 1',
      "COUNT(crew WHERE name = 's') > 1",
      "crew ANY (name = 's')",
      'IS_EMPTY(crew)',
      'EXISTS(crew)',
      '$$ID IN crew',
      'COUNT(flag.crew) > 1',
      'friends ANY (COUNT(crew) > 1)',
      'COUNT(friends.crew) > 1',
    ]
    const more = { flag: reference('Ship'), friends: list(reference('Ship')) }
    for (const expression of wrong) {
      const ship = classOf(
        'Ship',
        { crew: list(reference('Sailor', 'ship')), ...more },
        { checks: [check('x', expression)] },
      )
      const reply = await fd.putSchema(ship, sailorClass)
      expectProblem(reply, 422, 'InvalidDefinition')
      expect(reply.json.errors[0].pointer, expression).toBe('/0/checks/0/expression')
    }
    for (const size of [
      { logicalType: 'integer', default: { expression: 'COUNT(crew)' } },
      { logicalType: 'integer', onUpdate: { expression: 'COUNT(crew)' } },
      { logicalType: 'integer', computed: { expression: 'COUNT(crew)', isStored: true } },
    ]) {
      const reply = await fd.putSchema(classOf('Ship', { size, crew: list(reference('Sailor', 'ship')) }), sailorClass)
      expectProblem(reply, 422, 'InvalidDefinition')
    }
  })

  rule('10.6.21', 'of an embeddable class counts what its objects hold', async () => {
    const part = { crew: set(reference('Other')), n: 'integer' }
    await fd.define(
      classOf('Other', {}),
      classOf('Part', part, { ...embedded, checks: [check('few', 'COUNT(crew) < 2')] }),
      classOf(
        'A',
        { part: { logicalType: 'object', class: 'Part' } },
        { checks: [check('n', 'COUNT(part.crew) >= part.n')] },
      ),
    )
    const [one, other] = [await fd.create('Other'), await fd.create('Other')]
    const oid = await fd.create('A', { part: { crew: [one] } })
    expect(violation(await fd.putObject(oid, { part: { crew: [one, other] } })).checkName).toBe('few')
    expect(violation(await fd.putObject(oid, { part: { n: 2 } })).checkName).toBe('n')
  })

  rule('10.6.21', 'holds whichever side of a link changes, and names the object', async () => {
    await fd.define(shipClass(), sailorClass)
    expect(violation(await fd.postObject('Ship', { status: 'departed' }))).toMatchObject({
      pointer: '/attributes',
      message: "check crewed: status != 'departed' OR COUNT(crew) >= 2 has to hold (crew has 0 elements)",
    })
    const { ship, crew } = await departed()
    const [one, other] = crew as [string, string]
    const far = { pointer: '', oid: ship, className: 'Ship', constraint: 'checks', checkName: 'crewed' }
    expect(violation(await fd.putObject(one, { ship: null }))).toMatchObject(far)
    expect(violation(await server.delete(fd.at(`/v1/object/${one}`)))).toMatchObject(far)
    expect(violation(await query(`DELETE Sailor WHERE $$ID = ${one}`))).toMatchObject({ ...far, pointer: '/query' })
    expect(violation(await query(`UPDATE Ship REMOVE ${one} FROM crew`)).checkName).toBe('crewed')
    expect(violation(await query('UPDATE Ship CLEAR crew')).checkName).toBe('crewed')
    const second = await fd.create('Ship')
    expect(violation(await fd.putObject(one, { ship: second }))).toMatchObject(far)
    expect(violation(await fd.putObject(second, { crew: [one] }))).toMatchObject(far)
    expect(violation(await fd.putObject(ship, { crew: [other] })).checkName).toBe('crewed')
    expect(await fd.read(ship)).toMatchObject({ crew: [one, other] })
    await fd.update(ship, { name: 'Vasa' })
    const third = await fd.create('Sailor', { ship })
    expect((await server.delete(fd.at(`/v1/object/${one}`))).status).toBe(204)
    expect(await fd.read(ship)).toMatchObject({ crew: [other, third] })
    await fd.update(ship, { status: 'docked', crew: [] })
    expect(violation(await fd.putObject(ship, { status: 'departed' })).checkName).toBe('crewed')
  })

  rule('10.6.21', 'gives the object another revision with each change of what it counts', async () => {
    await fd.define(shipClass(), sailorClass)
    const { ship } = await departed()
    const etag = async () => (await server.get(fd.at(`/v1/object/${ship}`))).headers.etag
    const before = await etag()
    await fd.create('Sailor', { ship })
    expect(await etag()).not.toBe(before)
  })

  rule('10.6.21', 'counts what dangles, and not what a deletion clears', async () => {
    await fd.define(
      classOf('Other', {}),
      classOf(
        'A',
        {
          kept: set(reference('Other')),
          cleared: set({ ...reference('Other'), onTargetDelete: 'clear' }),
        },
        { checks: [check('kept', 'COUNT(kept) >= 1'), check('cleared', 'COUNT(cleared) >= 1')] },
      ),
    )
    const [one, other] = [await fd.create('Other'), await fd.create('Other')]
    const oid = await fd.create('A', { kept: [one], cleared: [other] })
    await fd.remove(one)
    expect(violation(await server.delete(fd.at(`/v1/object/${other}`)))).toMatchObject({ checkName: 'cleared', oid })
    await fd.update(oid, { cleared: [other, oid].slice(0, 1) })
    await fd.remove(oid)
    await fd.remove(other)
  })

  rule('10.6.21', 'of a subclass counts what the class inherits', async () => {
    await fd.define(
      shipClass({}),
      sailorClass,
      classOf('Liner', {}, { superClass: 'Ship', checks: [check('staffed', 'COUNT(crew) >= 1')] }),
    )
    const sailor = await fd.create('Sailor')
    const liner = await fd.create('Liner', { crew: [sailor] })
    expect(violation(await query('UPDATE Ship CLEAR crew')).checkName).toBe('staffed')
    expect(violation(await fd.putObject(sailor, { ship: null }))).toMatchObject({ checkName: 'staffed', oid: liner })
    const ship = await fd.create('Ship')
    await fd.update(ship, { crew: [] })
  })

  rule('10.6.21', 'may name a computed attribute that counts', async () => {
    const attributes = {
      size: { logicalType: 'integer', computed: { expression: 'COUNT(crew)' } },
      crew: list(reference('Sailor', 'ship')),
    }
    await fd.define(classOf('Ship', attributes, { checks: [check('few', 'size < 2')] }), sailorClass)
    const ship = await fd.create('Ship')
    await fd.create('Sailor', { ship })
    expect(violation(await fd.postObject('Sailor', { ship }))).toMatchObject({ checkName: 'few', oid: ship })
  })

  rule('10.6.21', 'keeps a list from becoming a set, and a set from becoming a list', async () => {
    const named = { checks: [check('some', 'COUNT(flags) > 0')] }
    const [some, many] = [set(reference('Other')), list(reference('Other'), 'TreeListOfReferences')]
    await fd.define(classOf('Other', {}), classOf('A', { flags: some }, named), classOf('B', { flags: many }, named))
    for (const [name, type, words] of [
      ['A', many, 'a list from a set'],
      ['B', some, 'a set from a list'],
    ] as const) {
      const change = { attributesToChange: [{ attributeName: 'flags', ...type }] }
      for (const cascade of ['', '&cascade=true']) {
        const reply = await alter(name, change, cascade)
        expect(expectProblem(reply, 409, 'AttributeInUse')).toBe(
          `Class ${name}, check some: it counts attribute flags, which cannot become ${words} while it does; remove the check, change the attribute, and add the check again.`,
        )
        expect(reply.json.errors[0].pointer).toBe('/attributesToChange/0')
      }
      expect((await alter(name, { ...change, classFields: { checks: null } })).status).toBe(201)
    }
  })

  rule('10.6.21', 'keeps a collection from losing its inverse', async () => {
    await fd.define(shipClass(), sailorClass)
    const change = { attributesToChange: [{ attributeName: 'crew', ...list(reference('Sailor')) }] }
    const message = expectProblem(await alter('Ship', change, '&cascade=true'), 409, 'AttributeInUse')
    expect(message).toContain(
      'check crewed: it counts attribute crew, which cannot gain or lose its inverse while it does',
    )
  })

  rule('10.6.21', 'follows renames of the collection, and goes with it where that is asked for', async () => {
    await fd.define(
      classOf('Ship', { status: 'string', crew: set(reference('Sailor')) }, { checks: [crewed] }),
      classOf('Sailor', {}),
    )
    const renamed = await alter('Ship', { attributesToRename: [{ originalName: 'crew', newName: 'sailors' }] })
    expect(renamed.status, renamed.text).toBe(201)
    expect((await checksOf('Ship'))[0].expression).toBe("status != 'departed' OR COUNT(`sailors`) >= 2")
    expect(violation(await fd.postObject('Ship', { status: 'departed' })).checkName).toBe('crewed')
    const attributesToDelete = { attributesToDelete: ['sailors'] }
    expect(expectProblem(await alter('Ship', attributesToDelete), 409, 'AttributeInUse')).toContain('check crewed')
    const gone = await alter('Ship', attributesToDelete, '&cascade=true')
    expect(gone.status, gone.text).toBe(201)
    expect(await checksOf('Ship')).toBeUndefined()
  })
})

describe('when it holds', () => {
  const create = (className: string, attributes: object, more: object = {}) => {
    return { method: 'post', uri: '/v1/object', body: { class: className, attributes }, ...more }
  }

  rule('10.6.22', 'a step of a transaction may break it where a later one mends it', async () => {
    await fd.define(shipClass(), sailorClass)
    const mended = await run(
      create('Ship', { status: 'departed' }, { id: 's' }),
      create('Sailor', { ship: named('s') }),
      create('Sailor', { ship: named('s') }),
    )
    expect(mended.status, mended.text).toBe(200)
    const [ship, one] = mended.json.map(({ result }: Loose) => result.__identifier__)
    const left = await run(create('Ship', {}), create('Ship', { status: 'departed' }), create('Sailor', {}))
    expect(violation(left)).toMatchObject({ pointer: '/1/body/attributes', checkName: 'crewed' })
    expect(left.json).toMatchObject({ operation: 2 })
    const deletion = { method: 'delete', uri: `/v1/object/${one}` }
    const last = await run(deletion, create('Sailor', {}))
    expect(violation(last)).toMatchObject({ checkName: 'crewed', oid: ship, pointer: '/0/body' })
    expect(last.json).toMatchObject({ operation: 1 })
    const swapped = await run(deletion, create('Sailor', { ship }))
    expect(swapped.status, swapped.text).toBe(200)
    const text = await query(
      `LET s = CREATE Ship {status: 'departed'}; CREATE Sailor {ship: $s}; CREATE Sailor {ship: $s}`,
    )
    expect(text.status, text.text).toBe(200)
    expect(violation(await query(`LET s = CREATE Ship {status: 'departed'}; CREATE Sailor {ship: $s}`))).toMatchObject({
      checkName: 'crewed',
    })
  })

  rule(
    '10.6.22',
    'its refusal at the end names the statement or operation, and no object that is not stored',
    async () => {
      await fd.define(shipClass(), sailorClass)
      const text = [
        "LET s = CREATE Ship {status: 'departed'};",
        "CREATE Sailor {name: 'a'};",
        "FOR EACH n IN LIST{'b'} => (",
        '  CREATE Sailor {name: $n, ship: $s}',
        ');',
        "CREATE Sailor {name: 'c'}",
      ].join('\n')
      const late = await query(text)
      const found = violation(late)
      expect(found).toMatchObject({ checkName: 'crewed', pointer: '/query' })
      expect(found).not.toHaveProperty('oid')
      expect(late.json).toMatchObject({ line: 4, column: 3, text: 'CREATE Sailor {name: $n, ship: $s}' })
      expect(late.json.message).toMatch(
        /^Line 4, column 3: Class Ship, a new object: check crewed: .* \(crew has 1 element\)\.$/,
      )
      const batch = await run(
        create('Ship', { status: 'departed' }, { id: 's' }),
        create('Sailor', {}),
        { method: 'post', uri: '/v1/query', body: { query: 'LET s = CREATE Ship {};\nUPDATE Sailor SET ship TO $s' } },
        create('Sailor', { ship: named('s') }),
      )
      expect(violation(batch)).not.toHaveProperty('oid')
      expect(batch.json).toMatchObject({ operation: 4, errors: [{ pointer: '/3/body' }] })
      const inText = await run(create('Sailor', {}), {
        method: 'post',
        uri: '/v1/query',
        body: { query: "SHOW 1;\nCREATE Ship {status: 'departed'}" },
      })
      expect(inText.json).toMatchObject({ operation: 2, line: 2, column: 1 })
      const { ship, crew } = await departed()
      const stored = await query(`SHOW 1; DELETE Sailor WHERE $$ID = ${crew[0]}`)
      expect(violation(stored)).toMatchObject({ oid: ship, pointer: '/query' })
      expect(stored.json).toMatchObject({ line: 1, column: 9 })
    },
  )

  rule('10.6.22', 'its refusal says what was counted, and the numbers with which it was compared', async () => {
    const seats = {
      ...shipClass({ checks: [{ ...check('seated', 'COUNT(crew) <= seats'), message: 'too many' }] }),
    } as {
      attributes: object[]
    }
    seats.attributes.push({ attributeName: 'seats', logicalType: 'integer' })
    await fd.define(
      seats,
      sailorClass,
      classOf('Raft', { crew: set(reference('Sailor')) }, { checks: [check('few', 'COUNT(crew) < 2')] }),
    )
    const crew = await Promise.all(Array.from({ length: 4 }, () => fd.create('Sailor')))
    const words = async (reply: Promise<Reply>): Promise<string> => violation(await reply).message
    expect(await words(fd.postObject('Ship', { seats: 2, crew }))).toBe(
      'check seated: too many (crew has 4 elements, seats is 2)',
    )
    const ship = await fd.create('Ship', { seats: 4, crew })
    expect(await words(run({ method: 'put', uri: `/v1/object/${ship}`, body: { attributes: { seats: 3 } } }))).toBe(
      'check seated: too many (crew has 4 elements, seats is 3)',
    )
    expect(await words(fd.postObject('Raft', { crew }))).toBe(
      'check few: COUNT(crew) < 2 has to hold (crew has at least 3 elements)',
    )
  })

  rule('10.6.22', 'the lines of a load that are committed together are judged together', async () => {
    await fd.define(shipClass(), sailorClass)
    const ship = { class: 'Ship', id: 's', attributes: { status: 'departed' } }
    const sailor = { class: 'Sailor', attributes: { ship: named('s') } }
    for (const parameters of ['', '&atomic=true', '&onError=skip']) {
      const loaded = await lines(parameters, ship, sailor, sailor)
      expect(loaded.text.match(/__identifier__/g), loaded.text).toHaveLength(3)
      const refused = await lines(parameters, ship, sailor)
      expect(refused.text).toContain('check crewed')
    }
    const plain = await lines('&onError=skip', { class: 'Ship', attributes: { status: 'departed' } }, sailor)
    expect(plain.text).toContain('check crewed')
  })

  rule(
    ['10.6.22', '2.2.19', '2.2.20'],
    'a line that only links to an object is not refused for what another line sets',
    async () => {
      const crew = list(reference('Sailor', 'ship'))
      const attributes = { name: { logicalType: 'string', pattern: '^[A-Z]' }, crew: { ...crew, minItems: 1 } }
      await fd.define(classOf('Ship', attributes, { checks: [check('few', 'COUNT(crew) <= 3')] }), sailorClass)
      const ship = await fd.create('Ship', { name: 'Ok', crew: [await fd.create('Sailor')] })
      const sailor = (to: string) => ({ class: 'Sailor', attributes: { ship: to } })
      const renamed = { method: 'put', uri: `/v1/object/${ship}`, body: { attributes: { name: 'bad' } } }
      const skipped = await lines('&onError=skip', sailor(ship), renamed, sailor(ship))
      expect(skipped.text).toContain('"created":2,"updated":0,"failed":1')
      const third = await lines('&onError=skip', sailor(ship), { ...renamed, body: { attributes: { name: 'Other' } } })
      expect(third.text).toContain('check few')
      expect((await lines('&atomic=true', renamed, sailor(ship))).json.message).toMatch(/^Line 1: .*name/)
      const created = await lines(
        '&onError=skip',
        { class: 'Ship', id: 's', attributes: { name: 'abc' } },
        sailor(named('s')),
      )
      expect(created.text).toContain('attribute name has to match')
      expect(created.text).not.toContain('at least 1 element')
    },
  )
})

describe('objects that exist', () => {
  rule(['10.6.17', '10.6.21'], 'are held against a new check by what they have', async () => {
    await fd.define(shipClass({}), sailorClass)
    const few = await fd.create('Ship', { crew: [await fd.create('Sailor')] })
    const { ship, crew } = await departed()
    const fields = { classFields: { checks: [check('manned', 'COUNT(crew) >= 2')] } }
    const violations = [{ className: 'Ship', checkName: 'manned', constraint: 'checks', objects: 1, oids: [few] }]
    for (const reply of [
      await alter('Ship', fields),
      await alter('Ship', fields, '&dryRun=true'),
      await query('UPDATE SCHEMA { ALTER CLASS Ship {ADD CHECK manned: COUNT(crew) >= 2} }'),
      await run({ method: 'put', uri: '/v1/schema/Ship', body: fields }),
    ]) {
      expect(reply.json, reply.text).toMatchObject({ status: 409, type: 'ObjectsViolateConstraint', violations })
    }
    await fd.create('Sailor', { ship: few })
    expect((await alter('Ship', fields)).status).toBe(201)
    expect(violation(await server.delete(fd.at(`/v1/object/${crew[0]}`)))).toMatchObject({ oid: ship })
    const most = await query('UPDATE SCHEMA { ALTER CLASS Ship {ADD CHECK most: COUNT(crew) < 3} }')
    expect(most.status, most.text).toBe(200)
    expect(violation(await fd.postObject('Sailor', { ship }))).toMatchObject({ checkName: 'most', oid: ship })
    const added = await alter('Ship', {
      attributesToAdd: [{ attributeName: 'flags', ...set(reference('Sailor')) }],
      classFields: { checks: [check('flags', 'COUNT(flags) > 0')] },
    })
    expect(added.json).toMatchObject({ type: 'ObjectsViolateConstraint', violations: [{ objects: 2 }] })
  })

  rule(['10.6.19', '10.5.8'], 'may break one that is not validated, which the tools tell', async () => {
    await fd.define(shipClass({}), sailorClass)
    const [one, other] = [await fd.create('Sailor'), await fd.create('Sailor')]
    const ship = await fd.create('Ship', { crew: [one, other] })
    const fields = { classFields: { checks: [check('manned', 'COUNT(crew) >= 3')] } }
    expect((await alter('Ship', fields, '&validate=false')).status).toBe(201)
    await fd.update(ship, { name: 'Vasa' })
    expect(violation(await fd.putObject(one, { ship: null }))).toMatchObject({ checkName: 'manned', oid: ship })
    expect(await runTool('Verify')).toMatchObject({ returnCode: 0 })
    expect(await runTool('ValidateConstraints')).toMatchObject({
      returnCode: 1,
      toolError: '1 object violates check manned of class Ship (3-4-1-1): not validated.',
    })
    await fd.create('Sailor', { ship })
    expect(await runTool('ValidateConstraints')).toMatchObject({ returnCode: 0 })
    expect(await checksOf('Ship')).toEqual(fields.classFields.checks)
  })
})

rule(['10.6.15', '10.6.21'], 'a caller that does not see all the links is told no more of them', async () => {
  const { ask, token, user } = await openShop()
  const admin = await token({ roles: ['admin'] })
  const crew = list(reference('Shop.Sailor', 'ship'))
  const classes = [
    classOf('Shop.Ship', { n: 'integer', crew }, { checks: [check('manned', 'n < 1 OR COUNT(crew) >= 2')] }),
    classOf('Shop.Sailor', { n: 'integer', ship: reference('Shop.Ship', 'crew') }),
  ]
  expect((await ask(admin, 'PUT', '/v1/schema', classes)).statusCode).toBe(201)
  const granted = (className: string, more: object = {}) => {
    return { on: { kind: 'class', className }, actions: ['read', 'query', 'create', 'update', 'delete'], ...more }
  }
  const seenOnly = { rules: { read: 'n = 1' } }
  const roles = {
    some: [granted('Shop.Ship'), granted('Shop.Sailor', seenOnly)],
    far: [granted('Shop.Ship', { rules: { read: 'n = 5' } }), granted('Shop.Sailor')],
    blind: [granted('Shop.Ship', { hidden: ['crew'] }), granted('Shop.Sailor')],
  }
  const callers: Record<string, string> = {}
  for (const [name, grants] of Object.entries(roles)) {
    await ask(admin, 'POST', '/v1/security/role', { name, grants })
    callers[name] = await user(name, [`${name}@shop`])
  }
  const { some, far, blind } = callers as { some: string; far: string; blind: string }
  const create = async (className: string, attributes: object): Promise<string> => {
    return (await ask(admin, 'POST', '/v1/object', { class: className, attributes })).json().__identifier__
  }
  const [seen, hidden] = [await create('Shop.Sailor', { n: 1 }), await create('Shop.Sailor', { n: 2 })]
  const ship = await create('Shop.Ship', { n: 1, crew: [seen, hidden] })
  const put = (caller: string, oid: string, attributes: object) =>
    ask(caller, 'PUT', `/v1/object/${oid}`, { attributes })
  // All links count, and a list that leaves out the hidden ones keeps them.
  expect((await put(some, ship, { crew: [seen] })).statusCode).toBe(204)
  const refused = await put(some, ship, { crew: [] })
  expect(refused.json()).toMatchObject({ status: 422, errors: [{ checkName: 'manned' }] })
  expect(refused.body).not.toContain(hidden)
  const ofFar = await ask(far, 'DELETE', `/v1/object/${seen}`)
  expect(ofFar.json()).toMatchObject({
    status: 422,
    message: 'The change would violate a constraint of an object that the caller does not see.',
  })
  for (const secret of [ship, 'manned', 'Ship']) expect(ofFar.body).not.toContain(secret)
  expect((await ask(blind, 'GET', '/v1/schema/Shop.Ship')).json().checks).toBeUndefined()
  const ofBlind = await ask(blind, 'DELETE', `/v1/object/${seen}`)
  expect(ofBlind.json()).toMatchObject({ status: 422, message: expect.stringContaining('may not see is violated') })
  for (const secret of ['manned', 'crew']) expect(ofBlind.body).not.toContain(secret)
})
