/** HTTPS of the program: alone and with workers, and certificates that are loaded again when it is told to. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it, vi } from 'vitest'
import { otherPair, serverPair } from '../certificates.ts'
import { start, temporaryDirectory } from './process.ts'

/** The certificate that a new connection is shown. */
function shown(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.toString() ?? '')
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

describe.each(['1', '2'])('with %s workers', (workers) => {
  it('all processes load the certificate again on SIGHUP, and go on where it is broken', async () => {
    const place = temporaryDirectory()
    const [cert, key] = [join(place, 'tls.crt'), join(place, 'tls.key')]
    writeFileSync(cert, serverPair.cert)
    writeFileSync(key, serverPair.key)
    const words = ['serve', '--port', '0', '--tls-cert', cert, '--tls-key', key, '--workers', workers]
    const { child, url, log, ended } = start(words)
    const address = await url
    expect(address).toMatch(/^https:/)
    expect(await shown(address)).toBe(serverPair.cert)
    writeFileSync(cert, otherPair.cert)
    writeFileSync(key, otherPair.key)
    child.kill('SIGHUP')
    await vi.waitFor(() => expect(log().match(/was loaded again/g)).toHaveLength(Number(workers)))
    for (let i = 0; i < 4; i++) expect(await shown(address)).toBe(otherPair.cert)
    writeFileSync(key, 'broken')
    child.kill('SIGHUP')
    await vi.waitFor(() => expect(log()).toMatch(/New connections go on with the certificate that was loaded before/))
    for (let i = 0; i < 4; i++) expect(await shown(address)).toBe(otherPair.cert)
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  })
})

it('a certificate without its key, and files that cannot be used, are told in a sentence', async () => {
  const place = temporaryDirectory()
  const cert = join(place, 'tls.crt')
  writeFileSync(cert, serverPair.cert)
  const alone = await start(['serve', '--port', '0', '--tls-cert', cert]).ended
  expect(alone).toMatchObject({
    code: 1,
    stderr: 'ashlar: TLS requires a certificate and its key; --tls-key is not specified.\n',
  })
  const absent = await start(['serve', '--port', '0', '--tls-cert', cert, '--tls-key', join(place, 'none')]).ended
  expect(absent.code).toBe(1)
  expect(absent.stderr).toMatch(/^ashlar: The TLS key \S+ cannot be read: ENOENT\.\n/)
})
