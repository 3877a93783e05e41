/** What queries do with data, limits and files: the rules of other chapters that only a query can show. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { classOf, FdUnderTest, reference } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type Loose, type Reply, type ServerUnderTest, startServer, temporaryDirectory } from './server-under-test.ts'

const small = { sortedRowsMax: 20, changeReplyBytesMax: 2_000, queryCharactersMax: 5_000, commitEntriesMax: 300 }
const items = 1_200
let server: ServerUnderTest
let fd: FdUnderTest
let narrow: ServerUnderTest
let narrowFd: FdUnderTest

const ask = (query: string, on = fd, parameters: object = {}): Promise<Reply> =>
  on.server.post(on.at('/v1/query'), { query, parameters })

async function rows(query: string, parameters: object = {}): Promise<Loose[]> {
  const reply = await ask(query, fd, parameters)
  expect(reply.status, reply.text).toBe(200)
  return reply.json
}

beforeAll(async () => {
  const data = temporaryDirectory()
  mkdirSync(join(data, 'imports'))
  writeFileSync(join(data, 'imports', 'items.csv'), 'code,name\n1,one\n2,two\n')
  writeFileSync(join(data, 'outside.csv'), 'code\n1\n')
  const config = join(data, 'ashlar.json')
  writeFileSync(config, JSON.stringify({ limits: small, importDir: join(data, 'imports') }))
  server = await startServer({ words: ['--fd', 'one'] })
  narrow = await startServer({ words: ['--fd', 'one', '--config', config], data })
  fd = new FdUnderTest(server, 'one')
  narrowFd = new FdUnderTest(narrow, 'one')
  const item = classOf('Item', {
    code: 'integer',
    name: 'string',
    weight: { logicalType: 'real', storage: 'b32' },
    next: reference('Item'),
  })
  await fd.define(item, classOf('SpecialItem', { extra: 'integer' }, { superClass: 'Item' }))
  await narrowFd.define(item)
  await fd.index('byCode', 'Item', true, 'code')
  await fd.index('byName', 'Item', false, 'name')
  const codes = Array.from({ length: items }, (_, code) => code)
  await rows("FOR EACH c IN $codes => (CREATE Item {code: $c, name: 'item'})", { codes })
  await rows("CREATE SpecialItem {code: -1, name: 'a name of more than twenty-four characters, A', weight: 0.1}")
  await rows("CREATE Item {code: -2, name: 'a name of more than twenty-four characters, B', weight: 0.1}")
})
afterAll(async () => {
  await server.remove()
  await narrow.remove()
})

/** The scan of a plan, wherever it stands. */
function scanOf(plan: Loose): Loose {
  return plan.inputs === undefined ? plan : scanOf(plan.inputs[0])
}

rule('6.2.4', 'queries read as many entries as they find', async () => {
  for (const predicate of ['code = 77', 'code IN LIST{77}', 'code >= 77 AND code < 78']) {
    const [plan] = await rows(`EXPLAIN ANALYZE FROM Item WHERE ${predicate} RETURN name`)
    expect(scanOf(plan)).toMatchObject({ operator: 'indexScan', index: 'byCode', examined: 1, returned: 1 })
  }
  const [plan] = await rows('EXPLAIN ANALYZE FROM SpecialItem WHERE code = -1 RETURN name')
  expect(scanOf(plan)).toMatchObject({ index: 'byCode', examined: 1 })
})

rule('6.2.3', 'texts that are alike up to the stored length', async () => {
  const text = 'FROM Item WHERE name = $name RETURN code'
  const [plan] = await rows(`EXPLAIN ANALYZE ${text}`, { name: 'a name of more than twenty-four characters, A' })
  expect(scanOf(plan)).toMatchObject({ index: 'byName', recheck: ['name'], examined: 2 })
  for (const [end, code] of [
    ['A', -1],
    ['B', -2],
  ]) {
    expect(await rows(text, { name: `a name of more than twenty-four characters, ${end}` })).toEqual([{ code }])
  }
  expect(await rows(text, { name: 'a name of more than twenty-four characters' })).toEqual([])
})

rule('3.2.16', 'a literal beside a real of 32 bits', async () => {
  for (const predicate of ['weight = 0.1', 'weight == $w', '0.1 = weight', 'weight IN LIST{0.1}']) {
    const found = await rows(`FROM Item WHERE ${predicate} ORDER BY code RETURN code`, { w: 0.1 })
    expect(found).toEqual([{ code: -2 }, { code: -1 }])
  }
})

rule('3.2.16', 'a whole number beside a real is what would be stored of it', async () => {
  await fd.define(classOf('Distance', { plain: 'real', indexed: 'real' }))
  await fd.index('byDistance', 'Distance', true, 'indexed')
  const digits = '123456789012345678'
  const send = async (path: string, raw: string): Promise<Loose> => {
    const reply = await server.send('POST', fd.at(path), { raw })
    expect([200, 201], reply.text).toContain(reply.status)
    return reply.json
  }
  await send('/v1/object', `{"class":"Distance","attributes":{"plain":${digits},"indexed":${digits}}}`)
  for (const attribute of ['plain', 'indexed']) {
    for (const predicate of ['= $d', `= ${digits}`, '>= $d', '<= $d', `IN LIST{${digits}}`, 'IN $ds']) {
      const query = `FROM Distance WHERE ${attribute} ${predicate} RETURN COUNT() AS n`
      const found = await send('/v1/query', `{"query":"${query}","parameters":{"d":${digits},"ds":[${digits}]}}`)
      expect([attribute, predicate, found]).toEqual([attribute, predicate, [{ n: 1 }]])
    }
    const other = `{"query":"FROM Distance WHERE ${attribute} = 123456789012345600 RETURN COUNT() AS n"}`
    expect(await send('/v1/query', other)).toEqual([{ n: 0 }])
  }
})

rule('4.4.12', 'dangling references', async () => {
  const [gone] = await rows('CREATE Item {code: 5000}')
  const [kept] = await rows('CREATE Item {code: 5001}')
  await rows('CREATE Item {code: 5002, next: $o}', { o: gone.__identifier__ })
  await rows('CREATE Item {code: 5003, next: $o}', { o: kept.__identifier__ })
  const dangling = 'FROM Item WHERE NOT IS_NULL(next) AND NOT IS_VALID(next) RETURN code, next'
  expect(await rows(dangling)).toEqual([])
  await fd.remove(gone.__identifier__)
  expect(await rows(dangling)).toEqual([{ code: 5002, next: gone.__identifier__ }])
  await rows('DELETE Item WHERE code >= 5000 RETURN COUNT()')
})

rule('1.5.18', 'what one change writes', async () => {
  expect((await server.get('/v1/fd')).json.limits).toMatchObject({
    changedObjectsMax: 200_000,
    commitEntriesMax: 1_200_000,
    commitBytesMax: 128 * 2 ** 20,
  })
  const codes = Array.from({ length: 301 }, (_, code) => code)
  const create = 'FOR EACH c IN $codes => (CREATE Item {code: $c})'
  expect(expectProblem(await ask(create, narrowFd, { codes }), 422, 'LimitExceeded')).toContain('commitEntriesMax')
  expect((await ask('FROM Item RETURN COUNT() AS n', narrowFd)).json).toEqual([{ n: 0 }])
  await ask(create, narrowFd, { codes: codes.slice(0, 300) })
  expect((await ask('DELETE Item RETURN COUNT() AS n', narrowFd)).json).toEqual([{ n: 300 }])
})

rule('1.5.7', 'rows held in memory', async () => {
  const limits = (await server.get('/v1/fd')).json.limits
  expect(limits).toMatchObject({ statementMsMax: 60_000, sortedRowsMax: 1_000_000 })
  expect((await narrow.get('/v1/fd')).json.limits).toMatchObject(small)
  const codes = Array.from({ length: 25 }, (_, code) => code + 1)
  await ask('FOR EACH c IN $codes => (CREATE Item {code: $c})', narrowFd, { codes })
  // Beyond that on disk.
  for (const sorting of ['FROM Item ORDER BY code RETURN code', 'FROM Item GROUP BY code RETURN code']) {
    expect((await ask(sorting, narrowFd)).json).toEqual(codes.map((code) => ({ code })))
  }
  const held = 'LET l = (FROM Item RETURN code); SHOW LENGTH($l)'
  expect(expectProblem(await ask(held, narrowFd), 422, 'LimitExceeded')).toContain('sortedRowsMax')
  expect((await ask('FROM Item ORDER BY code TAKE 3 RETURN code', narrowFd)).json).toHaveLength(3)
  await ask('DELETE Item RETURN COUNT()', narrowFd)
})

rule('1.5.8', 'replies to changes, and none beyond the limit is half done', async () => {
  expect((await server.get('/v1/fd')).json.limits).toMatchObject({ changeReplyBytesMax: 64 * 2 ** 20 })
  const codes = Array.from({ length: 40 }, (_, code) => code)
  await ask('FOR EACH c IN $codes => (CREATE Item {code: $c})', narrowFd, { codes })
  const message = expectProblem(await ask('UPDATE Item SET code TO code + 100', narrowFd), 422, 'LimitExceeded')
  expect(message).toContain('COUNT()')
  expect((await ask('FROM Item WHERE code >= 100 RETURN COUNT() AS n', narrowFd)).json).toEqual([{ n: 0 }])
  const counted = await ask('UPDATE Item SET code TO code + 100 RETURN COUNT() AS n', narrowFd)
  expect(counted.json).toEqual([{ n: 40 }])
  const tooLong = await ask(`SHOW 1 ${' '.repeat(5_000)}`, narrowFd)
  expect(expectProblem(tooLong, 422, 'LimitExceeded')).toContain('queryCharactersMax')
  const asText = { headers: { 'content-type': 'text/plain' }, raw: ' '.repeat(20_001) }
  const tooLongText = await narrow.send('POST', narrowFd.at('/v1/query'), asText)
  expect(expectProblem(tooLongText, 422, 'LimitExceeded')).toContain('queryCharactersMax')
})

rule('8.1.12', 'files are read below importDir alone', async () => {
  const importing = (file: string, on = narrowFd): Promise<Reply> =>
    ask(
      `FOR EACH r IN IMPORT CSV '${file}' USE HEADER => (CREATE Item {code: CAST($r.code AS Integer), name: $r.name})`,
      on,
    )
  const reply = await importing('items.csv')
  expect(reply.status, reply.text).toBe(200)
  const found = await ask("FROM Item WHERE name = 'two' RETURN code", narrowFd)
  expect(found.json).toEqual([{ code: 2 }])
  for (const file of ['../outside.csv', 'nothing.csv', '/etc/hostname', 'x/../../outside.csv']) {
    expectProblem(await importing(file), 422)
  }
  expect(expectProblem(await importing('items.csv', fd), 422)).toContain('import')
})

rule('1.4.14', 'a text that commits in steps and fails tells how much of it stays', async () => {
  const steps =
    "FOR EACH i IN IMPORT CSV 'items.csv' USE HEADER COMMIT EVERY 1 => (CREATE Item {code: $i.code, name: $i.name})"
  await ask('DELETE Item RETURN COUNT() AS n', narrowFd)
  await narrowFd.index('byCode', 'Item', true, 'code')
  await ask("CREATE Item {code: '2'}", narrowFd)
  const reply = await ask(steps, narrowFd)
  expectProblem(reply, 409, 'UniqueViolation')
  expect(reply.json).toMatchObject({ commits: 1, rowsCommitted: 1 })
  expect((await ask('FROM Item RETURN COUNT() AS n', narrowFd)).json).toEqual([{ n: 2 }])
})
