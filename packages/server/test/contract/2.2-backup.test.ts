/** Contract 2.2.31 and 8.1.22: backups by tools, below one directory alone, and those that the server makes by itself. */
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { checkStore, listBackups } from '@ashlar/engine'
import { pino } from 'pino'
import { describe, expect } from 'vitest'
import { configFromJson } from '../../src/config/config-file.ts'
import { mergeConfig } from '../../src/config/merge-config.ts'
import { startServer } from '../../src/start-server.ts'
import { temporaryDirectory } from '../executable/process.ts'
import { rule } from './rule.ts'

interface Asked {
  readonly directory: string
  tool(tool: string, flags?: object): Promise<{ status: number; body: Record<string, unknown> }>
  get(path: string): Promise<string>
}

/** Of a server with federated databases `orders` and `other`; `backups`: of the setting, beside its directory; undefined: without the setting. */
async function withServer(backups: object | undefined, use: (asked: Asked) => Promise<void>): Promise<void> {
  const directory = temporaryDirectory()
  const setting = backups === undefined ? {} : { backups: { directory, ...backups } }
  const fds = ['orders', 'other'].map((alias) => ({ alias, store: 'memory:' }))
  const file = configFromJson(JSON.stringify(setting), 'test.json')
  const server = await startServer(
    mergeConfig([{ port: 0, federatedDatabases: fds, default: 'orders' }, file]),
    pino({ level: 'silent' }),
  )
  const sent = (method: string, path: string, body: object): Promise<Response> =>
    fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  try {
    const attributes = [{ attributeName: 'name', logicalType: 'string' }]
    await sent('PUT', '/v1/schema', [{ className: 'Port', isReferenceable: true, attributes }])
    await sent('POST', '/v1/object', { class: 'Port', attributes: { name: 'Valparaiso' } })
    await use({
      directory,
      async tool(tool, flags = {}) {
        const reply = await sent('POST', '/v1/tool', { tool, flags })
        return { status: reply.status, body: (await reply.json()) as Record<string, unknown> }
      },
      get: async (path) => (await fetch(`${server.url}${path}`)).text(),
    })
  } finally {
    await server.stop()
  }
}

describe('the tools Backup and Restore', () => {
  rule('2.2.31', 'make a backup in the directory of backups, and of it a store that can be served', () =>
    withServer({}, async ({ directory, tool }) => {
      const full = await tool('Backup')
      expect(full.body).toMatchObject({
        returnCode: 0,
        toolOutput: expect.stringMatching(/^Backup .*-full: 1 objects, /),
      })
      const incremental = await tool('backup', { incremental: true, keep: '7d' })
      expect(incremental.body).toMatchObject({ returnCode: 0, toolOutput: expect.stringMatching(/: 0 commits, /) })
      expect(readdirSync(directory)).toEqual(['orders'])
      const restored = await tool('Restore', { into: 'restored' })
      expect(restored.body).toMatchObject({ returnCode: 0, toolError: '' })
      const { content, problems } = await checkStore(`lmdb:${join(directory, 'restored')}`)
      expect([content?.objects, problems]).toEqual([1, []])
      const again = await tool('Restore', { into: 'restored' })
      expect(again.body).toMatchObject({ returnCode: 1, toolError: expect.stringContaining('is not empty') })
      expect((await tool('Restore', { into: 'x', backup: 'nothing' })).body).toMatchObject({ returnCode: 1 })
    }),
  )

  rule('2.2.31', 'take no path out of the directory of backups, also by a symbolic link', () =>
    withServer({}, async ({ directory, tool }) => {
      await tool('Backup')
      const outside = temporaryDirectory()
      symlinkSync(outside, join(directory, 'link'))
      symlinkSync(join(outside, 'nowhere'), join(directory, 'broken'))
      mkdirSync(join(directory, 'inside'))
      for (const path of [
        '../out',
        '/tmp/out',
        '.',
        '',
        'a/../../out',
        'link',
        'link/out',
        'broken',
        'broken/out',
        'a\0b',
      ]) {
        const into = await tool('Restore', { into: path })
        expect([path, into.body.toolError ?? into.body.message]).toEqual([
          path,
          expect.stringContaining('below the directory of backups'),
        ])
        const from = await tool('Restore', { into: 'new', backup: path })
        expect([path, from.body.toolError ?? from.body.message]).toEqual([
          path,
          expect.stringContaining('below the directory of backups'),
        ])
      }
      expect(readdirSync(outside)).toEqual([])
    }),
  )

  rule('2.2.31', 'are refused where the configuration names no directory, and with bad flags', async () => {
    await withServer(undefined, async ({ tool, get }) => {
      expect((await tool('Backup')).body).toMatchObject({
        returnCode: 1,
        toolError: expect.stringContaining('backups.directory'),
      })
      expect(JSON.parse(await get('/health/ready'))).toEqual({
        status: 'ready',
        federatedDatabases: ['orders', 'other'],
      })
    })
    await withServer({}, async ({ tool }) => {
      expect((await tool('Backup', { keep: 'long' })).body).toMatchObject({ returnCode: 1 })
      expect(await tool('Restore')).toMatchObject({ status: 400 })
    })
  })
})

describe('backups that are due', () => {
  rule('8.1.22', 'are made by the server, of every federated database, and shown by health and metrics', () =>
    withServer({ every: '1h', incrementalEvery: '1s', keep: '7d' }, async ({ directory, get }) => {
      const kinds = async (): Promise<string[]> =>
        (await listBackups(join(directory, 'orders'))).all.map(({ kind }) => kind)
      while ((await kinds()).length < 2) await delay(100)
      expect((await kinds()).slice(0, 2)).toEqual(['full', 'incremental'])
      let ready = JSON.parse(await get('/health/ready'))
      while (ready.backups[1].lastBackup === undefined) {
        await delay(100)
        ready = JSON.parse(await get('/health/ready'))
      }
      expect(ready.backups.map(({ fd }: { fd: string }) => fd)).toEqual(['orders', 'other'])
      expect(Object.keys(ready.backups[0].lastBackup)).toEqual(['name', 'kind', 'at'])
      expect(await get('/metrics')).toMatch(/\nashlar_backup_age_seconds\{fd="orders"\} [\d.e-]+\n/)
    }),
  )

  rule('8.1.22', 'are configured by times that are told apart from mistakes', () => {
    const read = (backups: unknown) => () => configFromJson(JSON.stringify({ backups }), 'test.json')
    expect(read({ directory: '/b', evry: '1d' })).toThrow('has no field evry. Did you mean every?')
    expect(read({ directory: '/b', every: 1 })).toThrow('every of backups in test.json is a time such as 7d')
    expect(read({ directory: '/b', keep: '7d' })).toThrow('needs every')
    expect(read({ every: '1d' })).toThrow('directory of backups in test.json must be a non-empty string')
  })
})
