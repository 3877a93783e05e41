/** What survives when the server is killed while the schema changes, an index is built, objects are upgraded, batches run. */
import { expect, it } from 'vitest'
import { classOf, FdUnderTest } from '../contract/class-of.ts'
import {
  type Loose,
  type Reply,
  type ServerUnderTest,
  startServer,
  temporaryDirectory,
} from '../contract/server-under-test.ts'

const rounds = Math.ceil(3 * Number(process.env.ASHLAR_RUNS ?? 1))
const objects = 4_000
const batchSize = 10

/** Undefined where the server is gone before it answers. */
const answered = (sent: Promise<Reply>): Promise<Reply | undefined> => sent.catch(() => undefined)

async function batches(
  server: ServerUnderTest,
  fd: FdUnderTest,
  acknowledged: Set<number>,
  first: number,
): Promise<void> {
  for (let batch = first; ; batch++) {
    const operations = Array.from({ length: batchSize }, (_, i) => ({
      method: 'post',
      uri: '/v1/object',
      body: { class: 'Entry', attributes: { batch, nth: i } },
    }))
    const reply = await answered(server.post(fd.at('/v1/transaction'), operations))
    if (reply === undefined) return
    expect(reply.status, reply.text).toBe(200)
    acknowledged.add(batch)
  }
}

/** One change after the other, there and back, until the server is gone. */
async function changes(server: ServerUnderTest, fd: FdUnderTest): Promise<void> {
  const types = ['string', 'integer']
  for (let turn = 0; ; turn++) {
    const change = { attributesToChange: [{ attributeName: 'code', logicalType: types[turn % 2] }] }
    const reply = await answered(server.put(fd.at('/v1/schema/Item'), change))
    if (reply === undefined) return
    expect(reply.status, reply.text).toBe(201)
    const added = { attributesToAdd: [{ attributeName: `a${turn}`, logicalType: 'string' }] }
    if ((await answered(server.put(fd.at('/v1/schema/Item'), added))) === undefined) return
    const removed = { attributesToDelete: [`a${turn}`] }
    if ((await answered(server.put(fd.at('/v1/schema/Item'), removed))) === undefined) return
    const flags = { objectsPerSecond: 1_000_000 }
    if ((await answered(server.post(fd.at('/v1/tool'), { tool: 'UpgradeObjects', flags }))) === undefined) return
  }
}

async function indexes(server: ServerUnderTest, fd: FdUnderTest): Promise<void> {
  const body = { name: 'waited', indexedClass: 'Item', isUnique: false, keyAttributes: [{ attributeName: 'nr' }] }
  for (;;) {
    if ((await answered(server.post(fd.at('/v1/index'), body))) === undefined) return
    if ((await answered(server.delete(fd.at('/v1/index/waited')))) === undefined) return
  }
}

async function background(server: ServerUnderTest, fd: FdUnderTest, round: number): Promise<void> {
  const body = {
    name: `background${round}`,
    indexedClass: 'Item',
    isUnique: true,
    keyAttributes: [{ attributeName: 'nr' }],
  }
  const options = { body, headers: { prefer: 'respond-async' } }
  expect((await server.send('POST', fd.at('/v1/index'), options)).status).toBe(202)
}

async function check(
  server: ServerUnderTest,
  fd: FdUnderTest,
  acknowledged: ReadonlySet<number>,
  round: number,
): Promise<void> {
  for (;;) {
    const records: Loose[] = (await server.get(fd.at('/v1/index'))).json
    // What was waited for is finished or gone; what was not goes on.
    for (const { name, state } of records)
      if (!name.startsWith('background')) expect([name, state]).toEqual([name, 'ready'])
    const own = records.find(({ name }) => name === `background${round}`)
    if (own?.state === 'building') continue
    expect(own).toMatchObject({ state: 'ready', entryCount: objects })
    break
  }
  expect((await server.post(fd.at('/v1/tool'), { tool: 'Verify' })).json).toMatchObject({
    returnCode: 0,
    toolError: '',
  })
  const ask = async (query: string): Promise<Loose[]> => (await server.post(fd.at('/v1/query'), { query })).json
  const stored = await ask('FROM Entry GROUP BY batch RETURN batch, COUNT() AS n')
  for (const { batch, n } of stored) expect([batch, n]).toEqual([batch, batchSize])
  const numbers = new Set(stored.map(({ batch }) => batch))
  expect([...acknowledged].filter((batch) => !numbers.has(batch))).toEqual([])
  expect(await ask('FROM Item WHERE CAST(CAST(code AS String) AS Integer) != nr RETURN COUNT() AS n')).toEqual([
    { n: 0 },
  ])
  expect(await ask('FROM Item RETURN COUNT() AS n')).toEqual([{ n: objects }])
}

it(
  `kill -9 amid changes of every kind, ${rounds} times: consistent afterwards, and builds go on`,
  async () => {
    const data = temporaryDirectory()
    let server = await startServer({ words: ['--fd', 'main'], data })
    let fd = new FdUnderTest(server, 'main')
    await fd.define(
      classOf('Item', { nr: 'integer', code: 'integer' }),
      classOf('Entry', { batch: 'integer', nth: 'integer' }),
    )
    await fd.index('byCode', 'Item', false, 'code')
    const parameters = { numbers: Array.from({ length: objects }, (_, i) => i) }
    const fill = 'FOR EACH n IN $numbers => (CREATE Item {nr: $n, code: $n})'
    expect((await server.post(fd.at('/v1/query'), { query: fill, parameters })).status).toBe(200)
    const acknowledged = new Set<number>()
    for (let round = 0; round < rounds; round++) {
      const target = acknowledged.size + 5 + round * 6
      const working = [batches(server, fd, acknowledged, round * 100_000), changes(server, fd), indexes(server, fd)]
      await background(server, fd, round)
      while (acknowledged.size < target) await new Promise((resolve) => setTimeout(resolve, 1))
      await server.end('SIGKILL')
      await Promise.all(working)
      server = await startServer({ words: ['--fd', 'main'], data })
      fd = new FdUnderTest(server, 'main')
      await check(server, fd, acknowledged, round)
      await server.delete(fd.at(`/v1/index/background${round}`))
      // Where the stop left the type of codes, the next round begins with the other one.
      const { attributes } = (await server.get(fd.at('/v1/schema/Item'))).json
      const isText = attributes.find(({ attributeName }: Loose) => attributeName === 'code').logicalType === 'string'
      if (isText) {
        const back = { attributesToChange: [{ attributeName: 'code', logicalType: 'integer' }] }
        expect((await server.put(fd.at('/v1/schema/Item'), back)).status).toBe(201)
      }
      const left = attributes
        .map(({ attributeName }: Loose) => attributeName)
        .filter((name: string) => /^a\d+$/.test(name))
      if (left.length > 0) await server.put(fd.at('/v1/schema/Item'), { attributesToDelete: left })
    }
    await server.remove()
  },
  60_000 * Math.max(5, rounds),
)
