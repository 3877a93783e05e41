/** Checks that the packages, and the modules within each, import only downwards, in no cycle and what they declare; type imports included. */
import { posix } from 'node:path'
import type { CheckResult, Finding } from './finding.ts'
import { importCycles } from './import-cycles.ts'
import type { ProjectFiles } from './project-files.ts'
import { importsOf, nodesOf, parseSource, type Source } from './source.ts'

/** A module is a folder or a single file of a package's src; a file imports from a lower layer or from its own module. */
type Layers = Readonly<Record<string, number>>

/** The single files of a module that have no layer of their own: together one module within it. */
const others = '*.ts'
/** The same, but each of them is a module by itself: they are of one layer and do not import each other. */
const each = 'each *.ts'

/** What of a package.json is checked. */
interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
}

const engineLayers: Layers = {
  // Below every other: whoever asserts needs it.
  'background-work.ts': -1,
  'cancel-signal.ts': -2,
  'work-spans.ts': -2,
  'errors.ts': -2,
  'limits.ts': -1,
  bytes: 0,
  // Beside the module that knows what keys are for: a store does not.
  store: 0,
  budget: 1,
  'change-log': 1,
  spill: 1,
  storage: 1,
  transaction: 2,
  types: 2,
  schema: 3,
  receipts: 3,
  catalog: 4,
  sequences: 5,
  records: 4,
  indexes: 5,
  write: 6,
  links: 7,
  objects: 8,
  requests: 9,
  verify: 8,
  ddl: 9,
  bulk: 10,
  query: 10,
  // Above the query engine, which it has compile the expressions of the schema for those who write.
  expressions: 10.5,
  // Its objects come as the rows of queries do.
  export: 10.5,
  'database-operations.ts': 12,
  batch: 13,
  // Above the query engine, whose rules it evaluates, and below what hands it out.
  access: 13,
  // Above the query engine, whose predicates choose among changes.
  changes: 14,
  // What the operations of a federated database are made of, put together for one that is made anew.
  rebuild: 14,
  // Incremental backups are made of the change log.
  backup: 14.5,
  'caller-operations.ts': 14,
  // Above the query engine, whose requests it runs elsewhere, and below the scopes that ask it to.
  threads: 12,
  'federated-database.ts': 15,
  // The program of a worker thread, which opens the federated database once more.
  'thread-program.ts': 15.5,
  'statement-thread.ts': 16,
  'index.ts': 16,
}

const serverLayers: Layers = {
  'version.ts': 0,
  'limits.ts': 0,
  'heap.ts': 0,
  'node-internals.ts': 0,
  'dialect.ts': 0,
  'thread-program.ts': 0,
  errors: 0,
  backups: 0.5,
  webhooks: 0.5,
  shares: 1,
  wire: 1,
  json: 1,
  browsers: 1,
  tls: 1,
  tools: 1,
  config: 2,
  'federated-databases.ts': 2,
  security: 2,
  audit: 3,
  statements: 3,
  metrics: 3,
  tracing: 3,
  peers: 4,
  dispatch: 5,
  operations: 6,
  openapi: 7,
  // The program of a worker thread, which runs operations.
  'statement-thread.ts': 7,
  http: 8,
  'start-server.ts': 9,
  workers: 10,
  cli: 11,
  'index.ts': 12,
}

const layersOf: Readonly<Record<string, Layers>> = { engine: engineLayers, server: serverLayers }

const storeLayers: Layers = {
  [others]: 0,
  lmdb: 1,
  memory: 1,
  postgres: 1,
}

const queryLayers: Layers = {
  language: 0,
  explain: 1,
  values: 1,
  parse: 1,
  'plan-without-values.ts': 2,
  'query-counts.ts': 2,
  'query-request.ts': 2,
  functions: 2,
  bind: 3,
  evaluate: 4,
  'plan-cache.ts': 5,
  execute: 5,
  'query-resources.ts': 6,
  operators: 6,
  access: 7,
  match: 8,
  change: 8,
  statements: 9,
  'classify.ts': 10,
  'compile-predicate.ts': 11,
  'statement-planner.ts': 11,
  'statement-per-row.ts': 10,
  'script-commits.ts': 12,
  'script-executor.ts': 12,
  'prepare-text.ts': 13,
  'effects-of-text.ts': 14,
  'answer-at-once.ts': 14,
  'run-live-query.ts': 15,
  'create-index-online.ts': 14,
  'run-query.ts': 15,
}

/** A kind of statement, an operator, an access path is a file beside the others, which do not know it: no line of these tables is its own. */
const statementLayers: Layers = {
  'answer.ts': 0,
  'statement-kind.ts': 1,
  'join.ts': 2,
  // What several kinds have in common.
  'changed-objects.ts': 2,
  'import.ts': 2,
  'create.ts': 2,
  'select.ts': 2.5,
  [each]: 3,
  'statement-kinds.ts': 4,
}

const operatorLayers: Layers = {
  'planning.ts': 0,
  'row-limits.ts': 1,
  'row-operator.ts': 2,
  'pieces-in-turns.ts': 2,
  'groups-by-values.ts': 3,
  'aggregation.ts': 3,
  'sorted-rows.ts': 3,
  'held-values.ts': 3.5,
  'spilled-groups.ts': 3.5,
  'spilled-windows.ts': 3.5,
  'window-functions.ts': 3,
  'stored-columns.ts': 3,
  [each]: 4,
  // UNION is DISTINCT over the rows of its statements.
  'row-statements.ts': 4.5,
  'clauses.ts': 5,
}

const accessLayers: Layers = {
  'entry-view.ts': -2,
  'no-key-value.ts': -2,
  'undone-calculation.ts': -1,
  // What an entry tells of its object depends on no way to it.
  'entry-filter.ts': -1,
  'oid-set.ts': -1,
  'sargable-predicates.ts': 0,
  'object-scan.ts': 0,
  'oid-source.ts': 0,
  'access-path.ts': 1,
  'push-objects.ts': 1.5,
  'sorted-objects.ts': 1,
  'index-hint.ts': 2,
  'extent-scan.ts': 2,
  'key-value.ts': 2,
  [each]: 3,
  // They begin with an access path of another kind.
  'ordered-index-scan.ts': 4,
  'skip-scan.ts': 4,
  'index-only-scan.ts': 5,
  'ordered-trial.ts': 5,
  'reverse-navigation.ts': 4,
  'access-kinds.ts': 5,
  'shown-objects.ts': 6,
  'source-plan.ts': 7,
  'choose-access.ts': 8,
  'object-rows.ts': 9,
  'rows-in-place.ts': 9,
  'rows-by-trips.ts': 10,
  'unique-lookup.ts': 10,
}

/** How a MATCH is planned and how it is carried out do not know each other. */
const matchLayers: Layers = {
  'match-row.ts': 0,
  'match-operator.ts': 1,
  'narrowed-edges.ts': 2,
  'linked-objects.ts': 2,
  'path-modes.ts': 2,
  'predicates.ts': 2,
  'source-rows.ts': 2,
  'lookup-plan.ts': 3,
  'first-source.ts': 3,
  // What is a vertex is part of what every other operator is told.
  'vertices.ts': 3,
  'edge-ends.ts': 4,
  'spilled-join.ts': 4,
  'patterns-plan.ts': 4,
  'vertex-objects.ts': 4,
  'incident-edges.ts': 5,
  'breadth-first.ts': 6,
  'start-vertex.ts': 6,
  'branch-order.ts': 7,
  // What a search back from the ends knows is asked by those who follow edges forward.
  'backward-search.ts': 7,
  'expansion.ts': 8,
  [each]: 9,
  'expand.ts': 10,
  'prefetch-edges.ts': 9,
  'bidirectional.ts': 10,
  'shortest-paths.ts': 11,
  'search-order.ts': 12,
  'join-order.ts': 12,
  'plan-join.ts': 13,
  'plan-match.ts': 13,
  'match-rows.ts': 13,
}

/** Modules within modules. */
const innerLayers: Readonly<Record<string, Layers>> = {
  'engine/store': storeLayers,
  'engine/query': queryLayers,
  'engine/query/access': accessLayers,
  'engine/query/match': matchLayers,
  'engine/query/operators': operatorLayers,
  'engine/query/statements': statementLayers,
}

/** The packages that each package may import, and so depend on. Those that only tests need are among the `devDependencies`. */
const packagesBelow: Readonly<Record<string, readonly string[]>> = {
  engine: [],
  client: [],
  server: ['client', 'engine'],
}

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
        packageRule(name, file, specifier, manifests.get(name)) ?? (layers && layerRule(name, layers, file, specifier))
      if (message !== undefined) findings.push({ file, line, message })
    }
    if (file.startsWith(engine)) findings.push(...waitsIn(file, source))
  }
  for (const cycle of importCycles(targets)) {
    const [file = ''] = cycle
    findings.push({ file, message: `a cycle of imports: ${[...cycle, file].join(' → ')}` })
  }
  const modules = Object.values({ ...layersOf, ...innerLayers }).flatMap((layers) => Object.keys(layers))
  return { findings, summary: `${imports} imports, ${modules.length} modules` }
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
  if (name === 'client' && other === undefined) return `client has no dependencies, not even ${specifier}`
  const needed = /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
  if (manifest !== undefined && !specifier.startsWith('node:') && manifest.dependencies?.[needed] === undefined)
    return `${needed} is not among the dependencies in packages/${name}/package.json`
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
  const from = partOf(layers, within, file)
  const broken = downwards(path, layers, from, target?.startsWith(within) ? partOf(layers, within, target) : undefined)
  const inner = innerLayers[`${name}/${path}${from}`]
  return broken !== undefined || inner === undefined
    ? broken
    : layerRuleWithin(name, `${path}${from}/`, inner, file, target)
}

/** `to`: undefined = nothing of what the table layers. */
function downwards(prefix: string, layers: Layers, from: string, to: string | undefined): string | undefined {
  const missing = [from, to].find((module) => module !== undefined && layerOf(layers, module) === undefined)
  if (missing !== undefined) return `the module ${prefix}${missing} has no layer in the table of tools/check-imports.ts`
  if (to === undefined || to === from || Number(layerOf(layers, to)) < Number(layerOf(layers, from))) return undefined
  return `${prefix}${from} (layer ${layerOf(layers, from)}) may not import ${prefix}${to} (layer ${layerOf(layers, to)}): only its own module and lower layers`
}

function layerOf(layers: Layers, module: string): number | undefined {
  return layers[module] ?? (module.endsWith('.ts') ? layers[each] : undefined)
}

/** The folder or file below the path `within` in which the file is. */
function partOf(layers: Layers, within: string, file: string): string {
  const part = file.slice(within.length).split('/')[0] ?? ''
  return layers[part] === undefined && part.endsWith('.ts') && layers[others] !== undefined ? others : part
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
