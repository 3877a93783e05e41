/** Attributes that have objects are given rules for deletions, over HTTP. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, FdUnderTest, list, reference, set } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Loose, type Reply, startServer, temporaryDirectory } from './server-under-test.ts'

const objects = 400
const data = temporaryDirectory()
const config = join(data, 'ashlar.json')
writeFileSync(config, JSON.stringify({ limits: { transactionIndexObjectsMax: 100, indexBuildBatchObjects: 20 } }))
let fd: FdUnderTest

async function start(): Promise<void> {
  fd = new FdUnderTest(await startServer({ words: ['--fd', 'rules', '--config', config], data }), 'rules')
}

beforeAll(async () => {
  await start()
  await fd.define(
    classOf('Part', { n: 'integer', uses: list(reference('Use', 'part')) }),
    classOf('Use', {
      n: 'integer',
      one: reference('Part'),
      many: set(reference('Part')),
      part: { ...reference('Part', 'uses'), onTargetDelete: 'restrict' },
    }),
  )
})
afterAll(() => fd.server.remove())

function query(text: string, parameters: object = {}): Promise<Reply> {
  return fd.server.post(fd.at('/v1/query'), { query: text, parameters })
}

function remove(oid: string, more = ''): Promise<Reply> {
  return fd.server.delete(`${fd.at(`/v1/object/${oid}`)}${more}`)
}

const toConstrain = (attributeName: string, more: object) => ({ attributesToConstrain: [{ attributeName, ...more }] })

function alter(change: object, more = ''): Promise<Reply> {
  return fd.server.put(`${fd.at('/v1/schema/Use')}${more}`, change)
}

/** A part, and so many who refer to it by `one` and `many`. */
async function used(): Promise<string> {
  const part = await fd.create('Part')
  const numbers = Array.from({ length: objects }, (_, i) => i)
  const text = `FOR EACH n IN $numbers => (CREATE Use {n: $n, one: ${part}, many: SET{${part}}})`
  const made = await query(text, { numbers })
  expect(made.status, made.text).toBe(200)
  return part
}

async function expectVerified(): Promise<void> {
  const verified = await fd.server.post(fd.at('/v1/tool'), { tool: 'Verify' })
  expect(verified.json).toMatchObject({ returnCode: 0, toolError: '' })
}

rule('10.4.13', 'of any number, and in a transaction of no more than transactionIndexObjectsMax', async () => {
  const part = await used()
  const restricted = toConstrain('one', { onTargetDelete: 'restrict' })
  const step = { method: 'put', uri: '/v1/schema/Use', body: restricted }
  expectProblem(await fd.server.post(fd.at('/v1/transaction'), [step]), 422, 'LimitExceeded')
  const asText = await query('UPDATE SCHEMA {ALTER CLASS Use {ALTER one {OnTargetDelete: restrict}}}')
  expectProblem(asText, 422, 'LimitExceeded')
  expect((await alter(restricted, '&dryRun=true')).status).toBe(200)
  expect((await remove(part, '&dryRun=true')).status).toBe(200)
  expect((await alter(restricted)).status).toBe(201)
  const refused = await remove(part)
  expectProblem(refused, 409, 'DeleteRestricted')
  expect(refused.json.references).toMatchObject([{ className: 'Use', attributeName: 'one', count: objects }])
  expect((await alter(toConstrain('one', { onTargetDelete: 'keep' }))).status).toBe(201)
  expect((await alter(toConstrain('many', { elementSpecification: { onTargetDelete: 'clear' } }))).status).toBe(201)
  await fd.remove(part)
  for (const oid of refused.json.references[0].oids) expect((await fd.read(oid)).many).toEqual([])
  await expectVerified()
})

rule('10.4.13', 'as the inverse that told who refers is removed', async () => {
  const part = await fd.create('Part')
  expect((await query(`UPDATE Use SET part TO ${part}`)).status).toBe(200)
  const change = { attributesToChange: [{ attributeName: 'part', ...reference('Part') }] }
  expect((await alter(change, '&cascade=true')).status).toBe(201)
  expect((await remove(part)).json.references).toMatchObject([{ attributeName: 'part', count: objects }])
  await expectVerified()
})

rule('10.4.13', 'in whole or not at all, if the server is killed', async () => {
  const part = await used()
  for (let round = 0; round < 3; round++) {
    expect((await alter(toConstrain('one', { onTargetDelete: 'keep' }))).status).toBe(201)
    const reply = alter(toConstrain('one', { onTargetDelete: 'restrict' })).catch(() => undefined)
    for (let i = 0; i < 2 * round; i++) await fd.server.get('/')
    await fd.server.end('SIGKILL')
    const isAnswered = (await reply)?.status === 201
    await start()
    const { attributes } = (await fd.server.get(fd.at('/v1/schema/Use'))).json
    const { onTargetDelete } = attributes.find((one: Loose) => one.attributeName === 'one')
    if (isAnswered) expect(onTargetDelete).toBe('restrict')
    await expectVerified()
    expect((await remove(part, '&dryRun=true')).status).toBe(onTargetDelete === 'restrict' ? 409 : 200)
  }
})
