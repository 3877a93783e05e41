/** Which addresses and hosts deliveries may go to. */
import { describe, expect, it } from 'vitest'
import { readSecret } from '../../src/webhooks/signature.ts'
import { hostOf, isAllowedHost, isPrivate, publicLookup } from '../../src/webhooks/targets.ts'

describe('addresses', () => {
  it.each([
    '127.0.0.1',
    '127.8.9.1',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    '2002:7f00:1::',
    'ff02::1',
  ])('%s is private', (address) => {
    expect(isPrivate(address)).toBe(true)
  })

  it.each(['93.184.216.34', '172.32.0.1', '8.8.8.8', '2606:4700::1111', '2a00:1450:4001::1'])(
    '%s is public',
    (address) => {
      expect(isPrivate(address)).toBe(false)
    },
  )

  it('of names that lead to this machine are refused when they are connected to', async () => {
    for (const all of [true, false]) {
      const error = await new Promise((resolve) => publicLookup('localhost', { all }, resolve))
      expect(String(error)).toMatch(/localhost is (127\.0\.0\.1|::1), an address of this machine/)
    }
  })
})

describe('hosts', () => {
  it.each([
    ['https://hooks.example.com/a', true],
    ['https://HOOKS.example.com./a', false],
    ['https://a.b.example.org/', true],
    ['https://example.org/', false],
    ['https://badexample.org/', false],
    ['http://[::1]:80/', true],
    ['http://2130706433/', false],
  ])('%s: %s', (url, expected) => {
    expect(isAllowedHost(hostOf(new URL(url)), ['hooks.example.com', '*.example.org', '::1'])).toBe(expected)
  })
})

describe('secrets', () => {
  it.each([
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', true],
    [' whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n', true],
    ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', false],
    ['whsec_', false],
    ['whsec_!!!!9r8GKYqrTwjUPD8ILPZIo2LaLaSw', false],
    [`whsec_${Buffer.alloc(65).toString('base64')}`, false],
  ])('%j: %s', (text, isOne) => {
    expect(readSecret(text) !== undefined).toBe(isOne)
  })
})
