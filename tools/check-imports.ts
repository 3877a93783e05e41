/** Checks that the packages, and the modules within each, import only downwards, in no cycle and what they declare; type imports included. */
import { posix } from 'node:path'
import type { CheckResult, Finding } from './finding.ts'
import { importCycles } from './import-cycles.ts'
import type { ProjectFiles } from './project-files.ts'
import { importsOf, nodesOf, parseSource, type Source } from './source.ts'

/**
 * Modules that may import everything below them, but not each other. A module is a folder of a package's `src`, or a single file. The modules of a room may also import each
 * other, without cycles.
 */
interface Layer {
  readonly name: string
  readonly modules: readonly string[]
  readonly isRoom?: true
}

/** The lowest layer first. */
type Layers = readonly Layer[]

/** All single files of a folder that are in no other layer. */
const files = '*.ts'

/** What of a package.json is checked. */
interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const engineLayers: Layers = [
  {
    name: 'foundation',
    modules: ['errors.ts', 'limits.ts', 'cancel-signal.ts', 'work-spans.ts', 'background-work.ts'],
    isRoom: true,
  },
  // A store does not know what its keys mean.
  { name: 'bytes and stores', modules: ['bytes', 'store'] },
  { name: 'resources', modules: ['budget', 'change-log', 'spill', 'storage'] },
  { name: 'types and transactions', modules: ['types', 'transaction'] },
  { name: 'schema', modules: ['schema', 'receipts'] },
  { name: 'records', modules: ['catalog', 'records', 'sequences', 'indexes'], isRoom: true },
  { name: 'writes', modules: ['write', 'links', 'objects'], isRoom: true },
  { name: 'commands', modules: ['requests', 'ddl'] },
  { name: 'queries', modules: ['query', 'bulk'] },
  { name: 'expressions', modules: ['expressions', 'export'] },
  { name: 'callers', modules: ['verify', 'database-operations.ts', 'threads', 'batch', 'access'], isRoom: true },
  { name: 'history', modules: ['changes', 'rebuild', 'backup', 'caller-operations.ts'], isRoom: true },
  {
    name: 'database',
    modules: ['federated-database.ts', 'thread-program.ts', 'statement-thread.ts', 'index.ts'],
    isRoom: true,
  },
]

const serverLayers: Layers = [
  {
    name: 'foundation',
    modules: ['errors', 'version.ts', 'limits.ts', 'heap.ts', 'node-internals.ts', 'thread-program.ts'],
  },
  { name: 'schedules', modules: ['backups', 'webhooks'] },
  { name: 'parts of requests', modules: ['shares', 'wire', 'json', 'browsers', 'tls', 'tools'] },
  { name: 'configuration', modules: ['config', 'federated-databases.ts', 'security'] },
  { name: 'observation', modules: ['audit', 'statements', 'metrics', 'tracing'] },
  { name: 'peers', modules: ['peers'] },
  { name: 'dispatch', modules: ['dispatch'] },
  { name: 'operations', modules: ['operations'] },
  { name: 'description', modules: ['openapi', 'serve-statements.ts', 'statement-thread.ts'], isRoom: true },
  { name: 'HTTP', modules: ['http'] },
  { name: 'server', modules: ['start-server.ts'] },
  { name: 'workers', modules: ['workers'] },
  { name: 'exports', modules: ['exports', 'index.ts'] },
]

const cliLayers: Layers = [
  { name: 'foundation', modules: ['limits.ts', 'errors'] },
  { name: 'output', modules: ['output'] },
  { name: 'connection', modules: ['connection'] },
  { name: 'objects', modules: ['data', 'import'] },
  { name: 'schema', modules: ['schema', 'administration'], isRoom: true },
  { name: 'shell and development', modules: ['shell', 'types', 'develop'], isRoom: true },
  // What a command is called, and, loaded when it runs, what it does.
  { name: 'declaration', modules: ['declaration'] },
  { name: 'stores', modules: ['stores'] },
  { name: 'machine of a server', modules: ['security', 'serve'], isRoom: true },
  { name: 'program', modules: ['program'] },
  { name: 'entry', modules: ['main.ts'] },
]

const ashlarLayers: Layers = [
  { name: 'types', modules: ['in-process-client.ts'] },
  { name: 'engine in process', modules: ['in-process'] },
  { name: 'interface', modules: ['open.ts', 'client.ts'] },
  { name: 'entry', modules: ['index.ts'] },
]

const layersOf: Readonly<Record<string, Layers>> = {
  engine: engineLayers,
  server: serverLayers,
  cli: cliLayers,
  ashlar: ashlarLayers,
}

const storeLayers: Layers = [
  { name: 'interface', modules: [files] },
  { name: 'drivers', modules: ['lmdb', 'memory', 'postgres'] },
  { name: 'driver on PostgreSQL', modules: ['citus'] },
]

const queryLayers: Layers = [
  { name: 'language', modules: ['language'] },
  { name: 'texts and values', modules: ['explain', 'values', 'parse'] },
  { name: 'functions', modules: ['functions', 'plan-without-values.ts', 'query-counts.ts', 'query-request.ts'] },
  { name: 'binding', modules: ['bind'] },
  { name: 'evaluation', modules: ['evaluate'] },
  { name: 'execution', modules: ['execute', 'plan-cache.ts'] },
  { name: 'operators', modules: ['operators', 'query-resources.ts'] },
  { name: 'access paths', modules: ['access'] },
  { name: 'patterns and changes', modules: ['match', 'change'] },
  { name: 'statements', modules: ['statements'] },
  { name: 'texts that run', modules: [files] },
]

/** Layers within modules. */
const innerLayers: Readonly<Record<string, Layers>> = {
  'engine/store': storeLayers,
  'engine/query': queryLayers,
}

/** Folders in which each file is one kind of thing and imports no other kind, but only what these files share. */
const sharedFiles: Readonly<Record<string, readonly string[]>> = {
  'packages/engine/src/query/operators/': [
    'planning.ts',
    'row-limits.ts',
    'row-operator.ts',
    'pieces-in-turns.ts',
    'groups-by-values.ts',
    'aggregation.ts',
    'sorted-rows.ts',
    'buffered-values.ts',
    'spilled-groups.ts',
    'spilled-windows.ts',
    'window-functions.ts',
    'stored-columns.ts',
    // UNION is DISTINCT over the rows of its statements.
    'distinct.ts',
  ],
  'packages/engine/src/query/statements/': [
    'answer.ts',
    'statement-kind.ts',
    'join.ts',
    'changed-objects.ts',
    'import.ts',
    'create.ts',
    'select.ts',
  ],
}

/** The list of the kinds, which imports all of them. */
const listsOfKinds: readonly string[] = ['clauses.ts', 'statement-kinds.ts']

/** The packages that each package may import, and so depend on. Those that only tests need are among the `devDependencies`. */
const packagesBelow: Readonly<Record<string, readonly string[]>> = {
  engine: [],
  client: [],
  server: ['engine'],
  cli: ['client', 'engine', 'server'],
  ashlar: ['client', 'engine', 'server'],
}

/** The package in which all others are inlined. */
const inlining = 'ashlar'

/** An entry of its own: only who imports it needs React, which is an optional peer of the client. */
const reactHooks = 'packages/client/src/react.ts'

/** Pure modules: what they do is done when they return, so that a schema or a key can be made anywhere. */
const synchronous = [
  'bytes',
  'types',
  'schema',
  ...['values', 'functions', 'parse', 'bind', 'evaluate'].map((part) => `query/${part}`),
]

const engine = 'packages/engine/src/'
const waiting = /^(Promise|PromiseLike|Awaitable|Async(Iterable|Iterator|IterableIterator|Generator))$/

export function checkImports(files: ProjectFiles): CheckResult {
  const findings: Finding[] = []
  const targets = new Map<string, string[]>()
  const manifests = manifestsOf(files)
  for (const [name, manifest] of manifests) findings.push(...dependencyRule(name, manifest))
  let imports = 0
  for (const [file, text] of files) {
    const name = /^packages\/([^/]+)\/src\/.*\.tsx?$/.exec(file)?.[1]
    if (name === undefined) continue
    const source = parseSource(file, text)
    for (const { specifier, line } of importsOf(source)) {
      imports++
      if (specifier.startsWith('.')) targets.set(file, [...(targets.get(file) ?? []), targetOf(file, specifier)])
      const layers = layersOf[name]
      const message =
        packageRule(name, file, specifier, manifests.get(name)) ??
        (layers && layerRule(name, layers, file, specifier)) ??
        kindRule(file, specifier)
      if (message !== undefined) findings.push({ file, line, message })
    }
    if (file.startsWith(engine)) findings.push(...waitsIn(file, source))
  }
  for (const cycle of importCycles(targets)) {
    const [file = ''] = cycle
    findings.push({ file, message: `a cycle of imports: ${[...cycle, file].join(' → ')}` })
  }
  const layers = Object.values({ ...layersOf, ...innerLayers }).flat()
  return { findings, summary: `${imports} imports, ${layers.length} layers` }
}

/** The package.json of each package. */
function manifestsOf(files: ProjectFiles): Map<string, Manifest> {
  const manifests = new Map<string, Manifest>()
  for (const [file, text] of files) {
    const name = /^packages\/([^/]+)\/package\.json$/.exec(file)?.[1]
    if (name !== undefined) manifests.set(name, JSON.parse(text) as Manifest)
  }
  return manifests
}

function dependencyRule(name: string, { dependencies = {} }: Manifest): Finding[] {
  const allowed = packagesBelow[name] ?? []
  const isRefused = (other: string): boolean =>
    name === 'client' || (other.startsWith('@ashlar/') && !allowed.includes(other.slice('@ashlar/'.length)))
  const file = `packages/${name}/package.json`
  return Object.keys(dependencies)
    .filter(isRefused)
    .map((other) => ({ file, message: `${name} may not depend on ${other}` }))
}

function packageRule(name: string, file: string, specifier: string, manifest?: Manifest): string | undefined {
  const below = packagesBelow[name]
  if (below === undefined) return `the package ${name} has no place in the table of tools/check-imports.ts`
  if (specifier.startsWith('.')) {
    return targetOf(file, specifier).startsWith(`packages/${name}/src/`)
      ? undefined
      : `${specifier} leaves the sources of ${name}`
  }
  const other = /^@ashlar\/([^/]+)/.exec(specifier)?.[1]
  if (other !== undefined && !below.includes(other)) return `${name} may not import ${other}`
  if (file === reactHooks && specifier === 'react') return undefined
  if (name === 'client' && other === undefined) return `client has no dependencies, not even ${specifier}`
  const needed = /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
  // What is inlined is not installed beside it.
  const declared = name === inlining ? manifest?.devDependencies : manifest?.dependencies
  if (manifest !== undefined && !specifier.startsWith('node:') && declared?.[needed] === undefined)
    return `${needed} is not among the ${name === inlining ? 'devDependencies' : 'dependencies'} in packages/${name}/package.json`
  return undefined
}

function layerRule(name: string, layers: Layers, file: string, specifier: string): string | undefined {
  const target = specifier.startsWith('.') ? targetOf(file, specifier) : undefined
  return layerRuleWithin(name, '', layers, file, target)
}

/** `path`: of the module within which it is looked, with a slash at its end; empty = the package. */
function layerRuleWithin(
  name: string,
  path: string,
  layers: Layers,
  file: string,
  target: string | undefined,
): string | undefined {
  const within = `packages/${name}/src/${path}`
  const from = moduleOf(layers, within, file)
  const broken = downwards(
    path,
    layers,
    from,
    target?.startsWith(within) ? moduleOf(layers, within, target) : undefined,
  )
  const inner = innerLayers[`${name}/${path}${from}`]
  return broken !== undefined || inner === undefined
    ? broken
    : layerRuleWithin(name, `${path}${from}/`, inner, file, target)
}

/** `to`: undefined if the target is outside the folder that the table is about. */
function downwards(prefix: string, layers: Layers, from: string, to: string | undefined): string | undefined {
  const missing = [from, to].find((module) => module !== undefined && layerWith(layers, module) < 0)
  if (missing !== undefined) return `the module ${prefix}${missing} has no layer in the table of tools/check-imports.ts`
  if (to === undefined || to === from) return undefined
  const [lower, higher] = [layerWith(layers, to), layerWith(layers, from)]
  const { name, isRoom } = layers[higher] as Layer
  if (lower < higher || (lower === higher && isRoom === true)) return undefined
  return `${prefix}${from} (layer '${name}') may not import ${prefix}${to} (layer '${layers[lower]?.name}'): only its own module and lower layers`
}

function layerWith(layers: Layers, module: string): number {
  return layers.findIndex(({ modules }) => modules.includes(module))
}

/** The module in `within` that contains the file. */
function moduleOf(layers: Layers, within: string, file: string): string {
  const part = file.slice(within.length).split('/')[0] ?? ''
  return layerWith(layers, part) < 0 && part.endsWith('.ts') && layerWith(layers, files) >= 0 ? files : part
}

function kindRule(file: string, specifier: string): string | undefined {
  const target = targetOf(file, specifier)
  const folder = Object.keys(sharedFiles).find((one) => file.startsWith(one) && target.startsWith(one))
  if (folder === undefined) return undefined
  const [from, to] = [file, target].map((one) => one.slice(folder.length)) as [string, string]
  if (listsOfKinds.includes(from) || sharedFiles[folder]?.includes(to) === true) return undefined
  return `${from} may not import ${to}: each is a kind of its own, and what they share is in the table of tools/check-imports.ts`
}

function targetOf(file: string, specifier: string): string {
  return posix.join(posix.dirname(file), specifier)
}

function waitsIn(file: string, source: Source): Finding[] {
  const module = synchronous.find((folder) => file.startsWith(`${engine}${folder}/`))
  if (module === undefined) return []
  const findings: Finding[] = []
  for (const node of nodesOf(source.program)) {
    const word = waitingWord(node)
    if (word) findings.push({ file, line: source.lineOf(node.start), message: `${module} is synchronous: no ${word}` })
  }
  return findings
}

function waitingWord(node: { readonly type: string; readonly [field: string]: unknown }): string | undefined {
  if (node.type === 'AwaitExpression' || (node.type === 'ForOfStatement' && node.await === true)) return 'await'
  if (node.async === true) return 'async'
  if (node.type === 'Identifier' && typeof node.name === 'string' && waiting.test(node.name)) return node.name
  return undefined
}
