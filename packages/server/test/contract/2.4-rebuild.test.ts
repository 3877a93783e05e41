/** Whoever follows the changes from the first one on comes to what an export holds: objects, links, and values by the schema of now. */
import { expect } from 'vitest'
import { classOf, type FdUnderTest, reference } from './class-of.ts'
import { useFdPerTest } from './fd-per-test.ts'
import { rule } from './rule.ts'
import type { Loose, ServerUnderTest } from './server-under-test.ts'

let server: ServerUnderTest
let fd: FdUnderTest
useFdPerTest(async (given) => {
  server = given.server
  fd = given.fd
})

const list = (inverse?: string) => ({ logicalType: 'list', elementSpecification: reference('Person', inverse) })
const roles = {
  logicalType: 'map',
  keySpecification: { logicalType: 'string' },
  elementSpecification: reference('Person'),
}

/** Deterministic. */
function numbersBelow(seed: number): (end: number) => number {
  let state = seed
  return (end) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * end)
  }
}

/** Creates, changes, links and deletes, one at a time, in a transaction, or many in one request. */
async function live(steps: number, below: (end: number) => number, years: 'age' | 'years'): Promise<void> {
  const all = async (className: string): Promise<string[]> => {
    const rows = await exported(className)
    return [...rows.keys()]
  }
  let [people, places] = [await all('Person'), await all('Place')]
  const one = (oids: readonly string[]): string => oids[below(oids.length)] as string
  for (let step = 0; step < steps; step++) {
    const kind = people.length < 4 || places.length < 2 ? 0 : below(8)
    if (kind <= 1) {
      const objects = Array.from({ length: 1 + below(3) }, (_, nth) => ({
        class: 'Person',
        attributes: { name: `p${step}.${nth}`, [years]: below(90), ...(places.length > 0 && { home: one(places) }) },
      }))
      const reply = await server.post(fd.at('/v1/object'), objects)
      expect(reply.status, reply.text).toBe(201)
      people.push(...reply.json.map(({ __identifier__ }: Loose) => __identifier__))
      if (places.length < 5) places.push(await fd.create('Place', { title: `t${step}` }))
    } else if (kind === 2) await fd.update(one(people), { [years]: below(90), name: `n${step}` })
    else if (kind === 3) await fd.update(one(people), { home: below(4) === 0 ? null : one(places) })
    else if (kind === 4)
      await fd.update(one(places), { title: `u${step}`, roles: { head: one(people), [`r${below(3)}`]: one(people) } })
    else if (kind === 5) await fd.update(one(places), { guests: people.filter(() => below(3) === 0) })
    else if (kind === 6) {
      const gone = one(below(4) === 0 ? places : people)
      await fd.remove(gone)
      people = people.filter((oid) => oid !== gone)
      places = places.filter((oid) => oid !== gone)
    } else {
      const steps = [
        { method: 'put', uri: `/v1/object/${one(people)}`, body: { attributes: { [years]: below(90) } } },
        { method: 'post', uri: '/v1/object', body: { class: 'Place', attributes: { title: `v${step}` } }, id: 'place' },
        { method: 'put', uri: `/v1/object/${one(people)}`, body: { attributes: { home: `\${place}` } } },
      ]
      const reply = await server.post(fd.at('/v1/transaction'), steps)
      expect(reply.status, reply.text).toBe(200)
    }
  }
}

async function exported(className: string): Promise<Map<string, Loose>> {
  const reply = await server.get(`${fd.at('/v1/export')}&class=${className}`)
  expect(reply.status, reply.text).toBe(200)
  const rows: Loose[] = reply.text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  return new Map(rows.map((row) => [row.__identifier__, row]))
}

interface Followed {
  readonly cls: string
  readonly values: Loose
  /** By attribute: targets, each with its key in a map, or with itself. */
  readonly links: Map<string, [key: string, target: string][]>
}

/** In small pages, each read with the position of the page before. */
async function followed(): Promise<Map<string, Followed>> {
  const objects = new Map<string, Followed>()
  for (let since = 'first'; ; ) {
    const reply = await server.get(`${fd.at('/v1/changes')}&since=${since}&limit=7&include=values`)
    expect(reply.status, reply.text).toBe(200)
    for (const change of reply.json.changes) apply(objects, change)
    since = reply.json.position
    if (reply.json.isAtEnd) return objects
  }
}

function apply(objects: Map<string, Followed>, told: Loose): void {
  const { change, oid, class: cls, attribute, target, key } = told
  if (change === 'schema') return
  expect(objects.has(oid)).toBe(change !== 'created')
  if (change === 'created') objects.set(oid, { cls, values: { ...told.after }, links: new Map() })
  const object = objects.get(oid) as Followed
  if (change === 'updated') Object.assign(object.values, told.after)
  if (change === 'deleted') objects.delete(oid)
  if (change !== 'linked' && change !== 'unlinked') return
  const entries = (object.links.get(attribute) ?? []).filter(([held]) => held !== (key ?? target))
  if (change === 'linked') entries.push([key ?? target, target])
  object.links.set(attribute, entries)
}

/** As an export has it: links in their order are no part of a change. */
function comparable({ values, links }: Followed, attributes: Loose[]): Loose {
  return Object.fromEntries(
    attributes.map(({ attributeName, logicalType, elementSpecification }) => {
      const isLinks = logicalType === 'map' || elementSpecification?.inverseAttribute !== undefined
      const entries = links.get(attributeName) ?? []
      if (logicalType === 'map') return [attributeName, Object.fromEntries(entries)]
      const value = isLinks ? entries.map(([, target]) => target).sort() : values[attributeName]
      return [attributeName, value]
    }),
  )
}

async function expectRebuilt(classNames: readonly string[]): Promise<void> {
  const objects = await followed()
  let count = 0
  for (const className of classNames) {
    const { json } = await server.get(fd.at(`/v1/schema/${className}`))
    const rows = await exported(className)
    count += rows.size
    expect(rows.size).toBeGreaterThan(0)
    for (const [oid, { __class__, __identifier__, ...row }] of rows) {
      const object = objects.get(oid) as Followed
      const sorted = Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          name === 'residents' ? [...(value as string[])].sort() : value,
        ]),
      )
      expect({ oid, cls: object?.cls, ...comparable(object, json.attributes) }).toEqual({
        oid,
        cls: className,
        ...sorted,
      })
    }
  }
  expect(objects.size).toBe(count)
}

rule(['2.4.1', '2.4.2'], 'who follows from the first change on has what an export has', async () => {
  await fd.define(
    classOf('Person', { name: 'string', age: 'integer', home: reference('Place', 'residents'), nick: 'string' }),
    classOf('Place', { title: 'string', residents: list('home'), guests: list(), roles }),
    classOf('Passing', { n: 'integer' }),
  )
  const below = numbersBelow(15)
  await live(120, below, 'age')
  for (let n = 0; n < 3; n++) await fd.create('Passing', { n })
  await expectRebuilt(['Person', 'Place', 'Passing'])
  // What was told before is told by the names and types of now.
  const altered = await server.put(fd.at('/v1/schema/Person'), {
    attributesToDelete: ['nick'],
    attributesToRename: [{ originalName: 'age', newName: 'years' }],
  })
  expect(altered.status, altered.text).toBe(201)
  await live(60, below, 'years')
  const renamed = await server.put(fd.at('/v1/schema/Place'), { classRename: 'Spot' })
  expect(renamed.status, renamed.text).toBe(201)
  await expectRebuilt(['Person', 'Spot', 'Passing'])
  for (const oid of (await exported('Passing')).keys()) await fd.remove(oid)
  const dropped = await server.delete(fd.at('/v1/schema/Passing'))
  expect(dropped.status, dropped.text).toBeLessThan(300)
  await expectRebuilt(['Person', 'Spot'])
})
