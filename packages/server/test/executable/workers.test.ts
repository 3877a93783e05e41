/** Several processes behind one port: they see each other's changes at once, replace who dies, and end together. */
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { isAlive } from '../process-tree.ts'
import { type Started, start } from './process.ts'

const gadget = {
  className: 'Gadget',
  isReferenceable: true,
  attributes: [{ attributeName: 'name', logicalType: 'string' }],
}
const byName = { name: 'byName', indexedClass: 'Gadget', isUnique: true, keyAttributes: [{ attributeName: 'name' }] }

type Loose = ReturnType<typeof JSON.parse>

interface Answer {
  readonly status: number
  readonly body: Loose
}

/** A connection of its own: connections go to the workers in turn. */
class Connection {
  private readonly url: string
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(url: string) {
    this.url = url
  }

  send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const type = body === undefined ? {} : { 'content-type': 'application/json' }
      const options = { method, agent: this.agent, headers: { ...type, ...headers } }
      const sent = request(`${this.url}${path}`, options, async (response) => {
        const hasBody = response.headers['content-length'] !== '0' && response.statusCode !== 204
        const answer = hasBody ? await json(response).catch(reject) : response.resume() && undefined
        resolve({ status: response.statusCode ?? 0, body: answer })
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }
}

interface LogLine {
  readonly msg: string
  readonly worker?: number
  readonly pid?: number
}

function logOf(text: string): LogLine[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine)
}

/** By number, as the log tells it. */
async function workersOf({ log }: Started, count: number): Promise<Map<number, number>> {
  for (;;) {
    // Under load there are many lines between those that are asked for.
    const lines = log().match(/^.*"a worker serves".*$/gm) ?? []
    if (lines.length >= count) return new Map(logOf(lines.join('\n')).map(({ worker = 0, pid = 0 }) => [worker, pid]))
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

async function gone(pids: Iterable<number>): Promise<void> {
  for (const pid of pids) while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5))
}

const scale = Math.max(1, Number(process.env.ASHLAR_RUNS ?? 1))
const rounds = 60 * scale
const kills = 2 * scale

const startTwo = (...words: string[]): Started => start(['--port', '0', '--workers', '2', ...words])
const onPostgres = (): string[] => ['--fd', `default=${postgresOfRun()}?schema=test_${randomBytes(8).toString('hex')}`]

describe.each([
  ['LMDB', () => [] as string[]],
  ['PostgreSQL', onPostgres],
])('workers on %s', (_, place) => {
  it(
    'each sees at once what the other has changed, objects and schema; no OID and no unique key comes twice',
    async () => {
      const server = startTwo(...place())
      const url = await server.url
      const [one, other] = [new Connection(url), new Connection(url)]
      expect((await one.send('PUT', '/v1/schema', [gadget])).status).toBe(201)
      expect((await other.send('GET', '/v1/schema/Gadget')).body.className).toBe('Gadget')
      expect((await other.send('POST', '/v1/index', byName)).status).toBe(201)
      const oids = new Set<string>()
      for (let nth = 0; nth < rounds; nth++) {
        const [writer, reader] = nth % 2 === 0 ? [one, other] : [other, one]
        const name = `n${nth}`
        const created = await writer.send('POST', '/v1/object', { class: 'Gadget', attributes: { name } })
        expect(created.status).toBe(201)
        const oid = created.body.__identifier__ as string
        oids.add(oid)
        expect((await reader.send('GET', `/v1/object/${oid}`)).body).toMatchObject({ name })
        const again = await reader.send('POST', '/v1/object', { class: 'Gadget', attributes: { name } })
        expect([again.status, again.body.type]).toEqual([409, 'UniqueViolation'])
      }
      expect(oids.size).toBe(rounds)
      const more = { attributesToAdd: [{ attributeName: 'more', logicalType: 'integer' }] }
      expect((await one.send('PUT', '/v1/schema/Gadget', more)).status).toBe(201)
      expect((await other.send('GET', `/v1/object/${[...oids][0]}`)).body).toMatchObject({ more: 0 })
      server.child.kill('SIGTERM')
      const { code, stdout, stderr } = await server.ended
      expect(code).toBe(0)
      expect(stdout).toMatch(/^Ashlar [^\n]+ · 2 workers · FDs: default [^\n]+\nAuthentication is off: [^\n]+\n$/)
      const busy = new Set(
        logOf(stderr)
          .filter(({ msg }) => msg === 'request')
          .map(({ worker }) => worker),
      )
      expect([...busy].sort()).toEqual([1, 2])
    },
    300_000 * scale,
  )
})

// On LMDB the next test shows it, under load.
it(
  'on PostgreSQL one that is killed is replaced; nothing that was acknowledged is lost, the port stays',
  async () => {
    const server = startTwo(...onPostgres())
    const url = await server.url
    await new Connection(url).send('PUT', '/v1/schema', [gadget])
    const acknowledged: string[] = []
    for (let killed = 1; killed <= kills; killed++) {
      for (let nth = 0; nth < 20; nth++) {
        const attributes = { name: `${killed} ${nth}` }
        const created = await new Connection(url).send('POST', '/v1/object', { class: 'Gadget', attributes })
        acknowledged.push(created.body.__identifier__)
      }
      const workers = await workersOf(server, killed + 1)
      process.kill(workers.get(killed) ?? 0, 'SIGKILL')
      await workersOf(server, killed + 2)
    }
    for (const oid of acknowledged)
      expect((await new Connection(url).send('GET', `/v1/object/${oid}`)).status).toBe(200)
    expect(new Set(acknowledged).size).toBe(kills * 20)
    const verified = await new Connection(url).send('POST', '/v1/tool', { tool: 'Verify' })
    expect(verified.body).toMatchObject({ returnCode: 0 })
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  },
  300_000 * scale,
)

/** Creates one object after another until it is over, and notes those that were acknowledged. */
async function createAlong(url: string, client: number, created: string[], isOver: () => boolean): Promise<void> {
  let connection = new Connection(url)
  for (let nth = 0; !isOver(); nth++) {
    const attributes = { name: `${client} ${nth}` }
    const sent = connection.send('POST', '/v1/object', { class: 'Gadget', attributes })
    const answer = await sent.catch(() => 'broken' as const)
    if (answer === 'broken') connection = new Connection(url)
    else if (answer.status === 201) created.push(answer.body.__identifier__)
    else throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  }
}

it(
  'on LMDB workers that are killed and replaced under load, one after the other, lose nothing',
  async () => {
    const server = start(['--port', '0', '--workers', '3'])
    const url = await server.url
    await new Connection(url).send('PUT', '/v1/schema', [gadget])
    const created: string[] = []
    let isOver = false
    const clients = Array.from({ length: 6 }, (_, client) => createAlong(url, client, created, () => isOver))
    for (let killed = 1; killed <= kills; killed++) {
      const workers = await workersOf(server, killed + 2)
      process.kill(workers.get(killed) ?? 0, 'SIGKILL')
    }
    await workersOf(server, kills + 3)
    isOver = true
    await Promise.all(clients)
    const reader = new Connection(url)
    const lost: string[] = []
    for (const oid of created) if ((await reader.send('GET', `/v1/object/${oid}`)).status !== 200) lost.push(oid)
    expect(lost).toEqual([])
    expect(new Set(created).size).toBe(created.length)
    const verified = await reader.send('POST', '/v1/tool', { tool: 'Verify' })
    expect(verified.body).toMatchObject({ returnCode: 0 })
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  },
  300_000 * scale,
)

it('a connection that a worker has not taken over when it is killed is reset, and does not hang', async () => {
  const server = startTwo()
  const url = await server.url
  const [stopped = 0] = (await workersOf(server, 2)).values()
  process.kill(stopped, 'SIGSTOP')
  let answered = 0
  // One is handed to the worker that is stopped, which takes no other until it has taken that; the others get the rest.
  const outcomes = Array.from({ length: 5 }, async () => {
    const answer = await new Connection(url).send('GET', '/').catch((error: NodeJS.ErrnoException) => error.code)
    answered++
    return typeof answer === 'object' ? answer.status : answer
  })
  while (answered < 4) await new Promise((resolve) => setTimeout(resolve, 5))
  process.kill(stopped, 'SIGKILL')
  expect((await Promise.all(outcomes)).sort()).toEqual([200, 200, 200, 200, 'ECONNRESET'])
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

it('the port stays also when all workers are killed at once', async () => {
  const server = startTwo()
  const url = await server.url
  for (const pid of (await workersOf(server, 2)).values()) process.kill(pid, 'SIGKILL')
  await workersOf(server, 4)
  expect((await new Connection(url).send('GET', '/')).body).toMatchObject({ versions: ['v1'] })
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

it('a run of a tool and a statement are told by every worker, and a statement is stopped by any of them', async () => {
  const server = startTwo()
  const url = await server.url
  const asked = await new Connection(url).send('POST', '/v1/tool', { tool: 'Verify' }, { prefer: 'respond-async' })
  expect(asked.status).toBe(202)
  for (let nth = 0; nth < 4; nth++) {
    const tools = (await new Connection(url).send('GET', '/v1/tool')).body as Loose[]
    expect(tools.find(({ name }) => name === 'Verify').runs).toMatchObject([{ tool: 'Verify', fdAlias: 'default' }])
  }
  await fillMap(new Connection(url))
  const query = 'MATCH (p:Place)-[:roads*1..30]->(q) GROUP BY q.name RETURN COUNT()'
  // Connections go to the workers in turn: one at least is at another than the one that is asked to stop them.
  const answers = [0, 1].map(() => new Connection(url).send('POST', '/v1/query', { query }))
  const other = new Connection(url)
  const listed = async (): Promise<string[]> =>
    ((await other.send('GET', '/v1/statement')).body as Loose[]).map(({ id }) => id)
  await expect.poll(listed, { interval: 5 }).toHaveLength(2)
  for (const id of await listed()) expect((await other.send('DELETE', `/v1/statement/${id}`)).status).toBe(204)
  for (const { status, body } of await Promise.all(answers)) {
    expect([status, body.type]).toEqual([409, 'StatementStopped'])
  }
  expect((await other.send('DELETE', '/v1/statement/none')).status).toBe(404)
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

/** Places with a way from each to each: there are more walks than anybody could wait for. */
async function fillMap(connection: Connection): Promise<void> {
  const roads = { logicalType: 'list', elementSpecification: { logicalType: 'reference', referencedClass: 'Place' } }
  const attributes = [
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'roads', ...roads },
  ]
  await connection.send('PUT', '/v1/schema', [{ className: 'Place', isReferenceable: true, attributes }])
  const oids: string[] = []
  for (let i = 0; i < 12; i++) {
    const place = { class: 'Place', attributes: { name: `p${i}` } }
    oids.push((await connection.send('POST', '/v1/object', place)).body.__identifier__)
  }
  for (const oid of oids) await connection.send('PUT', `/v1/object/${oid}`, { attributes: { roads: oids } })
}

it('they tell one uptime, and end together by POST /shutdown to any of them', async () => {
  const server = startTwo('--allow-shutdown')
  const url = await server.url
  const workers = await workersOf(server, 2)
  const ups: number[] = []
  for (let nth = 0; nth < 4; nth++) ups.push((await new Connection(url).send('GET', '/')).body.uptime)
  expect(ups).toEqual([...ups].sort((one, other) => one - other))
  expect((await new Connection(url).send('POST', '/shutdown')).status).toBe(204)
  expect((await server.ended).code).toBe(0)
  await gone(workers.values())
})

it('they end when the process that started them is killed', async () => {
  const server = startTwo()
  await server.url
  const workers = await workersOf(server, 2)
  server.child.kill('SIGKILL')
  await gone(workers.values())
  expect((await server.ended).code).toBe(null)
})

it.each([
  [['--fd', 'a=memory:'], /^ashlar: The federated database a is kept in memory, which 2 workers cannot share\.\n$/],
  [['--workers', '257'], /^ashlar: '257' is not a number of workers \(0 to 256\)\.\n$/],
  [['--fd', 'a=other:x'], /^ashlar: The federated database a \(other:x\) cannot be opened: [^\n]*\n$/],
])('where %j, it says why in one line, and ends with 1', async (words, message) => {
  const { code, stdout, stderr } = await startTwo('--log-level', 'silent', ...words).ended
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(message)
})

it('where the number of workers is none, it is a mistake on the command line', async () => {
  const { code, stdout, stderr } = await startTwo('--workers', 'many').ended
  expect([code, stdout, stderr]).toEqual([2, '', 'ashlar: --workers is a number of workers, not "many".\n'])
})

it('a port in use is told in one line', async () => {
  const first = startTwo()
  const { port } = new URL(await first.url)
  const { code, stderr } = await start(['--port', port, '--workers', '2', '--log-level', 'silent']).ended
  expect([code, stderr]).toEqual([1, `ashlar: Port ${port} of 127.0.0.1 is in use; choose another with --port.\n`])
  first.child.kill('SIGTERM')
  expect((await first.ended).code).toBe(0)
})
