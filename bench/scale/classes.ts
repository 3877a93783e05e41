/** One to 2,000 classes of one base class, each with an attribute and an index of its own. */
import type { BenchRequest } from '../load/load.ts'
import type { Bench } from '../rows/measure.ts'
import type { Curve, Line, ScaleOptions } from './curve.ts'
import {
  ask,
  cpuWhile,
  createMany,
  measureAsked,
  type OwnServer,
  post,
  put,
  startCpu,
  withServer,
} from './own-server.ts'

const sizes = [1, 10, 100, 500, 2_000]
const objects = 20_000
const operations = ['read', 'equality in a class', 'equality in the base class', 'update', 'create'] as const
const schemaChanges = 10

interface Found {
  readonly figures: readonly Awaited<ReturnType<typeof measureAsked>>[]
  readonly schemaChangeMs: number
  readonly afterChangeMs: number
  readonly startSeconds: number
  readonly memory: number
}

export const classes: Curve = {
  name: 'classes',
  title: 'Classes',
  async measure(bench, _stores, options) {
    const found: Found[] = []
    for (const size of sizes) found.push(await measureClasses(bench, size, options))
    const lines: Line[] = operations.map((name, at) => ({
      name,
      figures: found.map(({ figures }) => figures[at]),
      most: 1.3,
    }))
    lines.push(
      { name: 'a class gets an attribute, CPU', unit: 'ms', values: found.map((one) => one.schemaChangeMs) },
      {
        name: 'the first creation and query of the class thereafter, CPU',
        unit: 'ms',
        values: found.map((one) => one.afterChangeMs),
      },
      { name: 'start to the first answer, CPU', unit: 's', values: found.map((one) => one.startSeconds), most: 0.5 },
      { name: 'anonymous memory at the end', unit: 'MiB', values: found.map((one) => one.memory) },
    )
    const notes = [
      `${objects.toLocaleString('en')} objects, of each class as many; 64 clients read, 32 write, each a class at random.`,
    ]
    return { axis: 'classes', columns: sizes, reference: 1, lines, notes }
  },
}

function measureClasses(bench: Bench, size: number, options: ScaleOptions): Promise<Found> {
  return withServer(bench, async (own) => {
    await defineClasses(own, size)
    const nameOf = (nth: number): string => `C${nth % size}`
    const object = (nth: number): { class: string; attributes: object } => {
      return {
        class: nameOf(nth),
        attributes: { license: `L-${nth}`, year: 1980 + (nth % 45), [`own${nth % size}`]: nth },
      }
    }
    const ids = await createMany(own, objects, object)
    const any = (): number => Math.floor(Math.random() * objects)
    const of = (connections: number, count: number, request: (nth: number) => BenchRequest) => {
      return measureAsked(own, { connections, count, request }, options)
    }
    let next = objects
    const figures = [
      await of(64, 20_000, () => ({ method: 'GET', path: `/v1/object/${ids[any()]}` })),
      await of(64, 10_000, () => {
        const nth = any()
        return ask(`FROM ${nameOf(nth)} WHERE own${nth % size} = $n RETURN *`, { n: nth })
      }),
      await of(64, 10_000, () => ask('FROM Base WHERE license = $l RETURN *', { l: `L-${any()}` })),
      await of(32, 10_000, () => put(`/v1/object/${ids[any()]}`, { attributes: { year: any() % 1_000 } })),
      await of(32, 10_000, () => post('/v1/object', object(next++))),
    ]
    const memory = own.server.memory().own
    const changes = []
    for (let nth = 0; nth < schemaChanges; nth++)
      changes.push(await changeClass(own, nameOf(nth * 7), nth, object(next++)))
    const startSeconds = await startCpu(own, `/v1/object/${ids[0]}`)
    const least = (values: readonly number[]): number =>
      values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0
    return {
      figures,
      memory,
      startSeconds,
      schemaChangeMs: 1_000 * least(changes.map(({ change }) => change)),
      afterChangeMs: 1_000 * least(changes.map(({ after }) => after)),
    }
  })
}

async function defineClasses({ client }: OwnServer, size: number): Promise<void> {
  const attribute = (attributeName: string, logicalType: string): object => ({ attributeName, logicalType })
  const base = {
    className: 'Base',
    isReferenceable: true,
    attributes: [attribute('license', 'string'), attribute('year', 'integer')],
  }
  const own = Array.from({ length: size }, (_, nth) => ({
    className: `C${nth}`,
    superClass: 'Base',
    isReferenceable: true,
    attributes: [attribute(`own${nth}`, 'integer')],
  }))
  await client.defineClasses([base, ...own] as Parameters<typeof client.defineClasses>[0])
  const index = (name: string, indexedClass: string, attributeName: string, isUnique: boolean) => {
    return client.createIndex({ name, indexedClass, isUnique, keyAttributes: [{ attributeName }] })
  }
  await index('byLicense', 'Base', 'license', true)
  for (let nth = 0; nth < size; nth++) await index(`byOwn${nth}`, `C${nth}`, `own${nth}`, false)
}

async function changeClass(
  own: OwnServer,
  name: string,
  nth: number,
  object: object,
): Promise<{ change: number; after: number }> {
  const change = await cpuWhile(own, () =>
    own.client.defineClasses([
      { className: name, attributes: [{ attributeName: `more${nth}`, logicalType: 'integer' }] },
    ] as never),
  )
  const after = await cpuWhile(own, async () => {
    for (const { path, body } of [post('/v1/object', object), ask(`FROM ${name} TAKE 1 RETURN *`)]) {
      const reply = await fetch(own.server.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: body as string,
      })
      if (!reply.ok) throw new Error(await reply.text())
      await reply.arrayBuffer()
    }
  })
  return { change, after }
}
