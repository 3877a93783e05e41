/** Of a statement that is refused, before it begins or at work, nothing is remembered: neither its key nor anything that it did. */
import { AshlarError } from '@ashlar/engine'
import { expect, vi } from 'vitest'
import { Admission } from '../../src/statements/admission.ts'
import { rule } from '../contract/rule.ts'
import { endless, open, type Running } from './endless-statements.ts'

const busy = () => new AshlarError('ServerBusy', 'refused by the test')

/** Where a statement may be refused. */
const refusals: Record<string, () => void> = {
  'before its body is read': () => {
    vi.spyOn(Admission.prototype, 'checkRoom').mockImplementationOnce(() => {
      throw busy()
    })
  },
  'before it begins': () =>
    void vi.spyOn(Admission.prototype, 'begin').mockImplementationOnce(() => Promise.reject(busy())),
  'at work': () =>
    void vi.spyOn(Admission.prototype, 'acquireSlot').mockImplementationOnce(() => Promise.reject(busy())),
}

const place = async ({ app }: Running, oid: string) => {
  const { headers, body } = await app.inject({ method: 'GET', url: `/v1/object/${oid}` })
  return { etag: String(headers.etag), name: JSON.parse(body).name as string }
}

/** Short, and with a long statement behind it. */
const bodiesOf = (oid: string, ifMatch: string, name: string, isLong: boolean): Record<string, unknown> => {
  const query = `UPDATE Place WHERE $$ID = ${oid} SET name TO '${name}'`
  const long = { method: 'POST', uri: '/v1/query', body: { query: endless } }
  const put = { method: 'PUT', uri: `/v1/object/${oid}`, ifMatch, body: { attributes: { name } } }
  return {
    '/v1/query': { query: isLong ? `${query}; ${endless}` : query },
    '/v1/transaction': isLong ? [put, long] : [put],
  }
}

rule(
  ['1.4.10', '1.6.5', '7.1.12'],
  'a refused statement has done nothing, and its key may be used for another',
  async () => {
    const running = await open()
    const { app } = running
    const rows = JSON.parse(
      (await running.send('POST', '/v1/query', 'FROM Place WHERE name = "p1" RETURN $$ID AS id')).text,
    )
    const oid = rows[0].id as string
    for (const [when, refuse] of Object.entries(refusals)) {
      const before = await place(running, oid)
      const refused = bodiesOf(oid, before.etag, `${when} lost`, true)
      for (const url of Object.keys(refused)) {
        const { etag, name } = await place(running, oid)
        const ask = (payload: unknown) =>
          app.inject({
            method: 'POST',
            url,
            payload: payload as object,
            headers: { 'idempotency-key': `${when} ${url}`.replaceAll(' ', '-') },
          })
        refuse()
        const first = await ask(bodiesOf(oid, etag, `${when} lost`, true)[url])
        vi.restoreAllMocks()
        expect([when, url, first.statusCode, first.headers['retry-after'], first.json().type]).toEqual([
          when,
          url,
          503,
          '1',
          'ServerBusy',
        ])
        expect(await place(running, oid)).toEqual({ etag, name })
        // Neither another body nor the condition is refused.
        const body = bodiesOf(oid, etag, `${when} ${url}`, false)[url]
        const second = await ask(body)
        expect([when, second.statusCode, second.headers['idempotent-replayed']]).toEqual([when, 200, undefined])
        expect((await place(running, oid)).name).toBe(`${when} ${url}`)
        expect((await ask(body)).headers['idempotent-replayed']).toBe('true')
      }
    }
    expect(JSON.parse((await running.get('/v1/statement')).text)).toEqual([])
  },
)
