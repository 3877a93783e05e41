/** What a benchmark run asks of the server, one operation at a time. */
import type { AshlarClient } from '@ashlar/client'
import type { Scenario } from './load.ts'
import { vehicleIndexes, vehicleSchema } from './vehicles.ts'

const modelCount = 50
const createdAtOnce = 64

/** The server's contents: vehicles by OID, and the attributes of the next one. */
export interface Fleet {
  readonly oids: readonly string[]
  nextVehicle(): Record<string, unknown>
}

export async function fillFleet(client: AshlarClient, objects: number): Promise<Fleet> {
  await client.defineClasses(vehicleSchema)
  for (const index of vehicleIndexes) await client.createIndex(index)
  const models: string[] = []
  for (let i = 0; i < modelCount; i++) {
    models.push((await client.createObject('Model', { name: `model ${i}` })).__identifier__)
  }
  let made = 0
  const nextVehicle = (): Record<string, unknown> => {
    const n = made++
    const model = models[n % modelCount]
    return { license: `L-${n}`, make: 'Ashlar', year: 1980 + (n % 45), available: n % 2 === 0, mileage: n * 7, model }
  }
  const fleet = { oids: [] as string[], nextVehicle }
  while (fleet.oids.length < objects) fleet.oids.push(...(await createVehicles(client, fleet)))
  return fleet
}

/** The OIDs of a few more. */
export async function createVehicles(client: AshlarClient, { nextVehicle }: Fleet): Promise<string[]> {
  const batch = Array.from({ length: createdAtOnce }, () => client.createObject('Vehicle', nextVehicle()))
  return (await Promise.all(batch)).map(({ __identifier__ }) => __identifier__)
}

export function readScenario({ oids }: Fleet): Scenario {
  return { name: 'read', connections: 64, next: () => ({ method: 'GET', path: `/v1/object/${pick(oids)}` }) }
}

/** One object by its unique key, and a hundred by the index on the year. */
export function queryScenarios({ oids }: Fleet): Scenario[] {
  const asked = (query: string, parameters: object) => {
    return { method: 'POST' as const, path: '/v1/query', body: JSON.stringify({ query, parameters }) }
  }
  return [
    {
      name: 'equality',
      connections: 64,
      next: () => {
        return asked('FROM Vehicle WHERE license = $l RETURN *', { l: `L-${Math.floor(Math.random() * oids.length)}` })
      },
    },
    {
      name: 'range',
      connections: 16,
      next: () => {
        const y = 1980 + Math.floor(Math.random() * 45)
        return asked('FROM Vehicle WHERE year = $y TAKE 100 RETURN *', { y })
      },
    },
  ]
}

/** A hundred creations as one transaction. */
export function bulkScenario({ nextVehicle }: Fleet): Scenario {
  const operations = (): object[] =>
    Array.from({ length: 100 }, () => ({
      method: 'post',
      uri: '/v1/object',
      body: { class: 'Vehicle', attributes: nextVehicle() },
    }))
  return {
    name: 'bulk',
    connections: 8,
    next: () => ({ method: 'POST', path: '/v1/transaction', body: JSON.stringify(operations()) }),
  }
}

/** `doomed`: the objects to be deleted, of which each request takes the last. */
export function writeScenarios({ oids, nextVehicle }: Fleet, doomed: string[]): Scenario[] {
  return [
    {
      name: 'create',
      connections: 32,
      next: () => ({
        method: 'POST',
        path: '/v1/object',
        body: JSON.stringify({ class: 'Vehicle', attributes: nextVehicle() }),
      }),
    },
    {
      name: 'update',
      connections: 32,
      next: () => ({
        method: 'PUT',
        path: `/v1/object/${pick(oids)}`,
        body: JSON.stringify({ attributes: { mileage: Math.floor(Math.random() * 1e6), available: true } }),
      }),
    },
    {
      name: 'delete',
      connections: 32,
      amount: doomed.length,
      next: () => ({ method: 'DELETE', path: `/v1/object/${doomed.pop()}` }),
    },
  ]
}

function pick(oids: readonly string[]): string {
  return oids[Math.floor(Math.random() * oids.length)] as string
}
