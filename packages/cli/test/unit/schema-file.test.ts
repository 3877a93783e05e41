/** A schema as text: what a server reads from it is the schema that it was written from. */
import { expect, it } from 'vitest'
import { classOf, embedded, type FdUnderTest, list, reference } from '../../../server/test/contract/class-of.ts'
import { useFdPerTest } from '../../../server/test/contract/fd-per-test.ts'
import { rule } from '../../../server/test/contract/rule.ts'
import type { Loose, ServerUnderTest } from '../../../server/test/contract/server-under-test.ts'
import { isSameType, schemaState } from '../../src/schema/schema-state.ts'
import { schemaFiles } from '../../src/schema/schema-text.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  ;({ server, fd } = given)
})

rule(['10.6.1', '10.6.8', '10.6.11'], 'a schema file has all expressions', async () => {
  await fd.define(
    classOf(
      'A',
      {
        a: 'integer',
        b: { logicalType: 'integer', default: { expression: 'a + 1' }, onUpdate: { expression: 'b + 1' } },
        c: { logicalType: 'integer', minimum: 0, title: 'C' },
        d: { logicalType: 'real', storage: 'b32', computed: { expression: 'a / 2', isStored: true }, title: 'D' },
        e: { logicalType: 'string', computed: { expression: 'r.e' } },
        r: reference('B'),
      },
      {
        checks: [
          { name: 'x', expression: 'a < c', message: "It's so." },
          { name: 'y', expression: 'c != 5 OR a IN LIST{1, 2}' },
        ],
      },
    ),
    classOf('B', { e: 'string' }),
  )
  await expectSameAfterText('DROP CLASS A DROP CLASS B')
})

rule(['10.6.23', '10.6.24'], 'a schema file has the expressions of embeddable classes', async () => {
  await fd.define(
    classOf(
      'Line',
      {
        count: { logicalType: 'integer', default: { expression: '1 + 1' } },
        id: { logicalType: 'guid', default: { expression: 'GUID()' } },
        double: { logicalType: 'integer', computed: { expression: 'count * 2', isStored: true } },
        name: { logicalType: 'string', computed: { expression: 'owner.name' } },
        owner: reference('Owner'),
      },
      embedded,
    ),
    classOf('Owner', { name: 'string' }),
    classOf('Order', { lines: list({ logicalType: 'object', class: 'Line' }) }),
  )
  await expectSameAfterText('DROP CLASS Order DROP CLASS Line DROP CLASS Owner')
})

rule('10.6.1', 'a schema file has the comments of expressions, and lists of json', async () => {
  await fd.define(
    classOf(
      'A',
      {
        a: { logicalType: 'integer', default: { expression: '1 // one' } },
        b: { logicalType: 'integer', onUpdate: { expression: '/* before */ b + 1 // after' } },
        c: { logicalType: 'integer', computed: { expression: 'a // two lines\n + b // end' } },
        d: { ...list({ logicalType: 'json' }), default: [1, { x: 1 }, [2], "it's"] },
      },
      {
        checks: [
          { name: 'x', expression: '// before\na < 5 // after', message: 'It is // so.' },
          { name: 'y', expression: "a /* within */ != 6 OR '// no' = '' // end" },
        ],
      },
    ),
  )
  await expectSameAfterText('DROP CLASS A')
})

it('compares bounds of reals that servers write with all their digits', () => {
  const read = { logicalType: 'real', maximum: 10n ** 20n }
  expect(isSameType(read as never, { logicalType: 'real', maximum: 1e20 })).toBe(true)
  expect(isSameType(read as never, { logicalType: 'real', maximum: 1e19 })).toBe(false)
})

/** Writes the schema as text, drops the classes, and executes the text: the classes are as before. */
async function expectSameAfterText(drop: string): Promise<void> {
  const read = async () =>
    (await server.get(fd.at('/v1/schema'))).json
      .map(({ className, attributes, checks }: Loose) => ({ className, attributes, checks }))
      .sort((a: Loose, b: Loose) => a.className.localeCompare(b.className))
  const before = await read()
  const classes = (await server.get(fd.at('/v1/schema'))).json
  const texts = [...schemaFiles(schemaState(classes, [], []), 'always').values()].join('\n')
  expect((await server.post(fd.at('/v1/query'), { query: `UPDATE SCHEMA { ${drop} }` })).status).toBe(200)
  const reply = await server.post(fd.at('/v1/query'), { query: texts })
  expect(reply.status, `${reply.text}\n${texts}`).toBe(200)
  expect(await read()).toEqual(before)
}
