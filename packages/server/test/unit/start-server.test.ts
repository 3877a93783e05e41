/** Starting leaves nothing open where it fails; a reload that fails in part is logged. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { fixture } from '../../../engine/test/format/fixture-files.ts'
import { AuditFile } from '../../src/audit/audit-file.ts'
import { mergeConfig } from '../../src/config/merge-config.ts'
import { startServer } from '../../src/start-server.ts'
import { CertificateFiles } from '../../src/tls/certificate-files.ts'
import { serverPair } from '../certificates.ts'
import { rule } from '../contract/rule.ts'

afterEach(() => vi.restoreAllMocks())

function configured(directory: string) {
  const [tlsCert, tlsKey, noStore] = ['tls.crt', 'tls.key', 'a-file'].map((name) => join(directory, name))
  writeFileSync(tlsCert as string, serverPair.cert)
  writeFileSync(tlsKey as string, serverPair.key)
  writeFileSync(noStore as string, '')
  const source = { port: 0, tlsCert: tlsCert as string, tlsKey: tlsKey as string, data: directory }
  return { source, auditLog: join(directory, 'audit.ndjson'), noStore: `lmdb:${noStore}` }
}

for (const [part, isAuditOpened, isOf] of [
  ['The audit log', false, 'auditLog'],
  ['The security database', true, 'securityStore'],
  ['The federated database one', true, 'federatedDatabases'],
] as const) {
  it(`closes what was opened before: ${part} cannot be opened`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'ashlar-start-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const { source, auditLog, noStore } = configured(directory)
    const store = isOf === 'federatedDatabases' ? noStore : 'memory:'
    const config = mergeConfig([
      {
        ...source,
        auditLog: isOf === 'auditLog' ? join(directory, 'missing', 'audit') : auditLog,
        federatedDatabases: [{ alias: 'one', store }],
        ...(isOf === 'securityStore' && { auth: true, securityStore: noStore }),
      },
    ])
    const closed = {
      tls: vi.spyOn(CertificateFiles.prototype, 'close'),
      audit: vi.spyOn(AuditFile.prototype, 'close'),
    }
    await expect(startServer(config, pino({ level: 'silent' }))).rejects.toThrow(part)
    expect(closed.tls).toHaveBeenCalledOnce()
    expect(closed.audit).toHaveBeenCalledTimes(isAuditOpened ? 1 : 0)
  })
}

it('logs that the audit log could not be closed at a reload, and goes on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-start-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const { auditLog } = configured(directory)
  const federatedDatabases = [{ alias: 'one', store: 'memory:' }]
  const config = mergeConfig([{ port: 0, data: directory, auditLog, federatedDatabases }])
  const told: string[] = []
  const logger = pino({ level: 'error' }, { write: (line: string) => told.push(JSON.parse(line).msg) })
  const server = await startServer(config, logger)
  onTestFinished(() => server.stop())
  vi.spyOn(AuditFile.prototype, 'reopen').mockRejectedValueOnce(new Error('EIO'))
  server.reload()
  await vi.waitFor(() => expect(told).toEqual([expect.stringMatching(/could not be closed/)]))
  expect((await fetch(`${server.url}/v1`)).status).toBe(200)
})

rule(
  '8.1.33',
  'logs what it has found where each store is to be: none, one of an earlier format, or the store',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'ashlar-start-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const location = (alias: string): string => join(directory, alias)
    mkdirSync(location('old'))
    writeFileSync(join(location('old'), 'data.mdb'), fixture('format-3').lmdb)
    const federatedDatabases = ['new', 'old'].map((alias) => ({ alias, store: `lmdb:${location(alias)}` }))
    federatedDatabases.push({ alias: 'brief', store: 'memory:' })
    const config = mergeConfig([{ port: 0, data: directory, federatedDatabases }])
    const logged: Record<string, unknown>[] = []
    const start = async (): Promise<unknown[]> => {
      const server = await startServer(config, pino({}, { write: (line: string) => logged.push(JSON.parse(line)) }))
      await server.stop()
      return logged.splice(0)
    }
    const lmdb = { kind: 'lmdb', format: 5, bytes: expect.any(Number) }
    const brief = { level: 30, fdAlias: 'brief', kind: 'memory', msg: 'opened' }
    expect(await start()).toMatchObject([
      {
        ...lmdb,
        level: 40,
        fdAlias: 'new',
        location: location('new'),
        msg: expect.stringMatching(/^created: a new, empty/),
      },
      {
        ...lmdb,
        level: 40,
        fdAlias: 'old',
        location: location('old'),
        formatBefore: 3,
        msg: expect.stringMatching(/^migrated: earlier versions/),
      },
      brief,
    ])
    expect(await start()).toMatchObject([
      { ...lmdb, level: 30, fdAlias: 'new', location: location('new'), msg: 'opened' },
      { ...lmdb, level: 30, fdAlias: 'old', location: location('old'), msg: 'opened' },
      brief,
    ])
  },
)

rule('8.1.34', 'only the owner can use the stores that it makes, that of users included', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-start-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const data = join(directory, 'data')
  const config = mergeConfig([{ port: 0, data, auth: true }])
  const server = await startServer(config, pino({ level: 'silent' }))
  onTestFinished(() => server.stop())
  if (process.platform === 'win32') return
  const all = readdirSync(data, { recursive: true, encoding: 'utf8' })
  expect(all).toEqual(expect.arrayContaining(['default/data.mdb', 'default/lock.mdb', '.security/data.mdb']))
  for (const name of ['', ...all]) expect([name, statSync(join(data, name)).mode & 0o077]).toEqual([name, 0])
})
