/** Tests that a lock file without some platform's packages is found and completed. */
import { describe, expect, it } from 'vitest'
import {
  type LockFile,
  lockFileProblems,
  missingPlatformPackages,
  nameAt,
  withIntegrity,
  withPlatformPackages,
} from '../lock-file.ts'

function lockWith(optional: Record<string, string>, more: LockFile['packages'] = {}): LockFile {
  return {
    packages: {
      '': {},
      'node_modules/parser': { version: '1.2.3', dev: true, optionalDependencies: optional },
      ...more,
    },
  }
}

describe('fix-lock', () => {
  it.each([
    ['@biomejs/cli-linux-x64-musl', { os: ['linux'], cpu: ['x64'], libc: ['musl'] }],
    ['@a/binding-linux-arm-gnueabihf', { os: ['linux'], cpu: ['arm'], libc: ['glibc'] }],
    ['@a/binding-linux-arm-musleabihf', { os: ['linux'], cpu: ['arm'], libc: ['musl'] }],
    ['@a/binding-android-arm-eabi', { os: ['android'], cpu: ['arm'] }],
    ['@a/binding-win32-x64-msvc', { os: ['win32'], cpu: ['x64'] }],
    ['extract-darwin-arm64', { os: ['darwin'], cpu: ['arm64'] }],
  ])('reads the platform from %s', (name, platform) => {
    expect(missingPlatformPackages(lockWith({ [name]: '1.2.3' })).get(`node_modules/${name}`)).toEqual({
      version: '1.2.3',
      dev: true,
      optional: true,
      ...platform,
    })
  })

  it('finds what is there, beside the parent or below it', () => {
    const entry = { version: '1.2.3', optional: true }
    const name = 'x-linux-x64'
    expect(missingPlatformPackages(lockWith({ [name]: '1.2.3' }, { [`node_modules/${name}`]: entry })).size).toBe(0)
    const below = { [`node_modules/parser/node_modules/${name}`]: entry }
    expect(missingPlatformPackages(lockWith({ [name]: '1.2.3' }, below)).size).toBe(0)
    const elsewhere = { [`node_modules/other/node_modules/${name}`]: entry }
    expect(missingPlatformPackages(lockWith({ [name]: '1.2.3' }, elsewhere)).size).toBe(1)
  })

  it('completes the file in npm’s order and leaves nothing to do', () => {
    const fixed = withPlatformPackages(lockWith({ 'a-linux-x64': '1.2.3' }))
    expect(Object.keys(fixed.packages)).toEqual(['', 'node_modules/a-linux-x64', 'node_modules/parser'])
    expect(missingPlatformPackages(fixed).size).toBe(0)
  })

  it('refuses to guess', () => {
    expect(() => missingPlatformPackages(lockWith({ canvas: '1.2.3' }))).toThrow('names no platform')
    expect(() => missingPlatformPackages(lockWith({ 'a-linux-x64': '^1.2.3' }))).toThrow('by hand')
  })
})

describe('check-lock', () => {
  it('finds packages that a server runs and whose download nobody would check, and fix-lock puts the digest where npm does', () => {
    const entry = { version: '1.0.0', optional: true }
    const lock = lockWith(
      {},
      {
        'node_modules/a/node_modules/@b/c': entry,
        'node_modules/d': { ...entry, dev: true },
        'node_modules/e': { ...entry, integrity: 'sha512-e' },
        'packages/engine': { version: '0.1.0' },
      },
    )
    expect(lockFileProblems(lock, new Map())).toEqual([
      'node_modules/a/node_modules/@b/c has no integrity: run npm run fix-lock',
    ])
    expect(nameAt('node_modules/a/node_modules/@b/c')).toBe('@b/c')
    const fixed = withIntegrity(lock, new Map([['node_modules/a/node_modules/@b/c', 'sha512-c']]))
    expect(lockFileProblems(fixed, new Map())).toEqual([])
    const { 'node_modules/a/node_modules/@b/c': completed, ...others } = fixed.packages
    expect(JSON.stringify(completed)).toBe('{"version":"1.0.0","integrity":"sha512-c","optional":true}')
    expect(others).toMatchObject({ 'node_modules/e': { integrity: 'sha512-e' }, '': {} })
  })

  it('finds addresses, but not the links of workspaces', () => {
    const more = {
      'node_modules/@ashlar/engine': { resolved: 'packages/engine', link: true },
      'node_modules/a': { version: '1.0.0', resolved: 'https://example.org/a.tgz', integrity: 'sha512-a' },
    }
    expect(lockFileProblems(lockWith({}, more), new Map())).toEqual(['node_modules/a names a download address'])
  })

  it('finds missing platforms and those that every machine would have to install', () => {
    const more = { 'node_modules/b': { version: '1.0.0', integrity: 'sha512-b', os: ['linux'] } }
    expect(lockFileProblems(lockWith({ 'a-linux-x64': '1.2.3' }, more), new Map())).toEqual([
      'node_modules/b is for one platform but not optional',
      'node_modules/a-linux-x64 is missing: run npm run fix-lock',
    ])
  })

  it('finds a package.json that the lock file does not follow, and a version that is not exact', () => {
    const manifests = new Map([['', { devDependencies: { parser: '^1.2.3' } }]])
    expect(lockFileProblems(lockWith({}), manifests)).toEqual([
      'parser differs from devDependencies of ./package.json: run npm install',
      './package.json pins parser to no exact version',
    ])
  })
})
