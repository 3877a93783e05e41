/**
 * Restricts the targets of webhooks. The configuration must allow the host name, and the addresses to which it resolves are checked for the same
 * connection: otherwise, the owner of the name or the author of the configuration could reach services that only this machine can.
 */
import { type LookupAddress, lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** Addresses of this machine, of private networks, and further non-public ones (RFC 6890). */
const privateRanges: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 4, 'ipv4'],
  ['240.0.0.0', 4, 'ipv4'],
  ['::', 127, 'ipv6'],
  // IPv4 addresses in all their embedded and translated forms.
  ['::ffff:0:0', 96, 'ipv6'],
  ['64:ff9b::', 96, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['2001::', 23, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['100::', 64, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
]

/** Separate lists: a BlockList also matches IPv4 addresses with its IPv6 ranges. */
const privateAddresses = { ipv4: new BlockList(), ipv6: new BlockList() }
for (const [network, prefix, family] of privateRanges) privateAddresses[family].addSubnet(network, prefix, family)

/** `address`: an IP address. */
export function isPrivate(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  return privateAddresses[family].check(address, family)
}

/** Returns the host of a URL without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').toLowerCase()
}

/** `allowed`: as configured. */
export function isAllowedHost(host: string, allowed: readonly string[]): boolean {
  return allowed.some((one) => (one.startsWith('*.') ? host.endsWith(one.slice(1)) : host === one))
}

/** A name that resolves only to refused addresses. */
export class AddressRefused extends Error {
  constructor(host: string, address: string) {
    super(`${host} is ${address}, an address of this machine or of a private network (allowPrivateAddresses).`)
  }
}

/** Resolves to public addresses only, for `http.request`. */
export const publicLookup: LookupFunction = (host, options, callback) => {
  lookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error !== null) return callback(error, [])
    const open = addresses.filter(({ address }) => !isPrivate(address))
    const first = open[0]
    if (first === undefined) return callback(new AddressRefused(host, addresses[0]?.address ?? 'nowhere'), [])
    if (options.all === true) callback(null, open)
    else callback(null, first.address, first.family)
  })
}
