/** Certificate files that are exchanged while the server runs. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, vi } from 'vitest'
import { CertificateFiles, readTlsFiles, type TlsMaterial } from '../../src/tls/certificate-files.ts'
import { otherPair, type Pair, serverPair } from '../certificates.ts'
import { clientAuthority } from '../client-certificates.ts'
import { rule } from '../contract/rule.ts'

const pollMs = 20

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), 'ashlar-tls-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function put(into: string, { cert, key }: Pair): void {
  writeFileSync(join(into, 'tls.crt'), cert)
  writeFileSync(join(into, 'tls.key'), key)
}

function watch(from: string) {
  const files = { cert: join(from, 'tls.crt'), key: join(from, 'tls.key') }
  const taken: TlsMaterial[] = []
  const log: { level: number; msg: string }[] = []
  const logger = pino({}, { write: (line: string) => log.push(JSON.parse(line)) })
  const watched = new CertificateFiles(files, logger, (material) => taken.push(material), pollMs)
  onTestFinished(() => watched.close())
  return { files, taken, log, watched }
}

const takes = (taken: readonly TlsMaterial[], { cert }: Pair) =>
  vi.waitFor(() => expect(String(taken.at(-1)?.cert)).toBe(cert))

rule('9.5.2', 'authorities of clients are read with the certificate, and told where they are none', async () => {
  const place = directory()
  put(place, serverPair)
  const files = { cert: join(place, 'tls.crt'), key: join(place, 'tls.key'), clientCa: join(place, 'ca.crt') }
  expect(() => readTlsFiles(files)).toThrow(/The file of client authorities \S+ cannot be read: ENOENT/)
  writeFileSync(files.clientCa, 'no certificate')
  expect(() => readTlsFiles(files)).toThrow(/The file of client authorities \S+ has no certificate in PEM/)
  writeFileSync(files.clientCa, clientAuthority)
  expect(String(readTlsFiles(files).ca)).toBe(clientAuthority)
})

rule('9.5.2', 'files that are replaced by others of their name, as certbot does', async () => {
  const place = directory()
  put(place, serverPair)
  const { taken } = watch(place)
  writeFileSync(join(place, 'new.key'), otherPair.key)
  writeFileSync(join(place, 'new.crt'), otherPair.cert)
  renameSync(join(place, 'new.key'), join(place, 'tls.key'))
  renameSync(join(place, 'new.crt'), join(place, 'tls.crt'))
  await takes(taken, otherPair)
})

rule('9.5.2', 'links that lead to another directory, as Kubernetes does', async () => {
  const place = directory()
  for (const [name, pair] of [
    ['first', serverPair],
    ['second', otherPair],
  ] as const) {
    mkdirSync(join(place, name))
    put(join(place, name), pair)
  }
  symlinkSync('first', join(place, '..data'))
  for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('..data', file), join(place, file))
  const { taken } = watch(place)
  symlinkSync('second', join(place, '..new'))
  renameSync(join(place, '..new'), join(place, '..data'))
  await takes(taken, otherPair)
})

rule(
  '9.5.2',
  'a key that does not belong to the certificate, a broken file and none leave what was loaded, and the log says so',
  async () => {
    const place = directory()
    put(place, serverPair)
    const { taken, log, watched } = watch(place)
    writeFileSync(join(place, 'tls.crt'), otherPair.cert)
    await vi.waitFor(() =>
      expect(log.at(-1)?.msg).toMatch(/the key belongs to another certificate\. New connections go on/),
    )
    expect(log.at(-1)?.level).toBe(50)
    writeFileSync(join(place, 'tls.crt'), 'no certificate')
    await vi.waitFor(() => expect(log.at(-1)?.msg).toMatch(/both must be PEM files/))
    rmSync(join(place, 'tls.crt'))
    await vi.waitFor(() => expect(log.at(-1)?.msg).toMatch(/cannot be read: ENOENT/))
    expect(taken).toEqual([])
    put(place, otherPair)
    await takes(taken, otherPair)
    const before = taken.length
    watched.reload()
    expect(taken).toHaveLength(before + 1)
  },
)

rule('9.5.2', 'an encrypted key is told from others; no message holds what is in a file', () => {
  const place = directory()
  put(place, {
    cert: serverPair.cert,
    key: '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n',
  })
  const files = { cert: join(place, 'tls.crt'), key: join(place, 'tls.key') }
  expect(() => readTlsFiles(files)).toThrow(/cannot be used for TLS: /)
  put(place, serverPair)
  expect(readTlsFiles(files)).toEqual({ cert: Buffer.from(serverPair.cert), key: Buffer.from(serverPair.key) })
})
