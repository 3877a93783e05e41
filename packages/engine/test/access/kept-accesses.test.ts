/** What is kept for callers between their requests is bounded by the memory that it takes. */
import { describe, expect, it } from 'vitest'
import type { Grant } from '../../src/access/access-policy.ts'
import { type CatalogAccess, CatalogAccesses } from '../../src/access/catalog-access.ts'
import { AccessCache } from '../../src/access/kept-accesses.ts'
import type { Catalog } from '../../src/schema/catalog.ts'
import { classOf, SchemaUnderTest } from '../schema/schema-under-test.ts'

function catalogOf(classes: number): Catalog {
  const schema = new SchemaUnderTest()
  schema.put(...Array.from({ length: classes }, (_, i) => classOf(`C${i}`, { a: 'string', b: 'string' })))
  return schema.catalog
}

const hiding = (name: string): readonly Grant[] => [{ on: { kind: 'all' }, actions: ['read'], hidden: [name] }]

describe('what is kept for callers', () => {
  it('is forgotten where it takes too much together, what was not used for longest first', async () => {
    const catalog = catalogOf(40)
    const alone = new AccessCache()
    const first = new CatalogAccesses(hiding('a'), 1_000, alone)
    await first.of(catalog).prepared()
    const { bytes } = alone
    expect(bytes).toBeGreaterThan(40_000)
    const kept = new AccessCache(bytes * 2.5)
    const all = ['a', 'b', 'c', 'd'].map((name) => new CatalogAccesses(hiding(name), 1_000, kept))
    const made: CatalogAccess[] = []
    for (const accesses of all) made.push(await accesses.of(catalog).prepared())
    expect(kept.bytes).toBeLessThanOrEqual(bytes * 2.5)
    expect(all.map((accesses, i) => accesses.of(catalog) === made[i])).toEqual([false, false, true, true])
    // Whoever has one that is forgotten goes on with it.
    expect(made[0]?.restricted.classes).toHaveLength(40)
  })

  it('is measured without making the attributes of each class, which nobody has asked for', async () => {
    const kept = new AccessCache()
    const { restricted } = await new CatalogAccesses(hiding('a'), 1_000, kept).of(catalogOf(40)).prepared()
    expect(kept.bytes).toBeGreaterThan(40_000)
    const made = restricted.classes.filter((cls) => (cls as unknown as { readonly all: unknown }).all !== undefined)
    expect(made).toEqual([])
  })
})
