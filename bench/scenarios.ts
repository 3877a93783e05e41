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
  await client.putSchema(vehicleSchema)
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
  const oids: string[] = []
  while (oids.length < objects) {
    const batch = Array.from({ length: createdAtOnce }, () => client.createObject('Vehicle', nextVehicle()))
    for (const { __identifier__ } of await Promise.all(batch)) oids.push(__identifier__)
  }
  return { oids, nextVehicle }
}

export function readScenario({ oids }: Fleet): Scenario {
  return { name: 'read', connections: 64, next: () => ({ method: 'GET', path: `/v1/object/${pick(oids)}` }) }
}

export function writeScenarios({ oids, nextVehicle }: Fleet): Scenario[] {
  let deleted = 0
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
      amount: oids.length,
      next: () => ({ method: 'DELETE', path: `/v1/object/${oids[deleted++]}` }),
    },
  ]
}

function pick(oids: readonly string[]): string {
  return oids[Math.floor(Math.random() * oids.length)] as string
}
