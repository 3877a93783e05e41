/** Contract 2.2.29: the slow-query log. */
import { expect } from 'vitest'
import { defineGadget, openServer } from '../unit/open-server.ts'
import { rule } from './rule.ts'

interface Line {
  readonly msg: string
  readonly [name: string]: unknown
}

/** Every query takes longer. */
const limits = { slowQueryMs: 1e-6 }

async function openSlow() {
  const lines: string[] = []
  const opened = await openServer({ aliases: ['fleet'], limits, onLog: (line) => lines.push(line) })
  await defineGadget(opened.app)
  for (const name of ['top secret', 'other']) {
    const payload = { class: 'Shop.Gadget', attributes: { name, size: 2071819283 } }
    expect((await opened.app.inject({ method: 'POST', url: '/v1/object', payload })).statusCode).toBe(201)
  }
  const ask = (payload: object) => opened.app.inject({ method: 'POST', url: '/v1/query', payload })
  const slow = async (count: number): Promise<Line[]> => {
    let found: Line[] = []
    while (found.length < count) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      found = lines.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === 'slow query')
    }
    return found
  }
  return { ...opened, ask, slow, lines }
}

rule('2.2.29', 'a line with what the query took, and its plan', async () => {
  const { ask, slow } = await openSlow()
  const reply = await ask({ query: "FROM Shop.Gadget WHERE name = 'top secret' RETURN size /* a comment */" })
  expect(reply.json()).toEqual([{ size: 2071819283 }])
  const [line] = await slow(1)
  expect(line).toMatchObject({
    level: 40,
    statement: reply.headers['statement-id'],
    fdAlias: 'fleet',
    caller: null,
    clientAddress: '127.0.0.1',
    text: 'FROM Shop.Gadget WHERE name = ? RETURN size',
    rows: 1,
    touched: 2,
    status: 200,
  })
  expect(line?.ms).toBeGreaterThanOrEqual(0)
  expect(line?.workedMs).toBeGreaterThanOrEqual(0)
  const [plan] = (line?.plan ?? []) as { readonly statement: string; readonly operator: string }[]
  expect(plan?.statement).toBe('FROM Shop.Gadget WHERE name = ? RETURN size')
  expect(JSON.stringify(plan)).toContain('"class":"Shop.Gadget"')
})

rule('2.2.29', 'no value of any kind, in the text or the plan, nor one that cannot be read', async () => {
  const { ask, slow, lines } = await openSlow()
  const queries = [
    { query: "FROM Shop.Gadget WHERE name = 'top secret' AND size > 2071819283 RETURN name" },
    {
      query:
        'FROM Shop.Gadget WHERE name = "top secret" OR name = \'top secret\' RETURN name ORDER BY size TAKE 2071819283',
    },
    {
      query: 'FROM Shop.Gadget WHERE name = $name AND size = $size RETURN name',
      parameters: { name: 'top secret', size: 2071819283 },
    },
    { query: "FROM Shop.Gadget WHERE name = 'top secret' RETURN name; SHOW 'top secret'" },
    { query: "SHOW 'top secret'" },
    { query: "CREATE Shop.Gadget {name: 'top secret', size: 2071819283}" },
    { query: "FROM Shop.Gadget WHERE name = 'top secret" },
    { query: "FROM Shop.Gadget WHERE top = 'secret' AND nothing = 'top secret' RETURN name" },
  ]
  const statuses: number[] = []
  for (const query of queries) statuses.push((await ask(query)).statusCode)
  expect(statuses.filter((status) => status >= 500)).toEqual([])
  expect(statuses.filter((status) => status < 300).length).toBeGreaterThanOrEqual(5)
  const told = await slow(queries.length)
  expect(told.filter(({ plan }) => plan !== undefined).length).toBeGreaterThanOrEqual(5)
  for (const line of lines.filter((one) => one.includes('slow query'))) {
    expect(line).not.toMatch(/top secret|"secret|2071819283/)
  }
})

rule('2.2.29', 'ten lines at once; the others are counted, and without a limit there are none', async () => {
  const { ask, slow, lines } = await openSlow()
  for (let i = 0; i < 40; i++) await ask({ query: 'SHOW 1' })
  await slow(10)
  const listed = lines.filter((line) => line.includes('slow query')).length
  expect(listed).toBeLessThan(40)
  const none: string[] = []
  const { app } = await openServer({ limits: { slowQueryMs: 0 }, onLog: (line) => none.push(line) })
  await app.inject({ method: 'POST', url: '/v1/query', payload: { query: 'SHOW 1' } })
  expect(none.filter((line) => line.includes('slow query'))).toEqual([])
})

rule('2.2.29', 'of a text of very many statements, the plans of the first ones', async () => {
  const { ask, slow } = await openSlow()
  const query = Array.from({ length: 50 }, (_, i) => `FROM Shop.Gadget WHERE size = ${i} RETURN name`).join('; ')
  await ask({ query })
  const [line] = await slow(1)
  expect(line?.plan).toHaveLength(20)
})
