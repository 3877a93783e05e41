/** Tests when set-up installs and builds again, and when it does not. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  builtPackages,
  isBundled,
  isCompiled,
  isInstalled,
  isSupported,
  packageState,
  sourceState,
} from '../set-up-state.mjs'

let root: string

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

function lockOf(packages: Record<string, object>): string {
  return JSON.stringify({ packages: { '': {}, 'packages/engine': {}, ...packages } })
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ashlar-set-up-'))
  write('tsconfig.base.json', '{}')
  for (const name of ['build-program.mjs', 'keep-code.mjs', 'program/load.cjs', 'program/keep-code.cjs'])
    write(`tools/${name}`, '')
  write('package-lock.json', lockOf({ 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { optional: true } }))
  write('packages/cli/demo/airports.csv', '')
  write('packages/engine/package.json', '{}')
  write('packages/engine/tsconfig.json', '{}')
  write('packages/engine/src/store/store.ts', '')
  write('packages/console/tsconfig.json', '{}')
})

afterEach(() => rmSync(root, { recursive: true }))

describe('the version of Node', () => {
  it.each(['v20.19.0', 'v20.20.2', 'v22.0.0', 'v24.1.0'])('takes %s', (version) =>
    expect(isSupported(version)).toBe(true),
  )
  it.each(['v20.18.3', 'v18.20.0', 'v8.0.0'])('refuses %s', (version) => expect(isSupported(version)).toBe(false))
})

describe('the packages', () => {
  it('are looked at again when the lock file changes', () => {
    const before = packageState(root)
    expect(packageState(root)).toEqual(before)
    write('package-lock.json', lockOf({}))
    expect(packageState(root).lock).not.toBe(before.lock)
    expect(packageState(root).machine).toBe(before.machine)
  })

  it('are there when npm noted the same versions, optional ones aside', () => {
    expect(isInstalled(root, false)).toBe(false)
    write('node_modules/.package-lock.json', lockOf({ 'node_modules/a': { version: '1.0.0' } }))
    expect(isInstalled(root, false)).toBe(true)
    write('node_modules/.package-lock.json', lockOf({ 'node_modules/a': { version: '1.0.1' } }))
    expect(isInstalled(root, false)).toBe(false)
    write('node_modules/.package-lock.json', lockOf({}))
    expect(isInstalled(root, false)).toBe(false)
  })
})

describe('the packages for a start', () => {
  it('are there without those that only tests use', () => {
    const production = { 'node_modules/a': { version: '1.0.0' } }
    write('package-lock.json', lockOf({ ...production, 'node_modules/c': { version: '2.0.0', dev: true } }))
    write('node_modules/.package-lock.json', lockOf(production))
    expect(isInstalled(root, true)).toBe(true)
    expect(isInstalled(root, false)).toBe(false)
    write('node_modules/.package-lock.json', lockOf({ ...production, 'node_modules/c': { version: '1.9.0' } }))
    expect(isInstalled(root, true)).toBe(false)
  })
})

describe('the build', () => {
  it('takes the packages that have sources', () => {
    expect(builtPackages(root)).toEqual([join('packages', 'engine')])
  })

  it('is due when a source is written, added or removed', () => {
    const states = [sourceState(root)]
    expect(sourceState(root)).toBe(states[0])
    utimesSync(join(root, 'packages/engine/src/store/store.ts'), 1, 1)
    states.push(sourceState(root))
    write('packages/engine/src/store/memory/memory-store.ts', '')
    states.push(sourceState(root))
    rmSync(join(root, 'packages/engine/src/store/store.ts'))
    states.push(sourceState(root))
    write('tsconfig.base.json', '{ }')
    states.push(sourceState(root))
    expect(new Set(states).size).toBe(5)
  })

  it('is due when its output is gone', () => {
    expect([isCompiled(root), isBundled(root)]).toEqual([false, false])
    write('packages/engine/dist/.tsbuildinfo', '')
    expect([isCompiled(root), isBundled(root)]).toEqual([true, false])
    write('packages/cli/dist/bin/ashlar.cjs', '')
    expect(isBundled(root)).toBe(true)
  })
})
