/**
 * The programs that tests start as processes of their own, built once a run: a script that compiles itself takes six times as long to start,
 * and the server takes twice as long as one of few files, which is what starting it hundreds of times would cost.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the built programs, laid out as the tests of the engine are. */
    children: string
    /** The built server as a program of few files. */
    server: string
  }
}

const packages = fileURLToPath(new URL('../packages/', import.meta.url))
const tests = join(packages, 'engine/test')
const server = join(packages, 'server/dist/cli/main.js')

/** Within the packages, so that what they depend on is found from there; a folder for each run, by the number of its process. */
const [runsOfChildren, runsOfServer] = ['engine', 'server'].map((name) =>
  join(packages, name, 'node_modules/.cache/test-programs'),
) as [string, string]
const run = String(process.pid)

const common: BuildOptions = {
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  logLevel: 'error',
}

/** Every project runs this; what the one above them provides, all of them have. */
export async function setup(project: TestProject): Promise<void> {
  if (!project.isRootProject()) return
  for (const runs of [runsOfChildren, runsOfServer]) {
    mkdirSync(join(runs, run), { recursive: true })
    for (const other of readdirSync(runs)) if (!isAlive(Number(other))) rmSync(join(runs, other), { recursive: true })
  }
  await Promise.all([buildChildren(join(runsOfChildren, run)), buildServer(join(runsOfServer, run))])
  project.provide('children', join(runsOfChildren, run))
  project.provide('server', join(runsOfServer, run, 'main.mjs'))
}

async function buildChildren(outdir: string): Promise<void> {
  const scripts = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((file) => basename(dirname(file)) === 'children' && basename(file) !== 'child.ts')
    .map((file) => join(tests, file))
  await build({ ...common, entryPoints: scripts, outbase: tests, outdir, packages: 'external' })
}

/** Of what `npm start` runs and the packages that it needs, but for those with native code, with files that are read, or in CommonJS and imported late. */
async function buildServer(outdir: string): Promise<void> {
  await build({
    ...common,
    entryPoints: [server],
    outdir,
    external: ['lmdb', 'fs-native-extensions', 'pg-native', '@scalar/*', 'cli-progress'],
    // For packages in CommonJS, which are inlined.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    plugins: [ownUrls],
  })
}

/** What a file of ours reads beside itself it still finds. */
const ownUrls: Plugin = {
  name: 'own-urls',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]packages[\\/]\w+[\\/]dist[\\/].*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      return { contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)) }
    })
  },
}

export function teardown(): void {
  for (const runs of [runsOfChildren, runsOfServer]) rmSync(join(runs, run), { recursive: true, force: true })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
