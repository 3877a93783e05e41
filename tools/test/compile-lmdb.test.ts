/** Tests which machines compile LMDB, and that what was compiled is used. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { compiledFile, compileLmdb, missingForCompiling } from '../compile-lmdb.mjs'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ashlar-lmdb-'))
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true })
})

function withPackage(): void {
  mkdirSync(join(root, 'node_modules', 'lmdb'), { recursive: true })
}

describe('the binary of LMDB', () => {
  it('is that of this machine, where one has been compiled', () => {
    const checkout = process.cwd()
    const lmdb = join(checkout, 'node_modules', 'lmdb')
    const found: string = createRequire(join(lmdb, 'package.json'))('node-gyp-build-optional-packages').path(lmdb)
    const compiled = compiledFile(checkout)
    expect(found === compiled).toBe(existsSync(compiled))
  })

  it('has a name that Node of another binary interface does not take', () => {
    expect(compiledFile(root)).toContain(`abi${process.versions.modules}.node`)
  })
})

describe('what is missing for compiling', () => {
  it('is lmdb-js before the packages are installed', () => {
    expect(missingForCompiling(root)).toBe('lmdb-js is not installed')
  })

  it.skipIf(missingForCompiling(process.cwd()) !== undefined)('are the commands that are not in the path', () => {
    withPackage()
    vi.stubEnv('PATH', root)
    vi.stubEnv('CXX', '')
    vi.stubEnv('PYTHON', '/usr/bin/env')
    expect(missingForCompiling(root)).toBe('there is no make and no c++')
  })
})

describe('what cannot be compiled', () => {
  it.skipIf(missingForCompiling(process.cwd()) !== undefined)('is told, and leaves nothing behind', async () => {
    withPackage()
    expect(await compileLmdb(root)).toContain('binding.gyp')
    expect(existsSync(compiledFile(root))).toBe(false)
    expect(existsSync(join(root, 'node_modules', '.cache', `lmdb.${process.pid}`))).toBe(false)
  })
})
