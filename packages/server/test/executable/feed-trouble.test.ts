/** Followers of changes whose server is killed, has two workers, shares its store, or loses its log meanwhile. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { AshlarClient, type ChangeRecord } from '@ashlar/client'
import { expect, onTestFinished } from 'vitest'
import { postgresOfRun } from '../../../../tools/postgres-of-run.ts'
import { rule } from '../contract/rule.ts'
import { killAll } from '../process-tree.ts'
import { ashlar, freePort, type Started, start, temporaryDirectory } from './process.ts'

const port = {
  className: 'Port',
  isReferenceable: true,
  attributes: [
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'count', logicalType: 'integer' },
  ],
}

async function killed({ child }: Started): Promise<void> {
  const ended = once(child, 'exit')
  killAll(child.pid as number)
  await ended
}

/** What a follower is told, until `isOver` and all of it was told. */
class Follower {
  readonly told: ChangeRecord[] = []
  private readonly stopping = new AbortController()
  private readonly done: Promise<void>

  constructor(client: AshlarClient) {
    onTestFinished(() => this.stopping.abort(new Error('over')))
    this.done = (async () => {
      const asked = { since: 'first', wait: 1, signal: this.stopping.signal }
      for await (const change of client.followChanges(asked)) this.told.push(change)
    })().catch((error: Error) => {
      if (!this.stopping.signal.aborted) throw error
    })
  }

  async reaches(count: number): Promise<void> {
    while (this.told.filter(({ change }) => change !== 'schema').length < count) {
      await Promise.race([delay(20), this.done])
    }
  }

  async until(count: number): Promise<void> {
    await this.reaches(count)
    this.stopping.abort(new Error('over'))
    await this.done
  }
}

/** Creates objects and changes them, over failures, until it is stopped; what was acknowledged by OID: the counts in their order. */
async function write(
  client: AshlarClient,
  name: string,
  isOver: () => boolean,
  acknowledged = new Map<string, number[]>(),
): Promise<Map<string, number[]>> {
  for (let nth = 0; !isOver(); nth++) {
    try {
      const { __identifier__: oid } = await client.createObject('Port', { name: `${name} ${nth}`, count: 0 })
      acknowledged.set(oid, [0])
      for (const count of [1, 2]) {
        await client.updateObject(oid, { count })
        acknowledged.get(oid)?.push(count)
      }
    } catch {
      await delay(20)
    }
  }
  return acknowledged
}

/** Each acknowledged change once, in its order; others may have been made whose reply was lost. */
function expectTold(told: readonly ChangeRecord[], acknowledged: ReadonlyMap<string, readonly number[]>): void {
  const positions = told
    .filter(({ change }) => change !== 'schema')
    .map(({ position, ...rest }) => `${position} ${(rest as { oid: string }).oid}`)
  expect(new Set(positions).size).toBe(positions.length)
  const counts = new Map<string, number[]>()
  for (const change of told) {
    if (!('oid' in change) || change.change === 'linked' || change.change === 'unlinked') continue
    const { oid, after } = change as { oid: string; after?: { count?: number } }
    const list = counts.get(oid) ?? []
    counts.set(oid, [...list, after?.count ?? -1])
  }
  for (const [oid, wanted] of acknowledged)
    expect([oid, counts.get(oid)?.slice(0, wanted.length)]).toEqual([oid, wanted])
  for (const list of counts.values()) expect(list).toEqual([0, 1, 2].slice(0, list.length))
}

/** As many as there were: one for each object, and one for each time that it was changed. */
async function changesIn(client: AshlarClient): Promise<number> {
  const [row] = await client.query<{ n: number }>('FROM Port RETURN SUM(count) + COUNT() AS n')
  return row?.n ?? 0
}

interface Event {
  readonly name: string
  readonly id: string
  readonly data: Record<string, unknown>
}

/** Of a reply that goes on. */
class Events {
  private readonly lines: AsyncIterator<string>

  private constructor(response: IncomingMessage) {
    this.lines = createInterface({ input: response })[Symbol.asyncIterator]()
    onTestFinished(() => void response.destroy())
  }

  static async open(url: string): Promise<Events> {
    const sent = get(url, { headers: { accept: 'text/event-stream' }, agent: false })
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(200)
    return new Events(response)
  }

  async next(): Promise<Event> {
    let [name, id] = ['', '']
    for (;;) {
      const { value, done } = await this.lines.next()
      if (done === true) throw new Error('the events have ended')
      if (value.startsWith('id: ')) id = value.slice(4)
      if (value.startsWith('event: ')) name = value.slice(7)
      if (value.startsWith('data: ')) return { name, id, data: JSON.parse(value.slice(6)) }
    }
  }
}

rule('2.4.1', 'who follows is told everything once over kills of the server and of its workers', async () => {
  const [directory, number] = [temporaryDirectory(), String(await freePort())]
  const words = ['serve', '--port', number, '--data', join(directory, 'data'), '--workers', '2', '--log-level', 'error']
  const client = new AshlarClient({ baseUrl: `http://127.0.0.1:${number}`, retriesMax: 20 })
  let server = start(words, {}, directory)
  await server.url
  await client.defineClasses([port])
  let isOver = false
  const acknowledged = new Map<string, number[]>()
  const writers = ['a', 'b', 'c', 'd'].map((name) => write(client, name, () => isOver, acknowledged))
  const followers = [new Follower(client), new Follower(client)]
  const more = async (): Promise<void> => {
    for (const before = acknowledged.size; acknowledged.size < before + 15; ) await delay(10)
  }
  for (let nth = 0; nth < 3; nth++) {
    await more()
    await killed(server)
    server = start(words, {}, directory)
    await server.url
  }
  await more()
  isOver = true
  await Promise.all(writers)
  const made = await changesIn(client)
  for (const follower of followers) {
    await follower.until(made)
    expectTold(follower.told, acknowledged)
  }
  expect(followers[0]?.told).toEqual(followers[1]?.told)
})

rule('2.4.1', 'two servers on one PostgreSQL tell the same changes, in the same order', async () => {
  const store = `default=${postgresOfRun()}?schema=shared_feed&connections=4`
  const servers = [start(['serve', '--port', '0', '--fd', store]), start(['serve', '--port', '0', '--fd', store])]
  const clients: AshlarClient[] = []
  for (const { url } of servers) clients.push(new AshlarClient({ baseUrl: await url, retriesMax: 20 }))
  const [one, other] = clients as [AshlarClient, AshlarClient]
  await one.defineClasses([port])
  let isOver = false
  const followers = clients.map((client) => new Follower(client))
  const writers = clients.flatMap((client, at) =>
    ['a', 'b', 'c'].map((name) => write(client, `${name}${at}`, () => isOver)),
  )
  await Promise.all(followers.map((follower) => follower.reaches(60)))
  isOver = true
  const acknowledged = new Map((await Promise.all(writers)).flatMap((written) => [...written]))
  const made = await changesIn(other)
  for (const follower of followers) {
    await follower.until(made)
    expectTold(follower.told, acknowledged)
  }
  expect(followers[0]?.told).toEqual(followers[1]?.told)
})

rule(
  ['2.4.5', '2.4.6'],
  'a follower outlives a compaction and the removal of what it was told, but not the end of the log',
  async () => {
    const directory = temporaryDirectory()
    const limits = { changeLogMs: 1, changeLogRemovalMs: 50 }
    writeFileSync(join(directory, 'ashlar.json'), JSON.stringify({ limits }))
    const words = ['serve', '--port', '0', '--config', 'ashlar.json']
    const server = start(words, {}, directory)
    const url = await server.url
    const client = new AshlarClient({ baseUrl: url })
    await client.defineClasses([port])
    const events = await Events.open(`${url}/v1/changes?since=first`)
    const create = async (): Promise<string> => (await client.createObject('Port', { name: 'x' })).__identifier__
    const told: { id: string; oid: string }[] = []
    const toldOf = async (oid: string): Promise<void> => {
      for (;;) {
        const { name, id, data } = await events.next()
        if (name === 'error') throw new Error(String(data.message))
        if (name === 'change' && data.change !== 'schema') told.push({ id, oid: String(data.oid) })
        if (data.oid === oid) return
      }
    }
    const oids = [await create(), await create()]
    await toldOf(oids[1] ?? '')
    const [first] = told
    const page = (since: string): Promise<Response> => fetch(`${url}/v1/changes?since=${since}`)
    // It goes in the background.
    while ((await page(first?.id ?? '')).status === 200) {
      oids.push(await create())
      await delay(30)
    }
    await toldOf(oids.at(-1) ?? '')
    const headers = { accept: 'text/event-stream', 'last-event-id': first?.id ?? '' }
    const gone = await fetch(`${url}/v1/changes`, { headers })
    expect([gone.status, await gone.json()]).toEqual([
      410,
      expect.objectContaining({
        type: 'ChangesGone',
        message: expect.stringMatching(
          /^The position \S+ is before the oldest change that is kept\. Read the objects again, /,
        ),
      }),
    ])
    expect(await ashlar(['compact', 'lmdb:data/default'], { directory })).toMatchObject({ code: 0 })
    oids.push(await create())
    await toldOf(oids.at(-1) ?? '')
    expect(told.map(({ oid }) => oid)).toEqual(oids)
    // Another server on the same store turns the log off, for all of them.
    const second = start([...words, '--change-log', 'default=off'], {}, directory)
    await second.url
    await expect(toldOf('none')).rejects.toThrow(/keeps no log of its changes/)
    expect((await page('first')).status).toBe(409)
    expect((await fetch(`${url}/health/ready`)).status).toBe(200)
  },
)
