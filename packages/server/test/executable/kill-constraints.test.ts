/** Random writes by several clients, in every way there is, to classes with constraints of every kind, while the server is killed: none is ever violated (contract 10). */
import { FederatedDatabase, openStore } from '@ashlar/engine'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FdUnderTest } from '../contract/class-of.ts'
import { type Reply, type ServerUnderTest, startServer, temporaryDirectory } from '../contract/server-under-test.ts'

const kills = Math.ceil(2 * Number(process.env.ASHLAR_RUNS ?? 1))
/** Between two kills. */
const writesPerKill = Number(process.env.ASHLAR_WRITES ?? 600)
const clients = 6
const seed = Number(process.env.ASHLAR_SEED ?? Math.floor(Math.random() * 2 ** 31))

const schema = `UPDATE SCHEMA {
  CREATE CLASS Team {
    name: String{Required, MaxLength: 4}, code: Integer{Unique, Minimum: 0},
    members: List{Element: Reference{Referenced: Person, Inverse: team}, MaxItems: 3},
    lead: Reference{Referenced: Person, OnTargetDelete: clear}
  },
  CREATE CLASS Person {
    name: String{Required, Pattern: '^[a-c]', Default: 'a'}, age: Integer{Minimum: 0, Maximum: 9},
    team: Reference{Referenced: Team, Inverse: members, OnTargetDelete: restrict},
    boss: Reference{Referenced: Person, OnTargetDelete: delete},
    tags: List{Element: String{Enumeration: ('x', 'y')}, MaxItems: 2, UniqueItems},
    twice: Integer{Stored} = (age * 2), number: Integer{Storage: B64, Required, Unique, ReadOnly, Default: (NEXT('people'))},
    CHECK young: age < 5 OR name <> 'a'
  },
  CREATE CLASS Badge { owner: Reference{Referenced: Person, Required, OnTargetDelete: delete} }
}`

/** Each finds objects that violate a constraint. */
const violations = [
  "FROM Person WHERE name IS NULL OR NOT name =~ '^[a-c]' OR age < 0 OR age > 9 OR (age >= 5 AND name = 'a') RETURN $$ID",
  'FROM Person WHERE twice != age * 2 OR COUNT(tags) > 2 RETURN $$ID',
  'FROM Team WHERE name IS NULL OR LENGTH(name) > 4 OR code < 0 OR COUNT(members) > 3 RETURN $$ID',
  'FROM Badge WHERE owner IS NULL RETURN $$ID',
  'FROM Person GROUP BY number HAVING COUNT() > 1 RETURN number',
]

type Values = Readonly<Record<string, unknown>>
type Way = 'request' | 'array' | 'batch' | 'lines' | 'text'
interface Write {
  readonly way: Way
  readonly kind: 'create' | 'update' | 'delete'
  readonly cls: 'Team' | 'Person' | 'Badge'
  readonly target: number
  readonly values: Values
}

const integer = fc.integer({ min: -1, max: 10 })
/** The position of an object among those that a client knows. */
const someObject = fc.option(fc.nat(50), { freq: 6 }).map((at) => ({ at }))
const valuesOf: Readonly<Record<Write['cls'], fc.Arbitrary<Values>>> = {
  Team: fc.record(
    {
      name: fc.constantFrom('a', 'abc', 'abcd', 'abcde', null),
      code: fc.integer({ min: -1, max: 100_000 }),
      members: fc.array(someObject, { maxLength: 3 }),
      lead: someObject,
    },
    { requiredKeys: [] },
  ),
  Person: fc.record(
    {
      name: fc.constantFrom('a', 'b', 'bb', 'c', 'd', null),
      age: fc.option(integer),
      team: someObject,
      boss: someObject,
      tags: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 }),
    },
    { requiredKeys: [] },
  ),
  Badge: fc.record({ owner: someObject }, { requiredKeys: [] }),
}
const write: fc.Arbitrary<Write> = fc
  .constantFrom<Write['cls']>('Team', 'Person', 'Person', 'Person', 'Badge')
  .chain((cls) =>
    fc.record({
      way: fc.constantFrom<Way>('request', 'array', 'batch', 'lines', 'text'),
      kind: fc.constantFrom<Write['kind']>('create', 'create', 'create', 'update', 'update', 'update', 'delete'),
      cls: fc.constant(cls),
      target: fc.nat(50),
      values: valuesOf[cls],
    }),
  )

/** One client, with the objects that it has created. */
class Client {
  readonly known: { readonly oid: string; readonly cls: Write['cls'] }[] = []
  accepted = 0
  refused = 0

  /** Returns false once the server is gone. */
  async act(fd: FdUnderTest, { way, kind, cls, target, values }: Write): Promise<boolean> {
    const ofClass = this.known.filter((one) => one.cls === cls)
    const existing = ofClass[target % Math.max(1, ofClass.length)]
    const attributes = this.resolved(cls, values)
    const answered =
      kind === 'create' || existing === undefined
        ? this.create(fd, way, cls, attributes)
        : kind === 'update'
          ? this.update(fd, way, existing.oid, attributes)
          : this.delete(fd, way, existing.oid)
    const reply = await answered.catch(() => undefined)
    if (reply === undefined) return false
    // 503: on a busy machine, too many statements at once.
    const expected = [200, 201, 204, 404, 409, 412, 422, 429, 503]
    expect(expected, `${way} ${kind} ${JSON.stringify(attributes)}: ${reply.text}`).toContain(reply.status)
    if (reply.status < 300) this.accepted++
    else this.refused++
    return true
  }

  private resolved(cls: Write['cls'], values: Values): Values {
    const oidOf = (wanted: Write['cls'], at: number | null): string | null => {
      const ofClass = this.known.filter((one) => one.cls === wanted)
      return at === null ? null : (ofClass.at(-1 - (at % Math.max(1, ofClass.length)))?.oid ?? null)
    }
    const resolve = (name: string, value: unknown): unknown => {
      const wanted = name === 'team' && cls === 'Person' ? 'Team' : 'Person'
      if (Array.isArray(value)) {
        const all = value.map((one) => resolve(name, one)).filter((one) => one !== null)
        return name === 'members' ? [...new Set(all)] : all
      }
      if (typeof value !== 'object' || value === null) return value
      return oidOf(wanted, (value as { at: number | null }).at)
    }
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, resolve(name, value)]))
  }

  private async create(fd: FdUnderTest, way: Way, cls: Write['cls'], attributes: Values): Promise<Reply> {
    const { server } = fd
    const creation = { class: cls, attributes }
    let reply: Reply
    const values = Object.keys(attributes).map((name) => `${name}: $values.${name}`)
    if (way === 'text') reply = await query(fd, `CREATE ${cls} {${values.join(', ')}}`, { values: attributes })
    else if (way === 'batch') {
      reply = await server.post(fd.at('/v1/transaction'), [{ method: 'POST', uri: '/v1/object', body: creation }])
    } else if (way === 'lines') {
      const headers = { 'content-type': 'application/x-ndjson' }
      const raw = `${JSON.stringify(creation)}\n`
      reply = await server.send('POST', `${fd.at('/v1/object')}&atomic=true`, { raw, headers })
    } else reply = await server.post(fd.at('/v1/object'), way === 'array' ? [creation] : creation)
    const oid = /\d+-\d+-\d+-\d+/.exec(reply.text)?.[0]
    if (reply.status < 300 && oid !== undefined) this.known.push({ oid, cls })
    return reply
  }

  private update(fd: FdUnderTest, way: Way, oid: string, attributes: Values): Promise<Reply> {
    const { server } = fd
    const uri = `/v1/object/${oid}`
    if (way === 'batch') {
      return server.post(fd.at('/v1/transaction'), [{ method: 'PUT', uri, body: { attributes } }])
    }
    const names = Object.keys(attributes)
    if (way === 'text' && names.length > 0) {
      const cls = this.known.find((one) => one.oid === oid)?.cls
      const sets = names.map((name) => `${name} TO $values.${name}`).join(', ')
      return query(fd, `UPDATE ${cls} WHERE $$ID = ${oid} SET ${sets}`, { values: attributes })
    }
    return server.put(fd.at(uri), { attributes })
  }

  private delete(fd: FdUnderTest, way: Way, oid: string): Promise<Reply> {
    const { server } = fd
    const uri = `/v1/object/${oid}`
    if (way === 'batch') return server.post(fd.at('/v1/transaction'), [{ method: 'DELETE', uri }])
    return server.delete(fd.at(uri))
  }
}

function query(fd: FdUnderTest, text: string, parameters: object = {}): Promise<Reply> {
  return fd.server.post(fd.at('/v1/query'), { query: text, parameters })
}

async function expectNoViolation(fd: FdUnderTest): Promise<void> {
  for (const text of violations) {
    let reply = await query(fd, text)
    // The clients use the share of their address, and a server that has just started is not ready.
    while (reply.status === 503 || reply.status === 429) reply = await query(fd, text)
    expect([text, reply.status, reply.json], reply.text).toEqual([text, 200, []])
  }
}

it(
  `constraints hold while several clients write and the server is killed, ${kills} times`,
  async () => {
    const data = temporaryDirectory()
    const words = ['--fd', 'people']
    let server: ServerUnderTest = await startServer({ words, data })
    let fd = new FdUnderTest(server, 'people')
    for (const text of ['CREATE SEQUENCE people', schema]) {
      const reply = await query(fd, text)
      expect(reply.status, reply.text).toBe(200)
    }
    const all = Array.from({ length: clients }, () => new Client())
    for (let round = 0; round < kills; round++) {
      const writes = fc.sample(write, { numRuns: writesPerKill, seed: seed + round })
      const run = async (client: Client): Promise<void> => {
        for (let next = writes.pop(); next !== undefined; next = writes.pop()) {
          if (!(await client.act(fd, next))) return
        }
      }
      const working = all.map(run)
      while (writes.length > writesPerKill / 10) {
        await expectNoViolation(fd)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await server.end('SIGKILL')
      await Promise.all(working)
      server = await startServer({ words, data })
      fd = new FdUnderTest(server, 'people')
      await expectNoViolation(fd)
    }
    await server.end()
    const [accepted, refused] = (['accepted', 'refused'] as const).map((kind) =>
      all.reduce((sum, one) => sum + one[kind], 0),
    )
    expect([accepted, refused].every((count) => (count as number) > (kills * writesPerKill) / 20)).toBe(true)
    if (process.env.ASHLAR_WRITES !== undefined)
      console.log(`${accepted} writes accepted, ${refused} refused, seed ${seed}`)
    const stored = await FederatedDatabase.open({ alias: 'people', store: await openStore(`lmdb:${data}/people`) })
    expect((await stored.verify()).problems).toEqual([])
    await stored.close()
    await server.remove()
  },
  60_000 * Math.max(5, kills),
)
