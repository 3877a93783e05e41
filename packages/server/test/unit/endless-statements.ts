/** A server in this process with statements that do not end by themselves. */
import { type ClientRequest, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FederatedDatabase } from '@ashlar/engine'
import { expect, onTestFinished } from 'vitest'
import type { Limits } from '../../src/limits.ts'
import type { StatementRecord } from '../../src/statements/statement.ts'
import { LogLines } from './log-lines.ts'
import { openServer, type TestServer } from './open-server.ts'

/** It goes through more walks than anybody could wait for, and sorts them. */
export const endless = 'MATCH (p:Place)-[:roads*1..30]->(q) ORDER BY q.name RETURN q.name'
/** The same without end, sent as they are found. */
export const unsorted = 'MATCH (p:Place)-[:roads*1..30]->(q) RETURN q.name'
export const short = 'FROM Place WHERE name = "p3" RETURN name'

export interface Running {
  readonly app: TestServer
  readonly federatedDatabases: readonly FederatedDatabase[]
  readonly url: string
  readonly log: LogLines
  get(path: string): Promise<Answer>
  send(method: string, path: string, query?: string, accept?: string): Promise<Answer>
  /** The request, and its answer; rejected where it breaks off. */
  start(
    query: string,
    accept?: string,
    parameters?: string,
  ): { readonly sent: ClientRequest; readonly answer: Promise<Answer> }
  /** Once there are so many, in this state. */
  listed(count: number, state?: StatementRecord['state']): Promise<readonly StatementRecord[]>
}

interface Answer {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly text: string
}

export async function open(limits: Partial<Limits> = {}): Promise<Running> {
  const log = new LogLines()
  const { app, federatedDatabases } = await openServer({
    limits: { pathExpansionsMax: 1e12, sortedRowsMax: 1e12, statementBytesMax: 1e12, walkEdgesMax: 30, ...limits },
    onLog: log.take,
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const asked = new Set<ClientRequest>()
  onTestFinished(() => {
    for (const sent of asked) sent.destroy()
  })
  const start = (method: string, path: string, query?: string, accept = 'application/json') => {
    const type = query === undefined ? {} : { 'content-type': 'text/plain' }
    const sent = request(`${url}${path}`, { method, agent: false, headers: { accept, ...type } })
    asked.add(sent)
    const answer = new Promise<Answer>((resolve, reject) => {
      sent.on('error', reject).on('response', (response) => {
        text(response).then((body) => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: body })
        }, reject)
      })
    })
    answer.catch(() => undefined)
    sent.end(query)
    return { sent, answer }
  }
  const running: Running = {
    app,
    federatedDatabases,
    url,
    log,
    get: (path) => start('GET', path).answer,
    send: (...given) => start(...given).answer,
    start: (query, accept, parameters = '') => start('POST', `/v1/query${parameters}`, query, accept),
    async listed(count, state) {
      for (;;) {
        const records = JSON.parse((await running.get('/v1/statement')).text) as StatementRecord[]
        if (records.length === count && records.every((one) => state === undefined || one.state === state))
          return records
        await nextTurn()
      }
    },
  }
  await fill(running)
  return running
}

async function fill({ app }: Running): Promise<void> {
  const roads = { logicalType: 'list', elementSpecification: { logicalType: 'reference', referencedClass: 'Place' } }
  const attributes = [
    { attributeName: 'name', logicalType: 'string' },
    { attributeName: 'roads', ...roads },
  ]
  const payload = [{ className: 'Place', isReferenceable: true, attributes }]
  expect((await app.inject({ method: 'PUT', url: '/v1/schema', payload })).statusCode).toBe(201)
  const oids: string[] = []
  for (let i = 0; i < 12; i++) {
    const payload = { class: 'Place', attributes: { name: `p${i}` } }
    oids.push((await app.inject({ method: 'POST', url: '/v1/object', payload })).json().__identifier__)
  }
  for (const oid of oids) {
    const payload = { attributes: { roads: oids } }
    expect((await app.inject({ method: 'PUT', url: `/v1/object/${oid}`, payload })).statusCode).toBe(204)
  }
}
