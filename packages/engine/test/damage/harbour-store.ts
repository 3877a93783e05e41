/** A store with what damage can meet: objects of several classes, links of each kind, indexes, long values, and free pages. */
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { classOf, index, toMany, toOne } from '../engine/open-fd.ts'

const classes = [
  classOf('Port', {
    name: 'string',
    city: 'string',
    calls: toMany('Call', 'port'),
    regulars: {
      logicalType: 'set',
      elementSpecification: { logicalType: 'reference', referencedClass: 'Ship', inverseAttribute: 'homes' },
    },
  }),
  classOf('Ship', {
    name: 'string',
    tonnage: 'integer',
    log: 'string',
    calls: toMany('Call', 'ship'),
    homes: {
      logicalType: 'set',
      elementSpecification: { logicalType: 'reference', referencedClass: 'Port', inverseAttribute: 'regulars' },
    },
    agents: { logicalType: 'map', keySpecification: { logicalType: 'string' }, elementSpecification: toOne('Port') },
  }),
  classOf('Call', { port: toOne('Port', 'calls'), ship: toOne('Ship', 'calls'), day: 'integer', notes: 'string' }),
]

export const queries = [
  'FROM Port RETURN name, city',
  'FROM Ship WHERE tonnage > 30000 RETURN name, tonnage',
  "FROM Ship WHERE name >= 'Ship 1' AND name < 'Ship 3' RETURN name, log",
  'FROM Call WHERE day = 17 RETURN day, notes',
  'FROM Call RETURN day, notes',
  'FROM Port ORDER BY name RETURN name',
] as const

/** Made by a fixed order of changes: the same content each time. Returns the OIDs of all objects that are left. */
export async function makeHarbourStore(directory: string, scale: number): Promise<string[]> {
  const fd = await openHarbour(directory)
  await fd.defineClasses(classes, 'create')
  await fd.createIndex(index('byName', 'Ship', true, 'name'))
  await fd.createIndex(index('byDay', 'Call', false, 'day'))
  await fd.createIndex(index('byCity', 'Port', false, 'city'))
  const ports = await createAll(fd, 'Port', 20, (n) => ({ name: `Port ${n}`, city: `City of ${n % 7}` }))
  const ships = await createAll(fd, 'Ship', 4 * scale, (n) => ({
    name: `Ship ${n}`,
    tonnage: n * 997,
    log: `${n} `.repeat(n % 40 === 0 ? 3_000 : 20),
    homes: [ports[n % 20], ports[(n * 7 + 1) % 20]].filter((port, at, all) => all.indexOf(port) === at),
  }))
  const calls = await createAll(fd, 'Call', 16 * scale, (n) => ({
    port: ports[(n * 3) % 20],
    ship: ships[(n * 5) % ships.length],
    day: n % 365,
    notes: `call ${n} of the ship, ${'cargo '.repeat(n % 12)}`,
  }))
  const gone = new Set(calls.filter((_oid, n) => n % 11 === 0))
  for (const oid of gone) await fd.deleteObject(oid)
  await fd.close()
  return [...ports, ...ships, ...calls.filter((oid) => !gone.has(oid))]
}

export async function openHarbour(directory: string): Promise<FederatedDatabase> {
  return FederatedDatabase.open({ alias: 'harbour', store: await openStore(`lmdb:${directory}`) })
}

async function createAll(
  fd: FederatedDatabase,
  name: string,
  count: number,
  attributes: (n: number) => Record<string, unknown>,
): Promise<string[]> {
  const oids: string[] = []
  for (let n = 0; n < count; n += 200) {
    const requests = Array.from({ length: Math.min(200, count - n) }, (_, at) => {
      return { class: name, attributes: attributes(n + at) as never }
    })
    oids.push(...(await fd.createObjects(requests)))
  }
  return oids
}
