/** Requests that kept other clients waiting, by the name under which each is asked for: what it needs in the store, and what it sends. */
import { gzipSync } from 'node:zlib'
import { type Exchanged, exchange } from './exchange.ts'

export interface Entry {
  readonly name: string
  /** With its size. */
  readonly what: string
  /** Its load takes minutes: it is measured only where it is asked for by name. */
  readonly isLong?: boolean
  prepare?(url: string): Promise<Prepared>
  run(url: string, prepared: Prepared): Promise<readonly Exchanged[]>
}

/** OIDs that `run` needs. */
export type Prepared = readonly string[]

const createdAtOnce = 5_000

const itemAttributes = [
  { attributeName: 'code', logicalType: 'string' },
  { attributeName: 'n', logicalType: 'integer' },
  { attributeName: 'm', logicalType: 'integer' },
]

async function expected(reply: Promise<Exchanged>): Promise<Exchanged> {
  const got = await reply
  if (got.status < 200 || got.status > 299) throw new Error(`not loaded: ${got.status} ${got.text.slice(0, 400)}`)
  return got
}

async function define(url: string, ...classes: readonly object[]): Promise<void> {
  await expected(exchange(url, 'PUT', '/v1/schema', classes))
}

async function created(url: string, className: string, attributes: object): Promise<string> {
  const reply = await expected(exchange(url, 'POST', '/v1/object', { class: className, attributes }))
  return (JSON.parse(reply.text) as { __identifier__: string }).__identifier__
}

async function createMany(url: string, count: number, more: object = {}): Promise<string[]> {
  const oids: string[] = []
  for (let at = 0; at < count; at += createdAtOnce) {
    const operations = Array.from({ length: Math.min(createdAtOnce, count - at) }, (_, i) => {
      return { method: 'POST', uri: '/v1/object', body: { class: 'Item', attributes: { ...item(at + i), ...more } } }
    })
    const { text } = await expected(exchange(url, 'POST', '/v1/transaction', operations))
    for (const { result } of JSON.parse(text) as { result: { __identifier__: string } }[])
      oids.push(result.__identifier__)
  }
  return oids
}

function item(i: number): object {
  return { code: `item ${i} of the load`, n: i, m: i % 1_000 }
}

async function items(url: string, count: number): Promise<string[]> {
  await define(url, { className: 'Item', isReferenceable: true, attributes: itemAttributes })
  for (const name of ['n', 'm']) {
    const index = { name, isUnique: false, indexedClass: 'Item', keyAttributes: [{ attributeName: name }] }
    await expected(exchange(url, 'POST', '/v1/index', index))
  }
  return createMany(url, count)
}

/** Items, and an object that refers to all of them: by links where `hub` is the inverse, else by a list in its record. */
async function referring(url: string, count: number, isLinked: boolean): Promise<Prepared> {
  const hub = {
    attributeName: 'hub',
    logicalType: 'reference',
    referencedClass: 'Hub',
    ...(isLinked ? { inverseAttribute: 'items' } : {}),
  }
  const elementSpecification = {
    logicalType: 'reference',
    referencedClass: 'Item',
    ...(isLinked ? { inverseAttribute: 'hub' } : {}),
  }
  await define(
    url,
    { className: 'Item', isReferenceable: true, attributes: [...itemAttributes, hub] },
    {
      className: 'Hub',
      isReferenceable: true,
      attributes: [
        { attributeName: 'title', logicalType: 'string' },
        { attributeName: 'items', logicalType: 'list', elementSpecification },
      ],
    },
  )
  const oids = await createMany(url, count)
  return [await created(url, 'Hub', { items: oids }), ...oids]
}

function query(url: string, text: string): Promise<Exchanged> {
  return exchange(url, 'POST', '/v1/query', { query: text })
}

async function oneOf(reply: Promise<Exchanged>): Promise<readonly Exchanged[]> {
  return [await reply]
}

function subclasses(superClass: string, count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    className: `${superClass}${i}`,
    isReferenceable: true,
    superClass,
    attributes: [],
  }))
}

const references = 190_000
/** Names count as values. */
const pairs = 95_000

/** Items, a holder with an empty set or map of them in its record, as embedded ones are, and one with links. */
async function holder(url: string, logicalType: 'set' | 'map'): Promise<Prepared> {
  const elementSpecification = { logicalType: 'reference', referencedClass: 'Item' }
  const all = { attributeName: 'all', logicalType, elementSpecification }
  const embedded = { attributeName: 'inner', logicalType: 'object', class: 'Inner' }
  await define(
    url,
    { className: 'Item', isReferenceable: true, attributes: itemAttributes },
    { className: 'Inner', isReferenceable: false, attributes: [all] },
    { className: 'Holder', isReferenceable: true, attributes: [all, embedded] },
  )
  const oids = await createMany(url, logicalType === 'set' ? references : pairs)
  return [await created(url, 'Holder', {}), ...oids]
}

/** A holder whose collection of all items, in a record or as links, is named `all` or `inner.all`. */
async function held(url: string, logicalType: 'set' | 'map'): Promise<Prepared> {
  const [holderOid, ...oids] = (await holder(url, logicalType)) as [string, ...string[]]
  const all = logicalType === 'set' ? shuffled(oids) : byName(oids)
  for (const attributes of [{ all }, { inner: { all } }])
    await expected(exchange(url, 'PUT', `/v1/object/${holderOid}`, { attributes }))
  return [holderOid]
}

const computedLines = 20_000

/** An object with a list of 20,000 embedded objects that have two computed attributes, one of which names the other, or empty. */
async function computing(url: string, lines: readonly object[]): Promise<Prepared> {
  const [price, count] = ['price', 'count'].map((attributeName) => ({ attributeName, logicalType: 'integer' }))
  const computed = ([attributeName, expression]: readonly [string, string]): object => {
    return { attributeName, logicalType: 'integer', computed: { expression } }
  }
  const elementSpecification = { logicalType: 'object', class: 'Line' }
  await define(
    url,
    {
      className: 'Line',
      isReferenceable: false,
      attributes: [
        price,
        count,
        ...(
          [
            ['total', 'price * count'],
            ['gross', 'total + total / 5'],
          ] as const
        ).map(computed),
      ],
    },
    {
      className: 'Order',
      isReferenceable: true,
      attributes: [
        { attributeName: 'title', logicalType: 'string' },
        { attributeName: 'lines', logicalType: 'list', elementSpecification },
      ],
    },
  )
  return [await created(url, 'Order', { lines })]
}

function orderLines(count: number): object[] {
  return Array.from({ length: computedLines }, (_, price) => ({ price, count }))
}

const longText = 'z'.repeat(8 * 2 ** 20)
/** Of as many bytes, which JSON escapes in one place. */
const longForeignText = `"${'ж€z'.repeat((8 * 2 ** 20) / 6)}`

async function longTexts(url: string, count: number, text = longText): Promise<Prepared> {
  const attributes = [{ attributeName: 'text', logicalType: 'string' }]
  await define(url, { className: 'Long', isReferenceable: true, attributes })
  const oids: string[] = []
  for (let i = 0; i < count; i++) oids.push(await created(url, 'Long', { text: `${text}${i}` }))
  return oids
}

function shuffled(oids: readonly string[]): string[] {
  return oids.map((_, i) => oids[(i * 7_919) % oids.length] as string)
}

function byName(oids: readonly string[]): Record<string, string> {
  return Object.fromEntries(shuffled(oids).map((oid, i) => [`name ${(i * 104_729) % oids.length}`, oid]))
}

export const entries: readonly Entry[] = [
  {
    name: 'update',
    what: 'UPDATE of 200,000 objects, two indexes on what changes (3.9)',
    prepare: (url) => items(url, 200_000),
    run: (url) => oneOf(query(url, 'UPDATE Item SET n TO n + 1 SET m TO m + 1 RETURN COUNT()')),
  },
  {
    name: 'update-wide',
    what: 'UPDATE of 55,000 objects of 2.3 kB, nearly the most bytes that one change may write (3.9)',
    isLong: true,
    async prepare(url) {
      const text = { attributeName: 'text', logicalType: 'string' }
      await define(url, { className: 'Item', isReferenceable: true, attributes: [...itemAttributes, text] })
      return createMany(url, 55_000, { text: 'x'.repeat(2_300) })
    },
    run: (url) => oneOf(query(url, 'UPDATE Item SET n TO n + 1 RETURN COUNT()')),
  },
  {
    name: 'create-array',
    what: 'an array of 85,000 objects, nearly the most values that a body may have, two indexes',
    prepare: (url) => items(url, 0),
    run: (url) => {
      const objects = Array.from({ length: 85_000 }, (_, i) => ({ class: 'Item', attributes: item(i) }))
      return oneOf(exchange(url, 'POST', '/v1/object', objects))
    },
  },
  {
    name: 'delete',
    what: 'DELETE of 200,000 objects, two indexes (3.9)',
    prepare: (url) => items(url, 200_000),
    run: (url) => oneOf(query(url, 'DELETE Item RETURN COUNT()')),
  },
  {
    name: 'update-million',
    what: 'UPDATE of 640,000 of a million objects, two indexes (3.9)',
    isLong: true,
    prepare: (url) => items(url, 1_000_000),
    run: (url) => oneOf(query(url, 'UPDATE Item WHERE n < 640000 SET m TO m + 1 RETURN COUNT()')),
  },
  {
    name: 'statistics',
    what: 'Statistics over 200,000 objects, two indexes (3.9)',
    prepare: (url) => items(url, 200_000),
    run: (url) => oneOf(exchange(url, 'POST', '/v1/tool', { tool: 'Statistics', flags: {} })),
  },
  {
    name: 'hub-delete',
    what: 'DELETE of a hub of 190,000 links (3.9)',
    prepare: (url) => referring(url, references, true),
    run: (url, [hub]) => oneOf(exchange(url, 'DELETE', `/v1/object/${hub}`)),
  },
  {
    name: 'hub-read',
    what: 'GET of a hub of 190,000 links (3.9)',
    prepare: (url) => referring(url, references, true),
    run: (url, [hub]) => oneOf(exchange(url, 'GET', `/v1/object/${hub}`)),
  },
  {
    name: 'references-update',
    what: 'PUT of a title beside a list of 190,000 references (3.9)',
    prepare: (url) => referring(url, references, false),
    run: (url, [hub]) => oneOf(exchange(url, 'PUT', `/v1/object/${hub}`, { attributes: { title: 'new' } })),
  },
  {
    name: 'references-read',
    what: 'GET of an object with a list of 190,000 references (3.9)',
    prepare: (url) => referring(url, references, false),
    run: (url, [hub]) => oneOf(exchange(url, 'GET', `/v1/object/${hub}`)),
  },
  {
    name: 'references-set',
    what: 'PUT of a list of 190,000 references (3.9)',
    prepare: (url) => referring(url, references, false),
    run: (url, [hub, ...oids]) =>
      oneOf(exchange(url, 'PUT', `/v1/object/${hub}`, { attributes: { items: oids.toReversed() } })),
  },
  {
    name: 'set-set',
    what: 'PUT of a set of 190,000 references, in no order',
    prepare: (url) => holder(url, 'set'),
    run: (url, [oid, ...oids]) =>
      oneOf(exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { all: shuffled(oids) } })),
  },
  {
    name: 'set-embedded',
    what: 'PUT of a set of 190,000 references within an embedded object, in no order',
    prepare: (url) => holder(url, 'set'),
    run: (url, [oid, ...oids]) =>
      oneOf(exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { inner: { all: shuffled(oids) } } })),
  },
  {
    name: 'map-set',
    what: 'PUT of a map of 95,000 references by texts, in no order',
    prepare: (url) => holder(url, 'map'),
    run: (url, [oid, ...oids]) =>
      oneOf(exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { all: byName(oids) } })),
  },
  {
    name: 'map-embedded',
    what: 'PUT of a map of 95,000 references by texts within an embedded object, in no order',
    prepare: (url) => holder(url, 'map'),
    run: (url, [oid, ...oids]) =>
      oneOf(exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { inner: { all: byName(oids) } } })),
  },
  {
    name: 'set-query',
    what: 'FROM of an object with sets of 190,000 references, as links and in an embedded object',
    prepare: (url) => held(url, 'set'),
    run: (url) => oneOf(query(url, 'FROM Holder RETURN *')),
  },
  {
    name: 'set-values',
    what: 'RETURN of those sets',
    prepare: (url) => held(url, 'set'),
    run: (url) => oneOf(query(url, 'FROM Holder RETURN all, inner')),
  },
  {
    name: 'map-read',
    what: 'GET of an object with maps of 95,000 references by texts, as links and in an embedded object',
    prepare: (url) => held(url, 'map'),
    run: (url, [oid]) => oneOf(exchange(url, 'GET', `/v1/object/${oid}`)),
  },
  {
    name: 'map-query',
    what: 'FROM of such an object',
    prepare: (url) => held(url, 'map'),
    run: (url) => oneOf(query(url, 'FROM Holder RETURN *')),
  },
  {
    name: 'map-values',
    what: 'RETURN of those maps',
    prepare: (url) => held(url, 'map'),
    run: (url) => oneOf(query(url, 'FROM Holder RETURN all, inner')),
  },
  {
    name: 'computed-create',
    what: 'POST of an object with 20,000 embedded objects that have computed attributes',
    prepare: (url) => computing(url, []),
    run: (url) => oneOf(exchange(url, 'POST', '/v1/object', { class: 'Order', attributes: { lines: orderLines(1) } })),
  },
  {
    name: 'computed-set',
    what: 'PUT of 20,000 embedded objects that have computed attributes',
    prepare: (url) => computing(url, orderLines(1)),
    run: (url, [oid]) => oneOf(exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { lines: orderLines(2) } })),
  },
  {
    name: 'computed-back',
    what: 'PUT of them as they were read',
    prepare: (url) => computing(url, orderLines(1)),
    async run(url, [oid]) {
      const { text } = await expected(exchange(url, 'GET', `/v1/object/${oid}`))
      const { lines } = JSON.parse(text) as { lines: object[] }
      return oneOf(exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { lines } }))
    },
  },
  {
    name: 'computed-beside',
    what: 'PUT of a title beside them',
    prepare: (url) => computing(url, orderLines(1)),
    run: (url, [oid]) => oneOf(exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { title: 'new' } })),
  },
  {
    name: 'computed-remove',
    what: 'PUT that removes one of them',
    prepare: (url) => computing(url, orderLines(1)),
    run(url, [oid]) {
      const lines = { action: 'remove', elements: [{ price: 4, count: 1 }] }
      return oneOf(exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { lines } }))
    },
  },
  {
    name: 'computed-update',
    what: 'UPDATE that adds one',
    prepare: (url) => computing(url, orderLines(1)),
    run: (url) => oneOf(query(url, 'UPDATE Order ADD Line{price: 4} TO lines')),
  },
  {
    name: 'computed-read',
    what: 'GET of them',
    prepare: (url) => computing(url, orderLines(1)),
    run: (url, [oid]) => oneOf(exchange(url, 'GET', `/v1/object/${oid}`)),
  },
  {
    name: 'computed-query',
    what: 'FROM of them',
    prepare: (url) => computing(url, orderLines(1)),
    run: (url) => oneOf(query(url, 'FROM Order RETURN *')),
  },
  {
    name: 'computed-values',
    what: 'RETURN of them',
    prepare: (url) => computing(url, orderLines(1)),
    run: (url) => oneOf(query(url, 'FROM Order RETURN lines')),
  },
  {
    name: 'references-query',
    what: 'FROM of an object with a list of 190,000 references',
    prepare: (url) => referring(url, references, false),
    run: (url) => oneOf(query(url, 'FROM Hub RETURN *')),
  },
  {
    name: 'references-remove',
    what: 'remove 10,000 of a list of 20,000 references (3.2)',
    prepare: (url) => referring(url, 20_000, false),
    run(url, [hub, ...oids]) {
      const change = { action: 'remove', elements: oids.slice(0, 10_000) }
      return oneOf(exchange(url, 'PUT', `/v1/object/${hub}`, { attributes: { items: change } }))
    },
  },
  {
    name: 'hub-create',
    what: 'a transaction of 10,000 creations linked to one hub (3.2)',
    prepare: (url) => referring(url, 1, true),
    run(url, [hub]) {
      const operations = Array.from({ length: 10_000 }, (_, i) => {
        return { method: 'POST', uri: '/v1/object', body: { class: 'Item', attributes: { ...item(i), hub } } }
      })
      return oneOf(exchange(url, 'POST', '/v1/transaction', operations))
    },
  },
  {
    name: 'verify',
    what: 'Verify with a list of 190,000 references, and a hub of as many links (3.2)',
    prepare: (url) => referring(url, references, false),
    run: (url) => oneOf(exchange(url, 'POST', '/v1/tool', { tool: 'Verify', flags: {} })),
  },
  {
    name: 'values',
    what: 'a gzip body of 63 MiB of [{},{},…] (3.2)',
    async prepare(url) {
      await items(url, 1)
      return []
    },
    run(url) {
      const body = gzipSync(Buffer.concat([Buffer.from('['), Buffer.alloc(63 * 2 ** 20, '{},'), Buffer.from('{}]')]))
      return oneOf(exchange(url, 'POST', '/v1/transaction', body, { 'content-encoding': 'gzip' }))
    },
  },
  {
    name: 'schema-change',
    what: 'a class more, beside one of 900 attributes with 2,000 subclasses (3.2)',
    async prepare(url) {
      const attributes = Array.from({ length: 900 }, (_, i) => ({ attributeName: `a${i}`, logicalType: 'integer' }))
      await define(url, { className: 'Wide', isReferenceable: true, attributes })
      await define(url, ...subclasses('Wide', 2_000))
      return []
    },
    run(url) {
      const attributes = [{ attributeName: 'more', logicalType: 'integer' }]
      return oneOf(exchange(url, 'PUT', '/v1/schema', [{ className: 'Late', isReferenceable: true, attributes }]))
    },
  },
  {
    name: 'schema-read',
    what: 'ten GET /v1/schema of 5,000 classes at once (3.2)',
    async prepare(url) {
      await define(url, { className: 'Top', isReferenceable: true, attributes: itemAttributes })
      await define(url, ...subclasses('Top', 5_000))
      return []
    },
    run: (url) => Promise.all(Array.from({ length: 10 }, () => exchange(url, 'GET', '/v1/schema'))),
  },
  {
    name: 'texts',
    what: '25 doublings of a text, then 30 × UPPER (3.1)',
    run(url) {
      const doublings = 'LET x = $x + $x; '.repeat(25)
      return oneOf(
        query(url, `LET x = 'x'; ${doublings}${'LET y = UPPER($x); LET x = $y; '.repeat(30)}SHOW LENGTH($x)`),
      )
    },
  },
  {
    name: 'substring',
    what: '27 doublings of a text, then SUBSTRING (3.1)',
    run: (url) => oneOf(query(url, `LET x = 'x'; ${'LET x = $x + $x; '.repeat(27)}SHOW SUBSTRING($x, 1, 5)`)),
  },
  {
    name: 'lists',
    what: '30 doublings of a list, then SHOW (3.1)',
    run: (url) => oneOf(query(url, `LET l = LIST{1}; ${'LET l = LIST{$l, $l}; '.repeat(30)}SHOW $l`)),
  },
  {
    name: 'sorts',
    what: '1,000 sorts of 20,000 objects at once (3.8)',
    prepare: (url) => items(url, 20_000),
    run: (url) =>
      Promise.all(Array.from({ length: 1_000 }, () => query(url, 'FROM Item ORDER BY code DESC TAKE 10 RETURN code'))),
  },
  {
    name: 'sort-texts',
    what: 'ORDER BY of 8 texts of 8 MiB that differ at their ends',
    prepare: (url) => longTexts(url, 8),
    run: (url) => oneOf(query(url, 'FROM Long ORDER BY text DESC TAKE 1 RETURN $$ID')),
  },
  {
    name: 'read-texts',
    what: 'GET of an object of 8 MiB, 25 at once',
    prepare: (url) => longTexts(url, 1),
    run: (url, [oid]) => Promise.all(Array.from({ length: 25 }, () => exchange(url, 'GET', `/v1/object/${oid}`))),
  },
  {
    name: 'sort-foreign-texts',
    what: 'ORDER BY of 8 texts of 8 MiB that are not ASCII and differ at their ends',
    prepare: (url) => longTexts(url, 8, longForeignText),
    run: (url) => oneOf(query(url, 'FROM Long ORDER BY text DESC TAKE 1 RETURN $$ID')),
  },
  {
    name: 'read-foreign-text',
    what: 'GET, RETURN and LENGTH of a text of 8 MiB that is not ASCII and needs an escape',
    prepare: (url) => longTexts(url, 1, longForeignText),
    async run(url, [oid]) {
      return [
        await exchange(url, 'GET', `/v1/object/${oid}`),
        await query(url, 'FROM Long RETURN text'),
        await query(url, 'FROM Long RETURN LENGTH(text)'),
      ]
    },
  },
  {
    name: 'write-text',
    what: 'a creation and ten changes of an object of 8 MiB, one after the other',
    prepare: (url) => longTexts(url, 1),
    async run(url, [oid]) {
      const replies = [await exchange(url, 'POST', '/v1/object', { class: 'Long', attributes: { text: longText } })]
      for (let i = 0; i < 10; i++)
        replies.push(await exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { text: `${i}${longText}` } }))
      return replies
    },
  },
  {
    name: 'write-foreign-text',
    what: 'the same of text that is not ASCII',
    prepare: (url) => longTexts(url, 1, longForeignText),
    async run(url, [oid]) {
      const replies: Exchanged[] = []
      for (let i = 0; i < 10; i++)
        replies.push(
          await exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { text: `${i}${longForeignText}` } }),
        )
      return replies
    },
  },
  {
    name: 'nested-body',
    what: 'a body of 63 MiB of brackets that open, and a query of as many parentheses as it may have',
    async run(url) {
      const brackets = gzipSync(Buffer.alloc(63 * 2 ** 20, '['))
      return [
        await exchange(url, 'POST', '/v1/transaction', brackets, { 'content-encoding': 'gzip' }),
        await query(url, `SHOW ${'('.repeat(30_000)}1${')'.repeat(30_000)}`),
      ]
    },
  },
  {
    name: 'zipped-text',
    what: 'a gzip body of one text of 63 MiB',
    async prepare(url) {
      await items(url, 1)
      return []
    },
    run(url) {
      const text = Buffer.alloc(63 * 2 ** 20, ' ')
      const body = gzipSync(Buffer.concat([Buffer.from('{"query":"SHOW 1'), text, Buffer.from('"}')]))
      return oneOf(exchange(url, 'POST', '/v1/query', body, { 'content-encoding': 'gzip' }))
    },
  },
  {
    name: 'update-beside',
    what: 'UPDATE of 10,000 objects beside 8 clients that PUT one of them (3.9)',
    prepare: (url) => items(url, 10_000),
    async run(url, [oid]) {
      let isOver = false
      async function writer(): Promise<void> {
        for (let n = 0; !isOver; n++) await exchange(url, 'PUT', `/v1/object/${oid}`, { attributes: { m: n } })
      }
      const writers = Array.from({ length: 8 }, writer)
      const reply = await query(url, 'UPDATE Item SET n TO n + 1 RETURN COUNT()')
      isOver = true
      await Promise.all(writers)
      return [reply]
    },
  },
]
