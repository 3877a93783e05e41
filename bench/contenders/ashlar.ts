/** Ashlar as it is built in a checkout, with its store in a directory or on PostgreSQL. */
import { AshlarClient } from '@ashlar/client'
import { startChild } from '../child-server.ts'
import type { BenchRequest } from '../load/load.ts'
import { programOf, withoutChangeLog } from '../program.ts'
import { makerCount, modelCount, rangeRows, type Vehicle, vehicleIndexes, vehicleSchema } from '../vehicles.ts'
import type { ContenderKind, RequestForms } from './contender.ts'
import { freshDirectory } from './directories.ts'

export interface AshlarOptions {
  readonly name?: string
  readonly checkout?: string
  /** With the request log, which the figures are without. */
  readonly hasLog?: boolean
  /** Further options of `ashlar serve`. */
  readonly more?: readonly string[]
}

export function ashlar({
  name = 'Ashlar',
  checkout = '.',
  hasLog = false,
  more = [],
}: AshlarOptions = {}): ContenderKind {
  const level = hasLog ? 'info' : 'warn'
  return {
    name,
    freshPlace: freshDirectory,
    start: ({ address }, core) => {
      const words = ['serve', '--port', '0', '--fd', `bench=lmdb:${address}`, '--log-level', level, ...more]
      return startChild([programOf(checkout), ...words, ...withoutChangeLog('bench', checkout)], { core })
    },
    setUp: setUpAshlar,
  }
}

export function ashlarOn(
  places: Pick<ContenderKind, 'freshPlace'>,
  beside: readonly number[],
  checkout = '.',
): ContenderKind {
  return {
    name: 'Ashlar on PostgreSQL',
    ...places,
    start: ({ address }, core) => {
      const words = ['serve', '--port', '0', '--fd', `bench=${address}`, '--log-level', 'warn']
      return startChild([programOf(checkout), ...words, ...withoutChangeLog('bench', checkout)], { core, beside })
    },
    setUp: setUpAshlar,
  }
}

export async function setUpAshlar(url: string): Promise<RequestForms> {
  const client = new AshlarClient({ baseUrl: url })
  await client.defineClasses(vehicleSchema)
  for (const index of vehicleIndexes) await client.createIndex(index)
  const create = async (className: string, attributes: Record<string, unknown>): Promise<string> => {
    return (await client.createObject(className, attributes)).__identifier__
  }
  const makers: string[] = []
  for (let nth = 0; nth < makerCount; nth++) makers.push(await create('Maker', { name: `maker ${nth}` }))
  const models: string[] = []
  for (let nth = 0; nth < modelCount; nth++) {
    models.push(await create('Model', { name: `model ${nth}`, maker: makers[nth % makerCount] }))
  }
  return formsOf(models, await takesArrays(url))
}

/** How a server is asked whose store was set up before. */
export async function formsAgain(url: string): Promise<RequestForms> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ query: 'FROM Model RETURN *' })
  const reply = await fetch(`${url}/v1/query`, { method: 'POST', headers, body })
  if (!reply.ok) throw new Error(await reply.text())
  const found = (await reply.json()) as readonly { readonly __identifier__: string; readonly name: string }[]
  const models: string[] = []
  for (const { __identifier__, name } of found) models[Number(name.replace('model ', ''))] = __identifier__
  return formsOf(models, await takesArrays(url))
}

/** Whether objects can be created by an array of them; otherwise a transaction does it. */
async function takesArrays(url: string): Promise<boolean> {
  const body = JSON.stringify([{ class: 'Maker', attributes: { name: 'of an array' } }])
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(`${url}/v1/object`, { method: 'POST', headers, body })
  await reply.text()
  return reply.ok
}

function formsOf(models: readonly string[], isArrayTaken: boolean): RequestForms {
  const ask = (query: string, parameters?: object): BenchRequest => {
    return { method: 'POST', path: '/v1/query', body: JSON.stringify({ query, parameters }) }
  }
  const creation = ({ model, ...attributes }: Vehicle): object => {
    return { class: 'Vehicle', attributes: { ...attributes, model: models[model] } }
  }
  const step = (vehicle: Vehicle): object => ({ method: 'post', uri: '/v1/object', body: creation(vehicle) })
  return {
    read: (oid) => ({ method: 'GET', path: `/v1/object/${oid}` }),
    equality: (license) => ask('FROM Vehicle WHERE license = $l RETURN *', { l: license }),
    equalityInText: (license) => ask(`FROM Vehicle WHERE license = "${license}" RETURN *`),
    range: (year) => ask(`FROM Vehicle WHERE year = $y TAKE ${rangeRows} RETURN *`, { y: year }),
    makers: (year) => {
      const text = `FROM Vehicle WHERE year = $y TAKE ${rangeRows} RETURN license, model.name, model.maker.name`
      return ask(text, { y: year })
    },
    create: (vehicle) => ({ method: 'POST', path: '/v1/object', body: JSON.stringify(creation(vehicle)) }),
    update: (oid, mileage) => {
      const body = JSON.stringify({ attributes: { mileage, available: true } })
      return { method: 'PUT', path: `/v1/object/${oid}`, body }
    },
    remove: (oid) => ({ method: 'DELETE', path: `/v1/object/${oid}` }),
    createMany: (vehicles) =>
      isArrayTaken
        ? { method: 'POST', path: '/v1/object', body: JSON.stringify(vehicles.map(creation)) }
        : { method: 'POST', path: '/v1/transaction', body: JSON.stringify(vehicles.map(step)) },
    createLines: (vehicles) => ({
      method: 'POST',
      path: '/v1/object',
      contentType: 'application/x-ndjson',
      body: vehicles.map((one) => `${JSON.stringify(creation(one))}\n`).join(''),
    }),
    everything: { ...ask('FROM Vehicle RETURN *'), accept: 'application/x-ndjson' },
    idName: '__identifier__',
  }
}
