/**
 * What of our own runs for one request: files, functions and calls, by V8's precise coverage of the built packages. Beside time it tells how
 * long the way is that a reader of the code follows. `node --import tsx bench/calls.ts [--of <other checkout>] [way …]`; with ways, all functions
 * are listed with their calls.
 */
import { Session } from 'node:inspector/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { mergeConfig, startServer } from '../packages/server/src/index.ts'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { of: { type: 'string', default: '.' } } })

/** Calls by file and function. */
type Calls = ReadonlyMap<string, number>

interface BuiltServer {
  readonly startServer: typeof startServer
  readonly mergeConfig: typeof mergeConfig
}

const profiler = new Session()
profiler.connect()
await profiler.post('Profiler.enable')
// Before anything is loaded: V8 counts only what is compiled from here on.
await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
const built = pathToFileURL(resolve(values.of, 'packages/server/dist/index.js')).href
const server = (await import(built)) as BuiltServer
const config = server.mergeConfig([{ port: 0, federatedDatabases: [{ alias: 'counted', store: 'memory:' }] }])
const silently = (): void => undefined
const written = {
  debug: silently,
  error: console.error,
  fatal: console.error,
  info: silently,
  trace: silently,
  warn: console.warn,
}
const logger: object = { ...written, level: 'silent', isLevelEnabled: () => false, child: () => logger }
const running = await server.startServer(config, logger as unknown as Parameters<typeof startServer>[1])

async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) }
  const response = await fetch(`${running.url}${path}`, { method, ...sent })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

async function created(className: string, attributes: object): Promise<string> {
  const reply = (await ask('POST', '/v1/object', { class: className, attributes })) as { __identifier__: string }
  return reply.__identifier__
}

const vehicles = { logicalType: 'reference', referencedClass: 'Vehicle', inverseAttribute: 'model' }
const model = { logicalType: 'reference', referencedClass: 'Model', inverseAttribute: 'vehicles' }
const attributesOf = (given: Readonly<Record<string, object>>) => {
  return Object.entries(given).map(([attributeName, type]) => ({ attributeName, ...type }))
}
const [text, number] = [{ logicalType: 'string' }, { logicalType: 'integer' }]
const classes = {
  Model: { name: text, vehicles: { logicalType: 'list', elementSpecification: vehicles } },
  Vehicle: { license: text, mileage: number, year: number, model },
  Note: { number },
}
const descriptions = Object.entries(classes).map(([className, attributes]) => {
  return { className, isReferenceable: true, attributes: attributesOf(attributes) }
})
await ask('PUT', '/v1/schema', descriptions)
const keys = [
  { name: 'byLicense', indexedClass: 'Vehicle', isUnique: true, keyAttributes: [{ attributeName: 'license' }] },
  { name: 'byNumber', indexedClass: 'Note', isUnique: false, keyAttributes: [{ attributeName: 'number' }] },
]
for (const index of keys) await ask('POST', '/v1/index', index)
const models = [await created('Model', { name: 'a' }), await created('Model', { name: 'b' })]
const vehicle = await created('Vehicle', { license: 'L0', mileage: 1, year: 1, model: models[0] })
await created('Note', { number: 5 })
const uri = `/v1/object/${vehicle}`

/** Each differs from the one before by `nth`, so that there is something to change. */
const ways: Readonly<Record<string, (nth: number) => Promise<unknown>>> = {
  get: () => ask('GET', uri),
  put: (nth) => ask('PUT', uri, { attributes: { mileage: nth } }),
  'put-link-and-key': (nth) => ask('PUT', uri, { attributes: { license: `L${nth}`, model: models[nth % 2] } }),
  equality: () => {
    const query = 'FROM Vehicle WHERE license = $license RETURN license, mileage'
    return ask('POST', '/v1/query', { query, parameters: { license: 'none' } })
  },
  update: () => ask('POST', '/v1/query', { query: 'UPDATE Vehicle WHERE mileage < 100000 SET year TO year + 1' }),
  retype: (nth) => {
    const logicalType = nth % 2 === 0 ? 'integer' : 'string'
    return ask('PUT', '/v1/schema/Note?allowLoss=true', {
      attributesToChange: [{ attributeName: 'number', logicalType }],
    })
  },
  batch: () =>
    ask('POST', '/v1/transaction', [
      { method: 'post', uri: '/v1/object', body: { class: 'Model', attributes: { name: 'c' } }, id: 'made' },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the name of an id of the transaction
      { method: 'put', uri, body: { attributes: { model: '${made}' } } },
      { method: 'get', uri },
    ]),
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** V8 counts from one take to the next. */
async function callsSince(): Promise<Calls> {
  const calls = new Map<string, number>()
  const { result } = await profiler.post('Profiler.takePreciseCoverage')
  for (const { url, functions } of result) {
    const file = /\/packages\/(?!.*node_modules)(.*)/.exec(url)?.[1]
    if (file === undefined) continue
    for (const { functionName, ranges } of functions) {
      const [{ startOffset, count } = { startOffset: 0, count: 0 }] = ranges
      // The module itself begins at 0.
      if (count === 0 || (startOffset === 0 && functionName === '')) continue
      calls.set(`${file} ${functionName || 'anonymous'} at ${startOffset}`, count)
    }
  }
  return calls
}

function sumOf(calls: Calls): number {
  return [...calls.values()].reduce((sum, one) => sum + one, 0)
}

const warmUp = 8
const rounds = 5

/** The least of several: now and then a timer runs beside. */
async function callsOf(way: (nth: number) => Promise<unknown>): Promise<Calls> {
  for (let nth = 0; nth < warmUp; nth++) await way(nth)
  const counted: Calls[] = []
  for (let nth = 0; nth < rounds; nth++) {
    await pause(50)
    await callsSince()
    await way(warmUp + nth)
    await pause(20)
    counted.push(await callsSince())
  }
  return counted.reduce((least, one) => (sumOf(one) < sumOf(least) ? one : least))
}

console.log('way               files  functions  calls')
for (const [name, way] of Object.entries(ways)) {
  const calls = await callsOf(way)
  const files = new Set([...calls.keys()].map((one) => one.split(' ', 1)[0])).size
  const figures = [String(files).padStart(7), String(calls.size).padStart(11), String(sumOf(calls)).padStart(7)]
  console.log(`${name.padEnd(16)}${figures.join('')}`)
  if (!positionals.includes(name)) continue
  for (const [one, count] of [...calls].sort()) console.log(`${String(count).padStart(8)}  ${one}`)
}
await running.stop()
