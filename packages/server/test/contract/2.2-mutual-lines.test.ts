/** Lines of a load that refer to each other forwards, and others that concern the same objects (contract 2.2.23). */
import { expect } from 'vitest'
import { classOf, type FdUnderTest, reference } from './class-of.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

async function load(parameters: string, ...lines: object[]): Promise<[number | undefined, string | undefined][]> {
  const raw = lines.map((line) => JSON.stringify(line)).join('\n')
  const headers = { 'content-type': 'application/x-ndjson' }
  const { text } = await server.send('POST', `${fd.at('/v1/object')}${parameters}`, { raw, headers })
  const replies = text
    .trim()
    .split('\n')
    .map((reply) => JSON.parse(reply))
  return replies.flatMap(({ line, error }) => (line === undefined ? [] : [[line, error?.type]]))
}

const create = (id: string, attributes: object) => ({ class: 'Part', id, attributes })
const to = (id: string) => `\${${id}}`
const update = (id: string, attributes: object) => ({
  method: 'put',
  uri: `/v1/object/${to(id)}`,
  body: { attributes },
})

rule('2.2.23', 'lines may change what lines that refer to each other have made, before and behind them', async () => {
  await fd.define(classOf('Part', { n: 'integer', next: { ...reference('Part'), onTargetDelete: 'restrict' } }))
  const ring = [create('a', { next: to('b') }), create('b', { next: to('a') })]
  expect(await load('&onError=skip', ...ring, update('a', { n: 1 }), update('a', { n: 2 }))).toEqual([
    [1, undefined],
    [2, undefined],
    [3, undefined],
    [4, undefined],
  ])
  const [first, second] = ring as [object, object]
  expect(await load('&onError=skip', first, update('a', { n: 1 }), second)).toEqual([
    [1, undefined],
    [2, 'LimitExceeded'],
    [3, undefined],
  ])
  const other = await fd.create('Part', {})
  const deletion = { method: 'delete', uri: `/v1/object/${other}` }
  expect(await load('&onError=skip', first, deletion, second)).toEqual([
    [1, undefined],
    [2, 'LimitExceeded'],
    [3, undefined],
  ])
  expect((await server.get(fd.at(`/v1/object/${other}`))).status).toBe(200)
})
