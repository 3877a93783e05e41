/** How the catalog that a caller knows is made: once, with turns for others in between (decision 0026). */
import { expect, it } from 'vitest'
import type { Grant } from '../../src/access/access-policy.ts'
import { CatalogAccess } from '../../src/access/catalog-access.ts'
import { ClassAccess } from '../../src/access/class-access.ts'
import { restrictedCatalog } from '../../src/access/restricted-catalog.ts'
import { classOf, SchemaUnderTest } from '../schema/schema-under-test.ts'

const classes = 500
const grants: readonly Grant[] = [
  { on: { kind: 'namespace', namespace: 'N' }, actions: ['read', 'query'], hidden: ['secret'] },
]

function catalog() {
  const schema = new SchemaUnderTest()
  const names = Array.from({ length: classes }, (_, i) => `${i % 2 === 0 ? 'N' : 'M'}.C${i}`)
  schema.put(...names.map((name) => classOf(name, { title: 'string', secret: 'string' })))
  return schema.catalog
}

it('it is made in pieces of few classes', () => {
  const made = restrictedCatalog(new ClassAccess(catalog(), grants))
  let pieces = 0
  let piece = made.next()
  for (; piece.done !== true; piece = made.next()) pieces++
  expect(pieces).toBeGreaterThan(classes / 20)
  expect(piece.value.classes.map(({ attributes }) => attributes.map(({ name }) => name))).toEqual(
    Array.from({ length: classes / 2 }, () => ['title']),
  )
})

it('all who wait for it, and whoever needs it meanwhile, have the same', async () => {
  const access = new CatalogAccess(catalog(), grants, 1_000)
  const [one, other] = [access.prepared(), access.prepared()]
  expect(one).toBe(other)
  expect(access.isPrepared).toBe(false)
  const { restricted } = access
  expect((await one).restricted).toBe(restricted)
  expect([access.prepared(), access.isPrepared]).toEqual([access, true])
})
