/** The programs that tests start as processes of their own, built once a run: one that compiles itself takes six times as long to start. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the built programs, laid out as the tests of the engine are. */
    children: string
  }
}

const tests = fileURLToPath(new URL('../packages/engine/test/', import.meta.url))
/** Within the package, so that what it depends on is found from there. */
const runs = join(tests, '../node_modules/.cache/test-children')
const built = join(runs, String(process.pid))

/** Every project runs this; what the one above them provides, all of them have. */
export async function setup(project: TestProject): Promise<void> {
  if (!project.isRootProject()) return
  mkdirSync(built, { recursive: true })
  for (const run of readdirSync(runs)) if (!isAlive(Number(run))) rmSync(join(runs, run), { recursive: true })
  const scripts = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((file) => basename(dirname(file)) === 'children' && basename(file) !== 'child.ts')
    .map((file) => join(tests, file))
  await build({
    entryPoints: scripts,
    outbase: tests,
    outdir: built,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
  })
  project.provide('children', built)
}

export function teardown(): void {
  rmSync(built, { recursive: true, force: true })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
