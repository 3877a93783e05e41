/**
 * The programs that tests start as processes of their own, built once a run: a script that compiles itself takes six times as long to start, and
 * the server that was built last may be of other sources.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import type { TestProject } from 'vitest/node'
import { buildProgram } from './build-program.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the built programs, laid out as the tests of the engine are. */
    children: string
    /** What `npm start` runs. */
    server: string
  }
}

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = join(root, 'packages')
const tests = join(packages, 'engine/test')

/** Within the packages, so that what they depend on is found from there; a folder for each run, by the number of its process. */
const runsOfChildren = join(packages, 'engine/node_modules/.cache/test-programs')
const runsOfProgram = join(packages, 'cli/dist/tests')
const run = String(process.pid)

/** Every project runs this; what the one above them provides, all of them have. */
export async function setup(project: TestProject): Promise<void> {
  if (!project.isRootProject()) return
  for (const runs of [runsOfChildren, runsOfProgram]) {
    mkdirSync(join(runs, run), { recursive: true })
    for (const other of readdirSync(runs))
      if (!isAlive(Number.parseInt(other, 10))) rmSync(join(runs, other), { recursive: true })
  }
  await Promise.all([buildChildren(join(runsOfChildren, run)), buildProgram(root, join(runsOfProgram, run))])
  project.provide('children', join(runsOfChildren, run))
  project.provide('server', join(runsOfProgram, run, 'ashlar.cjs'))
  process.env.ASHLAR_TEST_THREAD_PROGRAM = threadProgram
}

/** The server's program of a statement thread, which also runs what the engine's does. */
const threadProgram = join(runsOfProgram, run, 'statement-thread.cjs')

/** The program of a statement thread is that of this run, as for the tests themselves. */
const threadsOfRun: Plugin = {
  name: 'threads-of-run',
  setup({ onLoad }) {
    const program = pathToFileURL(threadProgram).href
    const contents = `export const threadProgram = new URL(${JSON.stringify(program)})`
    onLoad({ filter: /[\\/]threads[\\/]program\.ts$/ }, () => ({ contents }))
  },
}

async function buildChildren(outdir: string): Promise<void> {
  const scripts = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((file) => basename(dirname(file)) === 'children' && basename(file) !== 'child.ts')
    .map((file) => join(tests, file))
  await build({
    entryPoints: scripts,
    outbase: tests,
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    plugins: [threadsOfRun],
    logLevel: 'error',
  })
}

export function teardown(): void {
  for (const runs of [runsOfChildren, runsOfProgram]) rmSync(join(runs, run), { recursive: true, force: true })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
