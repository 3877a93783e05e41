/** Sequences, over HTTP. */
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect } from 'vitest'
import { readTar } from '../tar-files.ts'
import { openSecureServer } from '../unit/open-secure-server.ts'
import { classOf, FdUnderTest } from './class-of.ts'
import { rule } from './rule.ts'
import { type Loose, type Reply, type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest

beforeAll(async () => {
  server = await startServer({ words: ['--fd', 'sequences'] })
  fd = new FdUnderTest(server, 'sequences')
  await fd.define(classOf('Order', { number: { logicalType: 'integer', storage: 'b64' }, next: 'integer' }))
})
afterAll(() => server.remove())

function ask(query: string): Promise<Reply> {
  return server.post(fd.at('/v1/query'), { query })
}

async function expectRefused(query: string, status: number, type: string): Promise<void> {
  const reply = await ask(query)
  expect([query, reply.status, reply.json.type]).toEqual([query, status, type])
}

async function rows(query: string): Promise<Loose> {
  const { status, json } = await ask(query)
  expect([query, status]).toEqual([query, 200])
  return json
}

rule(['6.3.1', '6.3.2', '6.3.3'], 'a sequence is made, shown, restarted and removed', async () => {
  expect(await rows('CREATE SEQUENCE a')).toEqual([{ name: 'a' }])
  expect(await rows('CREATE SEQUENCE a.b START 5 STEP -2')).toEqual([{ name: 'a.b' }])
  await expectRefused('CREATE SEQUENCE a', 409, 'SequenceExists')
  await expectRefused("CREATE SEQUENCE '-a'", 422, 'InvalidName')
  await expectRefused(`CREATE SEQUENCE '${'a'.repeat(129)}'`, 422, 'InvalidName')
  await expectRefused('CREATE SEQUENCE c STEP 0', 422, 'InvalidDefinition')
  await expectRefused('CREATE SEQUENCE c START 9223372036854775808', 422, 'InvalidDefinition')
  await expectRefused('ALTER SEQUENCE c RESTART 1', 404, 'SequenceNotFound')
  await expectRefused('DROP SEQUENCE c', 404, 'SequenceNotFound')
  await rows('ALTER SEQUENCE a RESTART -7')
  expect(await rows('SHOW SEQUENCES')).toEqual([
    { name: 'a', start: 1, step: 1, next: -7 },
    { name: 'a.b', start: 5, step: -2, next: 5 },
  ])
  await rows('DROP SEQUENCE a; DROP SEQUENCE a.b')
  expect(await rows('SHOW SEQUENCES')).toEqual([])
})

rule(['6.3.4', '6.3.6'], 'NEXT gives numbers, outside of transactions', async () => {
  await rows('CREATE SEQUENCE n START 10 STEP 5')
  expect((await rows("SHOW NEXT('n')"))[0] % 5).toBe(0)
  await rows("CREATE Order {number: NEXT('n')}; LET $x = NEXT('n'); CREATE Order {number: $x}")
  await expectRefused("CREATE Order {number: NEXT('n')}; DROP INDEX nothing", 404, 'IndexNotFound')
  await rows("UPDATE Order SET number TO NEXT('n')")
  // A text that begins again, as in a thread, leaves a gap.
  const [first, second] = await rows('FROM Order ORDER BY number RETURN number')
  expect([first.number % 5, second.number % 5]).toEqual([0, 0])
  expect(first.number).toBeGreaterThanOrEqual(30)
  expect(second.number).toBeGreaterThan(first.number)
  await expectRefused("FROM Order WHERE number = NEXT('n') RETURN number", 422, 'QueryError')
  expect(await rows("CREATE SEQUENCE own; SHOW LIST{NEXT('own'), NEXT('own')}")).toEqual([[1, 2]])
  await rows('CREATE SEQUENCE last START 9223372036854775807')
  const { text } = await server.post(fd.at('/v1/query'), { query: "SHOW NEXT('last')" })
  expect(text.replaceAll(/\s/g, '')).toBe('[9223372036854775807]')
  await expectRefused("SHOW NEXT('last')", 409, 'SequenceExhausted')
})

rule('6.3.5', 'no number is specified twice, whoever asks at the same time', async () => {
  await rows('CREATE SEQUENCE many')
  const drawn: number[] = []
  const draw = async (): Promise<void> => {
    for (let nth = 0; nth < 5; nth++) drawn.push((await rows("SHOW NEXT('many')"))[0])
  }
  await Promise.all([draw(), draw(), draw(), draw()])
  expect(new Set(drawn).size).toBe(20)
  expect((await rows("SHOW NEXT('many')"))[0]).toBeGreaterThan(Math.max(...drawn))
})

rule('6.3.8', 'an archive has sequences with their next numbers', async () => {
  await rows('CREATE SEQUENCE kept START -9223372036854775808 STEP 7')
  await rows("SHOW NEXT('kept')")
  const { bytes } = await server.get(fd.at('/v1/export'))
  const files = new Map(readTar(gunzipSync(bytes)))
  expect(JSON.parse(String(files.get('archive.json')))).toMatchObject({ format: 'ashlar-archive', version: 2 })
  expect(JSON.parse(String(files.get('sequences.json')))).toContainEqual({
    name: 'kept',
    start: '-9223372036854775808',
    step: '7',
    next: '-9223372036854775801',
  })
})

rule('6.3.9', 'no word is reserved', async () => {
  await fd.define(classOf('Sequence', { start: 'integer', step: 'integer', restart: 'integer' }))
  await rows('CREATE Sequence {start: 1, step: 2, restart: 3}')
  expect(await rows('FROM Sequence WHERE restart = 3 RETURN start, step')).toEqual([{ start: 1, step: 2 }])
  await rows('CREATE Order {number: -1, next: 4}')
  expect(await rows('FROM Order WHERE next = 4 RETURN next')).toEqual([{ next: 4 }])
})

rule('6.3.7', 'sequences need rights on the whole federated database', async () => {
  const { app, token } = await openSecureServer({ aliases: ['fleet'] })
  const authorizations: Record<string, string> = {}
  for (const role of ['admin', 'designer', 'writer', 'reader']) authorizations[role] = await token({ roles: [role] })
  const role = {
    name: 'part',
    grants: [
      { on: { kind: 'all' }, actions: ['read', 'query'] },
      { on: { kind: 'namespace', namespace: 'Fleet' }, actions: ['create', 'update', 'delete', 'define', 'index'] },
    ],
  }
  const send = async (who: string, method: 'POST', url: string, payload: object) => {
    const headers = { authorization: authorizations[who] as string }
    return (await app.inject({ method, url, headers, payload })).statusCode
  }
  expect(await send('admin', 'POST', '/v1/security/role', role)).toBe(201)
  authorizations.part = await token({ roles: ['part'] })
  const statuses = async (query: string) => {
    const found: Record<string, number> = {}
    for (const who of Object.keys(authorizations)) {
      if (who !== 'admin') found[who] = await send(who, 'POST', '/v1/query?fdAlias=fleet', { query })
    }
    return found
  }
  expect(await send('admin', 'POST', '/v1/query?fdAlias=fleet', { query: 'CREATE SEQUENCE s' })).toBe(200)
  const toDefine = { designer: 200, writer: 403, reader: 403, part: 403 }
  expect(await statuses('SHOW SEQUENCES')).toEqual(toDefine)
  expect(await statuses('ALTER SEQUENCE s RESTART 9')).toEqual(toDefine)
  expect(await statuses("SHOW NEXT('s')")).toEqual({ designer: 403, writer: 200, reader: 403, part: 403 })
  expect(await statuses('DROP SEQUENCE s; CREATE SEQUENCE s')).toEqual(toDefine)
  await app.close()
})
