/** Objects with very many links: what is done with them on their own side and from that of their partners. */
import type { Figures } from '../rows/figures.ts'
import { type Curve, type Line, upTo } from './curve.ts'
import { type Asked, ask, createMany, measureAsked, type OwnServer, put, withServer } from './own-server.ts'

const pageLinks = 100
const spares = 20_000
/** Of the counts of a run, so that it takes seconds, and no less than can be measured. */
const linksCounted = 20_000_000
const countsMost = 500
const countsLeast = 3

export const hubs: Curve = {
  name: 'hubs',
  title: 'Links of one object',
  async measure(bench, stores, options) {
    const columns = upTo(options.largest, [1_000, 10_000, 100_000, 1_000_000, 10_000_000])
    const name = `hubs-${columns.at(-1)}`
    const measureAll = async (own: OwnServer): Promise<[string, Figures | undefined][][]> => {
      const { hubs, spare } = await stores.once(name, () => fill(own, columns))
      const lists: [string, Figures | undefined][][] = []
      for (const [nth, hub] of hubs.entries()) {
        const list: [string, Figures | undefined][] = []
        for (const [name, asked] of operations(hub, columns[nth] as number, spare))
          list.push([name, await measureAsked(own, asked, options)])
        lists.push(list)
        process.stderr.write(`(${columns[nth]} links)`)
      }
      return lists
    }
    const found = await withServer(bench, measureAll, stores.placeOf(name))
    const names = found[0]?.map(([name]) => name) ?? []
    const lines: Line[] = names.map((name, at) => ({
      name,
      figures: found.map((list) => list[at]?.[1]),
      ...(name === countName ? {} : { most: 1.3 }),
    }))
    const notes = [
      'COUNT reads every entry of the list: there is no counter, which each addition and removal would have to write, and which all of them would contend for.',
    ]
    const reference = columns.indexOf(100_000)
    return { axis: 'links', columns, ...(reference < 0 ? {} : { reference }), lines, notes }
  },
}

const countName = 'COUNT(members)'

interface Hubs {
  readonly hubs: readonly string[]
  /** Objects that belong to no hub. */
  readonly spare: readonly string[]
}

/** A hub of each size, in one store, with members of its own. */
async function fill(own: OwnServer, columns: readonly number[]): Promise<Hubs> {
  const reference = (referencedClass: string, inverseAttribute: string): object => ({
    logicalType: 'reference',
    referencedClass,
    inverseAttribute,
  })
  const name = { attributeName: 'name', logicalType: 'string' }
  await own.client.defineClasses([
    {
      className: 'Hub',
      isReferenceable: true,
      attributes: [
        name,
        { attributeName: 'members', logicalType: 'list', elementSpecification: reference('Member', 'hub') },
      ],
    },
    {
      className: 'Member',
      isReferenceable: true,
      attributes: [name, { attributeName: 'hub', ...reference('Hub', 'members') }],
    },
  ] as never)
  await own.client.createIndex({
    name: 'byName',
    indexedClass: 'Hub',
    isUnique: true,
    keyAttributes: [{ attributeName: 'name' }],
  })
  const hubs = await createMany(own, columns.length, (nth) => ({
    class: 'Hub',
    attributes: { name: `hub ${columns[nth]}` },
  }))
  for (const [nth, links] of columns.entries()) {
    const hub = hubs[nth] as string
    await createMany(own, links, (at) => ({ class: 'Member', attributes: { name: `member ${at}`, hub } }))
  }
  const spare = await createMany(own, spares, (nth) => ({ class: 'Member', attributes: { name: `spare ${nth}` } }))
  return { hubs, spare }
}

function operations(hub: string, links: number, spare: readonly string[]): [string, Asked][] {
  const connections = 32
  const member = (nth: number): string => spare[nth % spare.length] as string
  const onHub = (body: (oid: string) => object) => (nth: number) =>
    put(`/v1/object/${hub}`, { attributes: body(member(nth)) })
  return [
    [
      'add, from the member',
      { connections, count: 4_000, request: (nth) => put(`/v1/object/${member(nth)}`, { attributes: { hub } }) },
    ],
    [
      'remove, from the member',
      { connections, count: 4_000, request: (nth) => put(`/v1/object/${member(nth)}`, { attributes: { hub: null } }) },
    ],
    [
      'add, from the hub',
      { connections, count: 4_000, request: onHub((oid) => ({ members: { action: 'add', elements: [oid] } })) },
    ],
    [
      'remove, from the hub',
      { connections, count: 4_000, request: onHub((oid) => ({ members: { action: 'remove', elements: [oid] } })) },
    ],
    [
      `members[0:${pageLinks}]`,
      {
        connections: 8,
        count: 500,
        request: () => ask(`FROM Hub WHERE $$ID = $h RETURN members[0:${pageLinks}]`, { h: hub }),
      },
    ],
    [
      `the first ${pageLinks} members`,
      {
        connections: 8,
        count: 500,
        request: () => ask(`FROM Member WHERE hub = $h TAKE ${pageLinks} RETURN *`, { h: hub }),
      },
    ],
    [
      'members[0]',
      {
        connections: 8,
        count: 500,
        request: () => ask('FROM Hub WHERE $$ID = $h RETURN members[0], members[-1]', { h: hub }),
      },
    ],
    [
      countName,
      {
        connections: 1,
        count: Math.min(countsMost, Math.max(countsLeast, Math.round(linksCounted / links))),
        request: () => ask('FROM Hub WHERE $$ID = $h RETURN COUNT(members)', { h: hub }),
      },
    ],
  ]
}
