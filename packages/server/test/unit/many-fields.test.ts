/** Objects of very many fields in a body, whose names are listed in one piece: no more than that takes little, and of parameters few. */
import { beforeEach, expect, test } from 'vitest'
import { type OpenServer, openServer } from './open-server.ts'

let server: OpenServer

beforeEach(async () => {
  // Names and values of so many fields are more than a query may have otherwise.
  server = await openServer({ limits: { objectValuesMax: 1_000_000 } })
})

function fields(count: number): string {
  return `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join()}}`
}

async function refusal(parameters: string): Promise<string> {
  const { statusCode, body } = await server.app.inject({
    method: 'POST',
    url: '/v1/query',
    headers: { 'content-type': 'application/json' },
    payload: `{"query":"FROM ooObj WHERE $p IS NULL RETURN COUNT()","parameters":${parameters}}`,
  })
  return `${statusCode} ${body}`
}

test('an object in a body has at most 100,000 fields', async () => {
  expect(await refusal(`{"p":${fields(100_001)}}`)).toMatch(/^413 .*BodyTooLarge.*100000 fields/)
})

test('a parameter of a query has at most 10,000 fields together, and a query as many parameters', async () => {
  expect(await refusal(`{"p":${fields(10_001)}}`)).toMatch(
    /^422 .*LimitExceeded.*Parameter p has more than 10000 fields/,
  )
  expect(await refusal(fields(10_001))).toMatch(/^422 .*LimitExceeded.*10000 parameters/)
  const nested = `[{"a":${fields(5_000)},"b":${fields(5_001)}}]`
  expect(await refusal(`{"p":${nested}}`)).toMatch(/^422 .*LimitExceeded.*Parameter p/)
})

test('the elements of a list have one type, whose fields count once', async () => {
  const many = `[${Array.from({ length: 300 }, () => fields(100)).join()}]`
  expect(await refusal(`{"p":${many}}`)).not.toContain('LimitExceeded')
})
