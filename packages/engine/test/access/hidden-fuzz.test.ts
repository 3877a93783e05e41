/** Arbitrary requests of a restricted caller tell nothing of what is hidden, change nothing of it, and are no faults (contract 9.4). */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AccessPolicy, Grant } from '../../src/access/access-policy.ts'
import { AshlarError } from '../../src/errors.ts'
import { type Database, FederatedDatabase } from '../../src/index.ts'
import { entityTagOf } from '../../src/objects/condition.ts'
import { runs } from '../bytes/property-runs.ts'
import { rowTexts, rowValues } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

/** Stands in every value that is hidden, and nowhere else. */
const mark = 'zebra'
const setUp = `UPDATE SCHEMA {
  CREATE CLASS F.Line EMBEDDABLE {text: String, margin: String, to: Reference{Referenced: F.Doc}}
  CREATE CLASS F.Doc {title: String, owner: String, secret: String, n: Integer, next: Reference{Referenced: F.Doc},
    up: Reference{Referenced: F.Doc, Inverse: downs}, downs: List{Element: Reference{Referenced: F.Doc, Inverse: up}},
    bag: Set{Element: Reference{Referenced: F.Doc}}, byName: Map{Element: Reference{Referenced: F.Doc}},
    line: Object{Class: F.Line}, lines: List{Element: Object{Class: F.Line}}}
  CREATE CLASS F.Memo SUPERCLASS F.Doc {place: String}
  CREATE CLASS F.Vault {code: String}
};
CREATE UNIQUE INDEX titles ON F.Doc (title);
CREATE INDEX secrets ON F.Doc (secret)`

const rules = ['owner = $$USER.name', "owner != 'eve'", 'n >= 0', 'IS_NULL(next) OR next.n >= 0', 'COUNT(bag) < 2']
const rule = fc.option(fc.constantFrom(...rules), { nil: undefined, freq: 4 })
const policy: fc.Arbitrary<AccessPolicy> = fc
  .record({
    create: rule,
    update: rule,
    delete: rule,
    readOnly: fc.subarray(['title', 'n', 'next', 'lines', 'up']),
    isDefining: fc.boolean(),
  })
  .map(({ readOnly, isDefining, ...own }) => {
    const written = Object.fromEntries(Object.entries(own).filter(([, text]) => text !== undefined))
    const doc: Grant = {
      on: { kind: 'class', className: 'F.Doc' },
      actions: ['read', 'query', 'create', 'update', 'delete', ...(isDefining ? (['define', 'index'] as const) : [])],
      hidden: ['secret'],
      readOnly,
      rules: { read: "owner = $$USER.name OR owner = 'all'", ...written },
    }
    const line: Grant = { on: { kind: 'class', className: 'F.Line' }, actions: ['read'], hidden: ['margin'] }
    return { user: { name: 'bob', roles: [], claims: {} }, grants: [doc, line] }
  })

const names = ['title', 'owner', 'secret', 'n', 'next', 'up', 'downs', 'bag', 'byName', 'line', 'lines', 'place', 'x']
/** Stands for the nth object, or one that there never was. */
const object = fc.nat(9).map((nth) => `$${nth}`)
const plain = fc.constantFrom<unknown>('', 'a', 'bob', 'all', 'eve', 't0', 't1', 0, -1, null, true)
const embedded = fc.dictionary(fc.constantFrom('text', 'margin', 'to', 'more'), fc.oneof(plain, object), { maxKeys: 3 })
const value: fc.Arbitrary<unknown> = fc.oneof(
  plain,
  object,
  embedded,
  fc.array(fc.oneof(object, embedded, plain), { maxLength: 3 }),
  fc.record({ action: fc.constantFrom('add', 'remove', 'override'), elements: fc.array(fc.oneof(object, embedded)) }),
  fc.dictionary(fc.constantFrom('a', 'b'), object, { maxKeys: 2 }),
)
const attributes = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 3 })
const name = fc.constantFrom(...names, 'next.title', 'next.secret', 'lines.margin', 'line.text', 'COUNT(downs)', '$$ID')
const where = fc.tuple(name, fc.constantFrom('=', '!=', '>', 'IN'), fc.constantFrom("'a'", '0', "'eve'", 'title', 'n'))
const text = fc
  .record({ cls: fc.constantFrom('F.Doc', 'F.Memo', 'F.Vault', 'Doc', 'F.Line', 'Nothing'), where, name, other: name })
  .chain(({ cls, where: words, name: one, other }) =>
    fc.constantFrom(
      `FROM ${cls} RETURN *`,
      `FROM ${cls} WHERE ${words.join(' ')} ORDER BY ${one} RETURN ${one} AS a, ${other} AS b, $$ID AS id`,
      `FROM ${cls} GROUP BY ${one} RETURN ${one} AS a, COUNT(*) AS n, MAX(${other}) AS b`,
      `EXPLAIN FROM ${cls} WHERE ${words.join(' ')} RETURN ${one}`,
      `FROM ${cls} RETURN $$ID AS id, next{${one} AS a}, downs{*, ${other} AS b ORDER BY ${one} TAKE 2}, bag{$$ID AS id WHERE ${words.join(' ')}}`,
      `FROM ${cls} d WHERE EXISTS(FROM Doc e WHERE e.next = d AND e.${words.join(' ')}) RETURN $$ID AS id, (FROM Doc e WHERE e.up = d RETURN e.${one})`,
      `FROM ${cls} d, Doc e WHERE d.${one} = e.${one} ORDER BY e.${other} RETURN d, e.${other} AS b`,
      `FROM ${cls} RETURN ${one} AS a, LAG(${other}) OVER (ORDER BY ${one}) AS b, COLLECT(${one}) OVER (PARTITION BY ${other}) AS c`,
      `FROM ${cls} ORDER BY a RETURN DISTINCT ${one} AS a`,
      `FROM ${cls} WHERE ${one} LIKE 'z%' OR ${other} LIKE '%' RETURN ${one} AS a`,
      `FROM ${cls} RETURN MIN(${one}) AS a, MAX(${other}) AS b, COUNT(DISTINCT ${one}) AS n`,
      `WITH r AS (FROM ${cls} RETURN $$ID AS id, ${one} AS a) FROM r WHERE a != '' RETURN *`,
      `FROM ${cls} RETURN *, ${one} AS more`,
      `UPDATE ${cls} WHERE ${words.join(' ')} SET ${one} TO ${other} RETURN *`,
      `DELETE ${cls} ORDER BY ${one} TAKE 1`,
      `UPDATE ${cls} CLEAR ${one}`,
      `DELETE ${cls} WHERE ${words.join(' ')}`,
      `CREATE ${cls} {title: 'x', ${one}: ${words[2]}}`,
      `UPDATE SCHEMA {ALTER CLASS ${cls} {DROP ${one}}}`,
      `UPDATE SCHEMA {ALTER CLASS ${cls} {RENAME ${one} TO ${other}}}`,
      `CREATE INDEX made ON ${cls} (${one})`,
    ),
  )
const className = fc.constantFrom('F.Doc', 'F.Memo', 'F.Vault', 'F.Line', 'F.None')
type Request =
  | { readonly kind: 'read' | 'delete' | 'update'; readonly at: string; readonly attributes: unknown }
  | { readonly kind: 'create'; readonly className: string; readonly attributes: unknown }
  | { readonly kind: 'query'; readonly text: string }
  | { readonly kind: 'schema'; readonly className: string }
const request: fc.Arbitrary<Request> = fc.oneof(
  fc.record({ kind: fc.constantFrom('read' as const, 'delete' as const), at: object, attributes }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('update' as const), at: object, attributes }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), className, attributes }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('query' as const), text }) },
  fc.record({ kind: fc.constant('schema' as const), className }),
)

function resolved<T>(json: T, oids: readonly string[]): T {
  return JSON.parse(JSON.stringify(json).replace(/\$(\d)"/g, (_, nth) => `${oids[Number(nth)] ?? '3-3-1-999'}"`)) as T
}

/** What the caller is told, whichever way it ends. Throws what is a fault. */
async function told(database: Database, asked: Request): Promise<string> {
  try {
    switch (asked.kind) {
      case 'read': {
        const text = await database.readObject(asked.at)
        return `${text} ${await entityTagOf(text)}`
      }
      case 'delete':
        return String(await database.deleteObject(asked.at))
      case 'update':
        return String(await database.updateObject(asked.at, asked.attributes as Record<string, unknown>))
      case 'create':
        return await database.createObject(asked.className, asked.attributes as Record<string, unknown>)
      case 'query':
        return (await rowTexts(await database.query({ text: asked.text }))).join()
      case 'schema':
        return JSON.stringify([await database.listClasses(), await database.readClass(asked.className)])
    }
  } catch (error) {
    if (!(error instanceof AshlarError) || error.kind === 'fault') throw error
    return JSON.stringify([error.type, error.message, error.errors, error.extensions])
  }
}

function idOf(row: unknown): unknown {
  const { id, __identifier__: own } = row as { readonly id?: string; readonly __identifier__?: string }
  return id ?? own
}

interface Hidden {
  readonly objects: readonly unknown[]
  readonly secrets: readonly unknown[]
}

/** Of objects of others all but links that end with what is deleted; of one's own the hidden attributes. */
async function hiddenIn(fd: FederatedDatabase): Promise<Hidden> {
  const rows = async (query: string): Promise<readonly unknown[]> => rowValues(await fd.query({ text: query }))
  return {
    objects: [
      ...(await rows(
        "FROM F.Doc WHERE owner = 'eve' ORDER BY $$ID RETURN $$ID AS id, title, owner, secret, n, line.margin AS m",
      )),
      ...(await rows('FROM F.Vault ORDER BY $$ID RETURN *')),
    ],
    secrets: await rows(
      `FROM F.Doc WHERE secret != '' AND owner != 'eve' ORDER BY $$ID RETURN $$ID AS id, secret, lines.margin AS margins`,
    ),
  }
}

it('arbitrary requests tell nothing of what is hidden, change nothing of it, and are no faults', async () => {
  await fc.assert(
    fc.asyncProperty(
      policy,
      fc.array(request, { minLength: 25, maxLength: 40, size: 'max' }),
      async (caller, asked) => {
        const fd = await FederatedDatabase.open({ alias: 'fuzz', store: await openStoreOfRun() })
        await rowTexts(await fd.query({ text: setUp }))
        const oids: string[] = []
        for (const [nth, owner] of ['bob', 'eve', 'all', 'eve', 'bob', 'all', 'eve'].entries()) {
          const hidden = owner === 'eve'
          const line = { text: hidden ? mark : `l${nth}`, margin: `${mark} ${nth}` }
          const own = { title: hidden ? `${mark}${nth}` : `t${nth}`, owner, secret: `${mark} ${nth}`, n: nth, line }
          const before = oids.at(-1)
          const links = before === undefined ? {} : { next: before, up: before, bag: oids, byName: { a: before } }
          oids.push(
            await fd.createObject(nth % 3 === 2 ? 'F.Memo' : 'F.Doc', {
              ...own,
              ...links,
              lines: [line, { ...line, text: 'y' }],
            }),
          )
        }
        oids.push(await fd.createObject('F.Vault', { code: mark }))
        const hiddenOids = oids.filter((_oid, nth) => [1, 3, 6, 7].includes(nth))
        const database = fd.as(caller)
        const before = await hiddenIn(fd)
        let named = ''
        for (const each of asked) {
          const given = resolved(each, oids)
          const answer = await told(database, given)
          expect({ given, answer }).toEqual({ given, answer: expect.not.stringContaining(mark) })
          // What the caller itself has named, now or before, may be in a title that it has written.
          named += JSON.stringify(given)
          for (const oid of hiddenOids)
            if (!named.includes(oid))
              expect({ given, answer }).not.toEqual({
                given,
                answer: expect.stringMatching(new RegExp(`\\b${oid}\\b`)),
              })
        }
        const after = await hiddenIn(fd)
        // It may create objects that it does not see, and give its own away.
        const ids = new Set(before.objects.map(idOf))
        expect(after.objects.filter((one) => ids.has(idOf(one)))).toEqual(before.objects)
        // What the caller sees it may delete, with what is hidden of it, and elements of lists.
        const margins = (rows: readonly unknown[]) =>
          new Map((rows as { id: string; secret: string }[]).map(({ id, secret }) => [id, secret]))
        const [was, is] = [margins(before.secrets), margins(after.secrets)]
        for (const [id, secret] of is) expect([id, secret]).toEqual([id, was.get(id)])
        await fd.close()
      },
    ),
    runs(10),
  )
})
