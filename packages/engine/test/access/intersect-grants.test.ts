/** What two sets of grants allow both: for every class exactly what each of them allows. */
import { describe, expect, it } from 'vitest'
import type { Grant } from '../../src/access/access-policy.ts'
import { ClassAccess } from '../../src/access/class-access.ts'
import { intersectGrants } from '../../src/access/intersect-grants.ts'
import { CatalogCache } from '../../src/catalog/catalog-cache.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { accessGrantsMax, accessPairsMax } from '../../src/limits.ts'
import type { Catalog } from '../../src/schema/catalog.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { withSnapshot } from '../../src/store/with-snapshot.ts'

const text = (attributeName: string) => ({ attributeName, logicalType: 'string' })
const classes = [
  { className: 'Shop.Person', isReferenceable: true, attributes: [text('name'), text('owner')] },
  {
    className: 'Staff.Clerk',
    superClass: 'Shop.Person',
    isReferenceable: true,
    attributes: [text('salary'), text('owner')],
  },
  { className: 'Shop.Order', isReferenceable: true, attributes: [text('price')] },
]

async function catalogOf(): Promise<Catalog> {
  const fd = await FederatedDatabase.open({ alias: 'x', store: await openStore('memory:') })
  try {
    await fd.defineClasses(classes, 'create')
    return await withSnapshot(fd.store, (snapshot) => new CatalogCache(() => undefined).at(snapshot))
  } finally {
    await fd.close()
  }
}

const onClass = (className: string): Grant['on'] => ({ kind: 'class', className })
const onNamespace = (namespace: string): Grant['on'] => ({ kind: 'namespace', namespace })
const all: Grant['on'] = { kind: 'all' }

const sets: Readonly<Record<string, readonly Grant[]>> = {
  reader: [{ on: all, actions: ['read'] }],
  persons: [{ on: onClass('Shop.Person'), actions: ['read', 'update'], hidden: ['salary'] }],
  clerks: [{ on: onClass('Staff.Clerk'), actions: ['read', 'delete'], hidden: ['name'], readOnly: ['owner'] }],
  shop: [{ on: onNamespace('Shop'), actions: ['read', 'create', 'update'] }],
  staff: [{ on: onNamespace('Staff'), actions: ['read', 'define'] }],
  own: [{ on: onClass('Shop.Person'), actions: ['read', 'update'], rules: { read: "owner = 'a'" } }],
  ownToo: [{ on: onClass('Shop.Person'), actions: ['read', 'update'], rules: { read: "name = 'b'", update: 'TRUE' } }],
  several: [
    { on: onClass('Shop.Order'), actions: ['read'], rules: { read: "price = '1'" } },
    { on: onClass('Shop.Person'), actions: ['read'], hidden: ['owner'] },
  ],
  names: [{ on: onClass('Shop.Person'), actions: ['read', 'update'], shown: ['name', 'salary'] }],
  owners: [{ on: onNamespace('Shop'), actions: ['read'], shown: ['owner', 'price'], hidden: ['price'] }],
  nothing: [],
}

/** What is said of one class: rules by their text and class, attributes by name. */
function said(catalog: Catalog, grants: readonly Grant[], name: string) {
  const access = new ClassAccess(catalog, grants)
  const cls = catalog.classes.find((one) => one.name === name)
  if (cls === undefined) throw new Error(name)
  const rules = (action: 'read' | 'update'): string[] | 'all' | 'none' => {
    const allowed = access.objects(cls, action)
    return typeof allowed === 'string' ? allowed : allowed.map((rule) => `${rule.cls.name}: ${rule.text}`)
  }
  const seen = access.attributesOf(cls)
  return {
    read: rules('read'),
    update: rules('update'),
    isReadable: access.allows(cls, 'read'),
    attributes: cls.attributes.filter(({ number }) => seen.has(number)).map(({ outputName }) => outputName),
  }
}

describe('grants of two at once', () => {
  it('allow what both allow, class by class', async () => {
    const catalog = await catalogOf()
    for (const [one, mine] of Object.entries(sets)) {
      for (const [other, theirs] of Object.entries(sets)) {
        const both = intersectGrants(mine, theirs) ?? []
        for (const { className } of classes) {
          const what = `${one} and ${other}: ${className}`
          const [a, b, c] = [mine, theirs, both].map((grants) => said(catalog, grants, className))
          if (a === undefined || b === undefined || c === undefined) throw new Error(what)
          expect([what, c.isReadable]).toEqual([what, a.isReadable && b.isReadable])
          for (const action of ['read', 'update'] as const) {
            if (a[action] === 'none' || b[action] === 'none') expect([what, c[action]]).toEqual([what, 'none'])
            else if (a[action] === 'all') expect([what, c[action]]).toEqual([what, b[action]])
            else if (b[action] === 'all') expect([what, c[action]]).toEqual([what, a[action]])
          }
          if (!c.isReadable) continue
          const attributes = a.attributes.filter((name) => b.attributes.includes(name))
          expect([what, c.attributes]).toEqual([what, attributes])
        }
      }
    }
  })

  it('have both rules on one class, and none together where the names in them mean different attributes', async () => {
    const catalog = await catalogOf()
    const both = intersectGrants(sets.own as Grant[], sets.ownToo as Grant[]) ?? []
    expect(said(catalog, both, 'Staff.Clerk')).toMatchObject({
      read: ["Shop.Person: (owner = 'a'\n) AND (name = 'b'\n)"],
      update: ['Shop.Person: TRUE'],
    })
    const ofClerks: Grant[] = [{ on: onClass('Staff.Clerk'), actions: ['read'], rules: { read: "owner = 'b'" } }]
    expect(intersectGrants(sets.own as Grant[], ofClerks)).toEqual([])
  })

  it('show nothing where each shows other names', () => {
    const [both] = intersectGrants(sets.names as Grant[], sets.owners as Grant[]) ?? []
    expect(both).toMatchObject({ shown: [] })
  })

  it('are those of one where both are the same, and no more than a policy may have', () => {
    const many = (action: 'read' | 'create', length = 100): Grant[] =>
      Array.from({ length }, (_, at) => ({ on: onClass(`A.C${at}`), actions: [action, 'update'] }))
    expect(intersectGrants(many('read'), many('read'))).toHaveLength(100)
    const crossed = intersectGrants(many('read', 30), many('create', 30))
    expect(crossed).toHaveLength(30 * 30)
    expect(100 * 100).toBeGreaterThan(accessGrantsMax)
    expect(intersectGrants(many('read'), many('create'))).toBeUndefined()
    // Those that allow nothing together take time all the same.
    const apart = (action: 'define' | 'index'): Grant[] =>
      many('read', 101).map((grant) => ({ ...grant, actions: [action] }))
    expect(101 * 101).toBeGreaterThan(accessPairsMax)
    expect(intersectGrants(apart('define'), apart('index'))).toBeUndefined()
  })
})
