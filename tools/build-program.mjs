/** Makes of the built server the program `ashlar`: few files, with what they are made of inlined, since Node takes longer to find files than to read them. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

/**
 * Not inlined: what has native code, reads files of its own or is imported late and rarely. It is found as any package is.
 */
const installed = ['fs-native-extensions', 'pg-native', '@scalar/*', 'cli-progress']

/** What packages in CommonJS expect, and what the engine depends on and the server does not. */
const banner = `
import { createRequire as requireFrom } from 'node:module'
const require = requireFrom(import.meta.url)
const requireOfEngine = (name) => requireFrom(import.meta.resolve('@ashlar/engine'))(name)`

/**
 * Of what `tsc -b` has built. Function names and lines are kept, and there are source maps beside, for `node --enable-source-maps`.
 * @param {string} root
 * @param {string} [folder] within `packages/server`, from where what is not inlined is found; what else is in it is removed
 */
export async function buildProgram(root, folder = join(root, 'packages/server/dist/bin')) {
  mkdirSync(folder, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      ashlar: 'packages/server/dist/cli/main.js',
      worker: 'packages/server/dist/cli/worker.js',
    },
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: installed,
    banner: { js: banner },
    plugins: [ofEngine],
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    logLevel: 'error',
  })
  writeFileSync(join(folder, notices), noticesOf(root, Object.keys(metafile.inputs)))
  const written = new Set([notices, ...Object.keys(metafile.outputs).map((file) => basename(file))])
  for (const file of readdirSync(folder)) if (!written.has(file)) rmSync(join(folder, file), { recursive: true })
}

/**
 * What the engine depends on is found from the engine, wherever that is installed: the server's package does not name it.
 * lmdb is taken in its CommonJS form, which is one file.
 * @type {import('esbuild').Plugin}
 */
const ofEngine = {
  name: 'of-engine',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^lmdb$/ }, ({ path }) => ({ path, namespace: 'of-engine' }))
    onLoad({ filter: /^/, namespace: 'of-engine' }, ({ path }) => ({
      contents: `module.exports = requireOfEngine('${path}')`,
    }))
    onLoad({ filter: /[\\/]engine[\\/]dist[\\/].*\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', "import.meta.resolve('@ashlar/engine')"),
    }))
  },
}

const notices = 'NOTICES.txt'

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
