/**
 * Makes of the sources of all packages the program `ashlar`: few files, in which what they are made of is inlined. To find, read and compile 900 modules takes
 * Node longer than everything else until the first answer. Types are not checked here, so that `npm start` needs no compiler.
 */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { keepCodeOfStart } from './keep-code.mjs'
import { codeFile, compile } from './program/load.cjs'

/** As `require` finds it. */
const lmdb = createRequire(import.meta.url).resolve('lmdb')

/** What is started: by whoever starts the server, and by the process that he has started. */
const starters = {
  'ashlar.cjs': "#!/usr/bin/env node\nrequire('./load.cjs').load('program')\n",
  'worker.cjs': "require('./load.cjs').load('server').serveAsWorker()\n",
  'statement-thread.cjs': "require('./load.cjs').load('server').serveStatements()\n",
  'query-thread.cjs': "require('./load.cjs').load('engine').serveStatementThread()\n",
}

/** Not inlined, but found as any package is: what has native code, reads files of its own, or is used late, rarely or never. */
const installed = ['fs-native-extensions', 'pg-native', '@scalar/*', 'bun:ffi']

/** The same, of packages that only the server depends on. */
const installedWithServer = /^(@node-rs\/argon2|@zxcvbn-ts\/language-common)$/

/**
 * What modules expect of Node, in CommonJS: code that is compiled in advance has no other form. The package of the command line does not name what engine and
 * server depend on; these are found by their package.json, which is there before they are compiled. The package `ashlar` names it itself.
 * @param {boolean} isWhole whether it is the package `ashlar`, which holds engine and server
 */
const bannerOf = (isWhole) => `
const ownUrl = require('node:url').pathToFileURL(__filename).href
const resolveUrl = (name) => require('node:url').pathToFileURL(require.resolve(name)).href
const urlOfEngine = () => ${isWhole ? 'ownUrl' : "resolveUrl('@ashlar/engine/package.json')"}
const resolveOfEngine = (name) => require('node:module').createRequire(urlOfEngine()).resolve(name)
const requireFromServer = () => require('node:module').createRequire(${isWhole ? 'ownUrl' : "resolveUrl('@ashlar/server/package.json')"})
const urlOfServer = (name) => require('node:url').pathToFileURL(requireFromServer().resolve(name)).href`

/** @type {import('esbuild').BuildOptions} */
const common = {
  bundle: true,
  // A quarter of the text, all of which is read at each start.
  minifyWhitespace: true,
  lineLimit: 160,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': 'ownUrl', 'import.meta.resolve': 'urlOfServer' },
  external: installed,
  // Function names are kept, and there are source maps beside, for `node --enable-source-maps`.
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'error',
}

/** Not for the command line: to ask for `performance` has Node load a module. */
const withGlobals = { inject: [fileURLToPath(new URL('program/globals.mjs', import.meta.url))] }

/**
 * @param {string} root
 * @param {string} [folder] within `packages/cli`, from where what is not inlined is found; what was in it is replaced
 */
export async function buildProgram(root, folder = join(root, 'packages/cli/dist/bin')) {
  // Made beside it, since code must never be taken for that of another source.
  const made = `${folder}.${process.pid}`
  rmSync(made, { recursive: true, force: true })
  await makeProgram(root, made, false)
  for (const name of ['program', 'server', 'engine', 'client']) {
    const script = compile(join(made, `${name}.cjs`), undefined, join(folder, `${name}.cjs`))
    writeFileSync(join(made, codeFile(name)), script.createCachedData())
  }
  rmSync(folder, { recursive: true, force: true })
  renameSync(made, folder)
  await keepCodeOfStart(folder)
}

/**
 * @param {string} root
 * @param {string} folder is created
 * @param {boolean} isWhole see `bannerOf`
 */
export async function makeProgram(root, folder, isWhole) {
  mkdirSync(folder, { recursive: true })
  /** @type {(name: string, entry: Entry, plugins: import('esbuild').Plugin[], options?: import('esbuild').BuildOptions) => Promise<string[]>} */
  const make = (name, entry, plugins, options) => {
    return inline(root, join(folder, `${name}.cjs`), entry, plugins, {
      banner: { js: bannerOf(isWhole) },
      // A smaller text takes less memory and time at each start, and nobody steps through an installed package.
      ...(isWhole && { sourcemap: false, minify: true }),
      ...options,
    })
  }
  const inputs = await Promise.all([
    make('program', 'packages/cli/src/main.ts', [ofOtherFiles]),
    make('server', serverEntry, [engineBeside], withGlobals),
    make('engine', engineEntry, [ofEngine], withGlobals),
    make('client', 'packages/cli/src/declaration/client-commands.ts', [ofOtherFiles], withGlobals),
    make('parquet-thread', 'packages/cli/src/import/parquet-thread.ts', [], withGlobals),
    ...(isWhole ? [make('open', openEntry, [engineBeside, clientBeside]), make('api', apiEntry, [openBeside])] : []),
  ])
  const demo = join(root, 'packages/cli/demo')
  cpSync(demo, join(folder, 'demo'), { recursive: true })
  const demoNotice = readFileSync(join(demo, 'NOTICE.txt'), 'utf8')
  writeFileSync(join(folder, 'NOTICES.txt'), `${noticesOf(root, inputs.flat())}\n${'-'.repeat(80)}\n\n${demoNotice}`)
  copyFileSync(new URL('program/load.cjs', import.meta.url), join(folder, 'load.cjs'))
  for (const [name, text] of Object.entries(starters)) writeFileSync(join(folder, name), text, { mode: 0o755 })
}

/** @typedef {string | Omit<import('esbuild').StdinOptions, 'resolveDir'>} Entry */

/** Of the server and of the commands on stores: all that loads the engine, but the engine. */
const serverEntry = {
  contents:
    "export * from './packages/cli/src/serve/serve-here.ts'\nexport * from './packages/cli/src/security/on-machine.ts'\n" +
    "export * from './packages/cli/src/stores/archive/copy-archive.ts'\nexport { serveStatements } from './packages/server/src/serve-statements.ts'",
  sourcefile: 'server.js',
}

/** All that others import of the engine: it is loaded once, and shared by the server, its threads, and databases in process. */
const engineEntry = {
  contents:
    "export * from '@ashlar/engine'\nexport * from '@ashlar/engine/limits'\nexport * from '@ashlar/engine/store-address'",
  sourcefile: 'engine.js',
}

/** A database in process. */
const openEntry = {
  contents: "export * from './packages/ashlar/src/in-process/open-database.ts'",
  sourcefile: 'open.js',
}

/** What is imported from the package `ashlar`, and what `open.cjs` takes of the client. */
const apiEntry = {
  contents: "export * from './packages/ashlar/src/index.ts'\nexport * from '@ashlar/client/in-process'",
  sourcefile: 'api.js',
}

/**
 * @param {string} root
 * @param {string} outfile
 * @param {Entry} entry
 * @param {import('esbuild').Plugin[]} plugins
 * @param {import('esbuild').BuildOptions} [options]
 * @returns {Promise<string[]>} the files that it is made of
 */
async function inline(root, outfile, entry, plugins, options) {
  const of = typeof entry === 'string' ? { entryPoints: [entry] } : { stdin: { ...entry, resolveDir: root } }
  const { metafile } = await build({
    ...common,
    ...options,
    ...of,
    absWorkingDir: root,
    alias: {
      '@ashlar/client/in-process': join(root, 'packages/client/src/in-process.ts'),
      '@ashlar/client': join(root, 'packages/client/src/index.ts'),
      '@ashlar/engine/limits': join(root, 'packages/engine/src/limits.ts'),
      '@ashlar/engine/properties': join(root, 'packages/engine/src/schema/properties/index.ts'),
      '@ashlar/engine/store-address': join(root, 'packages/engine/src/storage/store-address.ts'),
      '@ashlar/engine': join(root, 'packages/engine/src/index.ts'),
      '@ashlar/server/config-file': join(root, 'packages/server/src/config/config-file.ts'),
      '@ashlar/server/in-process': join(root, 'packages/server/src/exports/in-process.ts'),
      '@ashlar/server/security': join(root, 'packages/server/src/exports/security.ts'),
      '@ashlar/server/shared': join(root, 'packages/server/src/exports/shared.ts'),
      '@ashlar/server/workers': join(root, 'packages/server/src/exports/workers.ts'),
      '@ashlar/server': join(root, 'packages/server/src/index.ts'),
    },
    outfile,
    plugins: [late, ofPackages, ofThreads, ...plugins],
    metafile: true,
  })
  // One other character makes V8 keep the whole text in twice the memory. What is left of them stands in comments and regular expressions.
  writeFileSync(
    outfile,
    readFileSync(outfile, 'utf8').replace(/[^\0-\x7f]/g, (unit) => `\\u${hex(unit)}`),
  )
  return Object.keys(metafile.inputs)
}

/** @param {string} unit of UTF-16 */
function hex(unit) {
  return unit.charCodeAt(0).toString(16).padStart(4, '0')
}

/**
 * The native code and the files of lmdb-js are found from the engine, wherever that is installed. It brings msgpackr, with native code of its own, for
 * databases whose values it encodes itself. The engine has none, and a worker starts sooner without them.
 * @type {import('esbuild').Plugin}
 */
const ofEngine = {
  name: 'of-engine',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^lmdb$/ }, () => ({ path: lmdb }))
    onLoad({ filter: /[\\/]lmdb[\\/]dist[\\/]index\.cjs$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('__filename', "resolveOfEngine('lmdb')"),
    }))
    onResolve({ filter: /^msgpackr$/ }, ({ path }) => ({ path, namespace: 'unused' }))
    onLoad({ filter: /[\\/]engine[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', 'urlOfEngine()'),
    }))
  },
}

/** @type {import('esbuild').Plugin} */
const ofThreads = {
  name: 'of-threads',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]engine[\\/]src[\\/]threads[\\/]program\.ts$/ }, () => ({
      contents: "export const threadProgram = new URL('query-thread.cjs', ownUrl)",
    }))
    onLoad({ filter: /[\\/]server[\\/]src[\\/]thread-program\.ts$/ }, () => ({
      contents: "export const threadProgram = new URL('statement-thread.cjs', ownUrl)",
    }))
  },
}

/**
 * What packages of others do as they are loaded or set up, and what takes long.
 * @type {import('esbuild').Plugin}
 */
const ofPackages = {
  name: 'of-packages',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: installedWithServer }, ({ path }) => ({ path, namespace: 'of-server' }))
    onLoad({ filter: /^/, namespace: 'of-server' }, ({ path }) => ({
      contents: `module.exports = requireFromServer()('${path}')`,
    }))
    // Of pino, for logs that are written in threads.
    onResolve({ filter: /^thread-stream$/ }, ({ path }) => ({ path, namespace: 'unused' }))
    onLoad({ filter: /^/, namespace: 'unused' }, () => ({ contents: 'module.exports = {}' }))
    onLoad({ filter: /[\\/]pino[\\/]lib[\\/]tools\.js$/ }, ({ path }) => ({
      contents: changed(path, "const { isMainThread } = require('worker_threads')", 'const isMainThread = true'),
    }))
    // The router compiles a function for each piece of each path: now when it is first looked for.
    onLoad({ filter: /[\\/]find-my-way[\\/]lib[\\/]node\.js$/ }, ({ path }) => ({
      contents: changed(
        path,
        /return (new Function\('path', 'i', .*\)) \/\/.*\n/,
        'return function (path, i) {\n    this.matchPrefix = $1\n    return this.matchPrefix(path, i)\n  }\n',
      ),
    }))
  },
}

/**
 * @param {string} path of a file
 * @param {string | RegExp} piece it has to have
 * @param {string} other what stands there instead
 */
function changed(path, piece, other) {
  const text = readFileSync(path, 'utf8')
  const result = text.replace(piece, other)
  if (result === text) throw new Error(`${path} is another one than tools/build-program.mjs knows.`)
  return result
}

/** Loaded when something of them is asked for: most servers have no TLS. What is asserted and holds asks for nothing. */
const lateBuiltIns = ['assert', 'child_process', 'https', 'http2', 'net', 'tls', 'worker_threads', 'zlib']

/**
 * What modules require as they are loaded, and few servers use. Of the packages, semver is asked about plugins that tell for which versions of the
 * framework they are.
 * @type {import('esbuild').Plugin}
 */
const late = {
  name: 'late',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(node:)?(${lateBuiltIns.join('|')})$`) }, ({ path, namespace }) =>
      namespace === 'late' ? { path, external: true } : { path: path.replace(/^(node:)?/, 'node:'), namespace: 'late' },
    )
    onResolve({ filter: /^semver$/ }, ({ path, namespace, resolveDir }) =>
      namespace === 'late'
        ? { path: requireFrom(resolveDir).resolve(path) }
        : { path, namespace: 'late', pluginData: resolveDir },
    )
    onLoad({ filter: /^/, namespace: 'late' }, ({ path, pluginData: resolveDir }) => {
      const whole = requireFrom(resolveDir)(path)
      const contents = `let whole
        const load = () => whole ??= require('${path}')
        ${path === 'node:assert' ? 'module.exports = (value, ...given) => value ? undefined : load()(value, ...given)' : ''}
        for (const name of ${JSON.stringify(Object.keys(whole))})
          Object.defineProperty(module.exports, name, { enumerable: true, get: () => load()[name] })`
      return { contents, ...(resolveDir !== undefined && { resolveDir }) }
    })
  },
}

/** @param {string} [folder] */
function requireFrom(folder) {
  return createRequire(folder === undefined ? import.meta.url : join(folder, 'index.js'))
}

/**
 * What the command line loads when it needs it are the other files: the engine, the server, or the commands that talk to one.
 */
const ofOtherFiles = beside('of-other-files', 'dynamic-import', [
  [/^@ashlar\/engine$/, 'engine'],
  [/^\.\/(serve-here|on-machine|archive\/copy-archive)\.ts$/, 'server'],
  [/\/client-commands\.ts$/, 'client'],
])
const engineBeside = beside('engine-beside', 'any', [[/^@ashlar\/engine(\/limits|\/store-address)?$/, 'engine']])
const clientBeside = beside('client-beside', 'any', [[/^@ashlar\/client(\/in-process)?$/, 'api']])
const openBeside = beside('open-beside', 'dynamic-import', [[/\/in-process\/open-database\.ts$/, 'open']])

/**
 * Modules that are other files of the program.
 * @param {string} name
 * @param {'any' | 'dynamic-import'} wanted kind of import
 * @param {readonly (readonly [RegExp, string])[]} files
 * @returns {import('esbuild').Plugin}
 */
function beside(name, wanted, files) {
  return {
    name,
    setup({ onResolve }) {
      for (const [filter, file] of files) {
        onResolve({ filter }, ({ kind }) =>
          kind !== 'entry-point' && (wanted === 'any' || kind === wanted)
            ? { path: `./${file}.cjs`, external: true }
            : undefined,
        )
      }
    },
  }
}

/**
 * The packages of others that are inlined, with their versions, and the licences under which they are handed on.
 * @param {string} root
 * @param {string[]} inputs
 */
function noticesOf(root, inputs) {
  const folders = inputs.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? '')
  const texts = [...new Set(folders.filter((folder) => folder !== ''))].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry))
    const text = file === undefined ? '' : `\n${readFileSync(join(root, folder, file), 'utf8').trim()}\n`
    return `${name} ${version}, ${license}\n${text}`
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}
