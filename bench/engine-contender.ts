/** The work that benchmarks on PostgreSQL measure, done by the engine; and how its rate is measured. */
import { randomBytes } from 'node:crypto'
import { FederatedDatabase } from '../packages/engine/src/federated-database.ts'
import type { Store } from '../packages/engine/src/store/store.ts'

export const inFlight = 32
export const measureMs = Number(process.env.BENCH_SECONDS ?? 3) * 1_000
export const filled = 20_000
export const bulkObjects = 500

/** Does the work once; returns how many operations that was. */
export type Work = (nth: number) => Promise<number>

export interface Contender {
  readonly create: Work
  readonly read: Work
  readonly update: Work
  readonly equality: Work
  readonly range: Work
  readonly bulk: Work
}

export const license = (): string => randomBytes(6).toString('hex')
export const anyOf = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T
export const yearOf = (nth: number, rangeRows: number): number => Math.floor(nth / rangeRows)

export type EngineContender = Contender & { readonly fd: FederatedDatabase }

/** Fills an empty store with objects of which `rangeRows` each have the same year. */
export async function engineContender(store: Store, rangeRows: number): Promise<EngineContender> {
  const fd = await FederatedDatabase.open({ alias: 'bench', store })
  const attributes = [
    { attributeName: 'license', logicalType: 'string' },
    { attributeName: 'year', logicalType: 'integer' },
    { attributeName: 'mileage', logicalType: 'integer' },
  ]
  await fd.defineClasses([{ className: 'Vehicle', isReferenceable: true, attributes }], 'create')
  for (const [attributeName, isUnique] of [
    ['license', true],
    ['year', false],
  ] as const) {
    const index = { name: attributeName, indexedClass: 'Vehicle', isUnique, keyAttributes: [{ attributeName }] }
    await fd.createIndex(index)
  }
  const known: { oid: string; license: string }[] = []
  const vehicle = (nth: number) => ({ license: license(), year: yearOf(nth, rangeRows), mileage: nth })
  for (let nth = 0; nth < filled; nth += bulkObjects) {
    const requests = Array.from({ length: bulkObjects }, (_, i) => ({ class: 'Vehicle', attributes: vehicle(nth + i) }))
    const oids = await fd.createObjects(requests)
    for (const [i, oid] of oids.entries()) known.push({ oid, license: requests[i]?.attributes.license ?? '' })
  }
  const rows = async (text: string, parameters: Record<string, unknown>): Promise<number> => {
    const { chunks } = await fd.query({ text, parameters })
    let bytes = 0
    for await (const chunk of chunks) bytes += chunk.bytes.length
    return bytes
  }
  return {
    create: async (nth) => (await fd.createObject('Vehicle', { ...vehicle(nth), year: -1 })).length && 1,
    read: async () => (await fd.readObject(anyOf(known).oid)).length && 1,
    update: async (nth) => fd.updateObject(anyOf(known).oid, { mileage: nth }).then(() => 1),
    equality: async () => (await rows('FROM Vehicle WHERE license = $l RETURN *', { l: anyOf(known).license })) && 1,
    range: async (nth) =>
      (await rows('FROM Vehicle WHERE year = $y RETURN *', { y: yearOf(nth % filled, rangeRows) })) && 1,
    async bulk(nth) {
      const attributes = (i: number) => ({ ...vehicle(nth * bulkObjects + i), year: -1 })
      const requests = Array.from({ length: bulkObjects }, (_, i) => ({ class: 'Vehicle', attributes: attributes(i) }))
      return (await fd.createObjects(requests)).length
    },
    fd,
  }
}

/** Operations a second, with some under way at any time. */
export async function rate(work: Work): Promise<number> {
  const start = performance.now()
  let [done, nth] = [0, 0]
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() - start < measureMs) {
        // The sum is read after the wait: others add to it meanwhile.
        const more = await work(nth++)
        done += more
      }
    }),
  )
  return (done / (performance.now() - start)) * 1_000
}
