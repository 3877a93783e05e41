/** The servers written by hand do the work that they are measured for, all of them the same. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresOfRun } from '../../tools/postgres-of-run.ts'
import type { ChildServer } from '../child-server.ts'
import { buildServers, byHand, byHandOn } from '../contenders/by-hand.ts'
import type { ContenderKind, Place, RequestForms } from '../contenders/contender.ts'
import { databasesOf } from '../contenders/databases.ts'
import type { BenchRequest } from '../load/load.ts'
import { vehicle } from '../vehicles.ts'

beforeAll(buildServers)

const kinds: Record<string, () => ContenderKind> = {
  'node:http + lmdb': () => byHand('lmdb', 'http-lmdb'),
  'Fastify + SQLite': () => byHand('sqlite', 'fastify-sqlite'),
  'Fastify + PostgreSQL': () => byHandOn(databasesOf(postgresOfRun()), []),
}

describe.each(Object.entries(kinds))('%s', (_name, kindOf) => {
  let kind: ContenderKind
  let place: Place | undefined
  let server: ChildServer | undefined
  let forms: RequestForms

  afterAll(async () => {
    await server?.stop()
    await place?.remove()
  })

  async function start(): Promise<void> {
    kind = kindOf()
    place ??= await kind.freshPlace()
    server = await kind.start(place, undefined)
    forms = await kind.setUp(server.url)
  }

  async function ask({ method, path, body }: BenchRequest): Promise<{ status: number; text: string }> {
    const content = body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }
    const reply = await fetch(`${server?.url}${path}`, { method, ...content })
    return { status: reply.status, text: await reply.text() }
  }

  async function json(request: BenchRequest): Promise<unknown> {
    const { status, text } = await ask(request)
    expect(status, text).toBeLessThan(300)
    return JSON.parse(text)
  }

  it('creates, reads, finds, updates and deletes, keeps the unique key and the reference, and has it all after a restart', async () => {
    await start()
    const ids = (await json(forms.createMany([vehicle(0), vehicle(45), vehicle(1)]))) as number[]
    const [first, second] = ids.map(String) as [string, string]
    const shown = (nth: number, id: number | undefined) => ({ id, ...vehicle(nth) })
    expect(await json(forms.read(first))).toEqual(shown(0, ids[0]))
    expect(await json(forms.equality('L-45'))).toEqual([shown(45, ids[1])])
    expect(await json(forms.equality('L-7'))).toEqual([])
    expect(await json(forms.range(1980))).toEqual([shown(0, ids[0]), shown(45, ids[1])])
    expect(await json(forms.makers(1981))).toEqual([{ license: 'L-1', model: 'model 1', maker: 'maker 1' }])

    const { id } = (await json(forms.create(vehicle(2)))) as { id: number }
    expect((await ask(forms.create(vehicle(2)))).status).toBeGreaterThanOrEqual(400)
    expect((await ask(forms.create({ ...vehicle(3), model: 99 }))).status).toBeGreaterThanOrEqual(400)
    expect((await ask(forms.update(first, 12_345))).status).toBe(204)
    expect((await ask(forms.remove(second))).status).toBe(204)
    expect((await ask(forms.read(second))).status).toBe(404)
    expect(await json(forms.range(1980))).toEqual([{ ...shown(0, ids[0]), mileage: 12_345, available: true }])

    await server?.stop()
    await start()
    const lines = (await ask(forms.everything)).text.trim().split('\n')
    const licenses = lines.map((line) => JSON.parse(line).license)
    expect(licenses.toSorted()).toEqual(['L-0', 'L-1', 'L-2'])
    expect(await json(forms.read(String(id)))).toEqual(shown(2, id))
  })
})
