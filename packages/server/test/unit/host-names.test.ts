/** Which names a server is asked by, for each way to listen. */
import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { acceptsAnyHost, HostNames, isLoopback } from '../../src/browsers/host-names.ts'

const loopbackHosts = ['localhost', '127.0.0.1', '127.9.8.7', '::1', 'LOCALHOST', '::ffff:127.0.0.1']
const otherHosts = ['0.0.0.0', '::', '192.0.2.1', '2001:db8::1', 'db.example.com', '127.0.0.1.example.org', '::2']

describe('isLoopback', () => {
  it.each(loopbackHosts)('is true for %s', (host) => expect(isLoopback(host)).toBe(true))
  it.each(otherHosts)('is false for %s', (host) => expect(isLoopback(host)).toBe(false))
})

describe('HostNames', () => {
  it('are any beyond loopback where none is said, and where * is', () => {
    for (const host of otherHosts) {
      expect(acceptsAnyHost({ host, hosts: undefined })).toBe(true)
      expect(acceptsAnyHost({ host, hosts: [] })).toBe(false)
      expect(acceptsAnyHost({ host, hosts: ['a', '*'] })).toBe(true)
    }
    for (const host of loopbackHosts) expect(acceptsAnyHost({ host, hosts: undefined })).toBe(false)
    expect(new HostNames({ host: '0.0.0.0', hosts: undefined }).take('anything', {})).toBe(true)
  })

  it('are those of the interfaces where it listens on all', () => {
    const addresses = Object.values(networkInterfaces()).flatMap((of) => of ?? [])
    expect(addresses).not.toEqual([])
    for (const host of ['0.0.0.0', '::']) {
      const names = new HostNames({ host, hosts: [] })
      for (const { address, family } of addresses) {
        const shown = family === 'IPv6' ? `[${address}]` : address
        expect([shown, names.take(`${shown}:8185`, {})]).toEqual([shown, true])
      }
      expect(names.take('192.0.2.77', {})).toBe(false)
      expect(names.take('[2001:db8::77]:8185', {})).toBe(false)
    }
  })

  it('are the address at which the connection arrived, however it is written', () => {
    const names = new HostNames({ host: '::', hosts: [] })
    expect(names.take('192.0.2.5:80', { localAddress: '192.0.2.6' })).toBe(false)
    expect(names.take('192.0.2.5:80', { localAddress: '::ffff:192.0.2.5' })).toBe(true)
    expect(names.take('[2001:DB8:0::5]', { localAddress: '2001:db8::5' })).toBe(true)
    expect(names.take('[fe80::5]:8185', { localAddress: 'fe80::5%eth0' })).toBe(true)
  })

  it('are the host that it listens on, which may be a name', () => {
    const names = new HostNames({ host: 'db.internal', hosts: ['db.example.com'] })
    for (const host of ['db.internal:8185', 'DB.internal.', 'db.example.com', 'localhost']) {
      expect(names.take(host, {})).toBe(true)
    }
    expect(names.take('evil.example', {})).toBe(false)
  })
})
