/**
 * Makes the package `ashlar` in `packages/ashlar/lib`, in which client, engine, server and command line are inlined: the program, `open` and `connect` share one engine
 * and one client. `npm pack` runs it. Everything is compiled before, since the types are those that the compiler writes.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { makeProgram } from './build-program.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** @param {string} [folder] what was in it is replaced */
export async function buildPackage(folder = join(root, 'packages/ashlar/lib')) {
  compile()
  const made = `${folder}.${process.pid}`
  rmSync(made, { recursive: true, force: true })
  await makeProgram(root, join(made, 'bin'), true)
  await writeEntries(made)
  writeTypes(join(made, 'types'))
  rmSync(folder, { recursive: true, force: true })
  renameSync(made, folder)
}

function compile() {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-b', join(root, 'packages/ashlar')], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`The package cannot be built: the compiler found errors.\n${stdout}`)
}

/**
 * Modules whose exports are those of `api.cjs`, and the client alone, for web pages.
 * @param {string} folder
 */
async function writeEntries(folder) {
  for (const name of ['index', 'client']) {
    const exported = Object.keys(await import(pathToFileURL(join(root, `packages/ashlar/dist/${name}.js`)).href))
    const text = `import loader from './bin/load.cjs'\n\nexport const { ${exported.join(', ')} } = loader.load('api', true)\n`
    writeFileSync(join(folder, `${name}.js`), text)
  }
  await build({
    entryPoints: [join(root, 'packages/client/src/index.ts')],
    outfile: join(folder, 'client-alone.js'),
    bundle: true,
    minifyWhitespace: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'error',
  })
}

/**
 * The declarations of what `index.ts` and `client.ts` export, and of the client.
 * @param {string} folder
 */
function writeTypes(folder) {
  const own = join(root, 'packages/ashlar/dist')
  for (const file of ['index', 'client', 'open', 'in-process-client', 'in-process/open-options']) {
    const place = join(folder, `${file}.d.ts`)
    mkdirSync(dirname(place), { recursive: true })
    const client = relative(dirname(place), join(folder, 'client/index.js')).replaceAll('\\', '/')
    const path = client.startsWith('.') ? client : `./${client}`
    writeFileSync(place, readFileSync(join(own, `${file}.d.ts`), 'utf8').replaceAll("'@ashlar/client'", `'${path}'`))
  }
  const client = join(root, 'packages/client/dist')
  for (const file of readdirSync(client, { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.d.ts')) cpSync(join(client, file), join(folder, 'client', file))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPackage()
