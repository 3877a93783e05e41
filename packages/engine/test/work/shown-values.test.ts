/** Objects and values that are very long, as a query returns them. */
import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, toMany, toOne, withFd } from '../engine/open-fd.ts'
import { rowTexts } from '../row-texts.ts'

const count = 20_000
const names = {
  logicalType: 'map',
  collectionTypeName: 'NameToReferenceMap',
  elementSpecification: toOne('Part'),
  keySpecification: { logicalType: 'string' },
}
const numbers = { logicalType: 'list', elementSpecification: { logicalType: 'integer' } }
const inner = { logicalType: 'object', class: 'Inner' }
const classes = [
  { className: 'Inner', isReferenceable: false, attributes: [{ attributeName: 'names', ...names }] },
  classOf('Part', {}),
  classOf('Numbers', { numbers }),
  classOf('Links', { parts: toMany('Part') }),
  classOf('Names', { names }),
  classOf('Embedded', { inner }),
  classOf('Text', { text: 'string' }),
]

async function parts(fd: FederatedDatabase): Promise<string[]> {
  return [...(await fd.createObjects(Array.from({ length: count }, () => ({ class: 'Part', attributes: {} }))))]
}

const byName = (oids: readonly string[]): object => {
  return Object.fromEntries(oids.map((oid, i) => [`part ${String(i).padStart(6, '0')}`, oid]))
}

it.each<[string, string, (oids: string[]) => unknown]>([
  ['Numbers', 'numbers', () => Array.from({ length: count }, (_, i) => i)],
  ['Links', 'parts', (oids) => oids],
  ['Names', 'names', byName],
  ['Embedded', 'inner', (oids) => ({ names: byName(oids) })],
])('an object of %s is returned whole, and what it holds', (className, attribute, held) =>
  withFd(classes, async (fd) => {
    const value = held(className === 'Numbers' ? [] : await parts(fd))
    await fd.createObject(className, { [attribute]: value })
    for (const returned of ['*', '*, 1 AS one', attribute]) {
      const [row = ''] = await rowTexts(await fd.query({ text: `FROM ${className} RETURN ${returned}` }))
      expect(JSON.parse(row), returned).toMatchObject({ [attribute]: value })
    }
  }),
)

const text = '"\n€😀'.repeat(2 ** 17)

it.each([
  ['RETURN text', { text }],
  ['RETURN LENGTH(text) AS n', { n: [...text].length }],
  ['ORDER BY text DESC RETURN LENGTH(text) AS n', { n: [...text].length }],
])('a long text is returned, and worked with: %s', (clauses, shown) =>
  withFd(classes, async (fd) => {
    await fd.createObject('Text', { text })
    const chunks: Buffer[] = []
    for await (const { bytes } of (await fd.query({ text: `FROM Text ${clauses}` })).chunks) chunks.push(bytes)
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject(shown)
  }),
)
