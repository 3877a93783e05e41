/** Host names that a server accepts: any web page can point its own name at the server (DNS rebinding). */
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

export interface Reachability {
  readonly host: string
  /** Names accepted besides the addresses; `*` for any. Undefined: any, if the server listens beyond loopback. */
  readonly hosts: readonly string[] | undefined
}

const anyName = '*'
/** The port is optional; user, path and blanks, which a URL would accept, are excluded. */
const hostForm = /^(\[[\da-f:.]+\]|[^\s:/?#@\\[\]]+)(:\d{0,5})?$/i
const loopbackForm = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/
const wildcards: readonly string[] = ['0.0.0.0', '[::]']
/** Maximum cached headers; the cache saves parsing the header of each request. */
const acceptedMax = 100

/** Returns the host as in URLs: in lower case, IPv6 in brackets, without port and final dot. Undefined if it is not a host. */
export function hostNameOf(text: string): string | undefined {
  if (!hostForm.test(text)) return undefined
  try {
    return new URL(`http://${text}`).hostname.replace(/\.$/, '')
  } catch {
    return undefined
  }
}

/** Returns the host name of a socket address, which has no brackets and may have a zone. */
function nameOfAddress(address: string): string | undefined {
  const bare = address.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '')
  return hostNameOf(isIP(bare) === 6 ? `[${bare}]` : bare)
}

/** `host`: as in the configuration. */
export function isLoopback(host: string): boolean {
  return loopbackForm.test(nameOfAddress(host) ?? '')
}

/** Returns true if requests for any host name are accepted (contract 1.7.4). */
export function acceptsAnyHost({ host, hosts }: Reachability): boolean {
  return hosts === undefined ? !isLoopback(host) : hosts.includes(anyName)
}

export class HostNames {
  private readonly isAny: boolean
  private readonly isWildcard: boolean
  private readonly named: ReadonlySet<string | undefined>
  private readonly accepted = new Set<string>()

  constructor(reachability: Reachability) {
    const own = nameOfAddress(reachability.host)
    this.isAny = acceptsAnyHost(reachability)
    this.isWildcard = own !== undefined && wildcards.includes(own)
    this.named = new Set([own, ...(reachability.hosts ?? []).map(hostNameOf)])
  }

  /** `header`: a Host header. `connection`: the connection on which it arrived. */
  take(header: string, connection: { readonly localAddress?: string | undefined }): boolean {
    if (this.isAny || this.accepted.has(header)) return true
    const name = hostNameOf(header)
    if (name === undefined) return false
    const isAccepted =
      loopbackForm.test(name) || this.named.has(name) || this.isListenedOn(name, connection.localAddress)
    if (isAccepted && this.accepted.size < acceptedMax) this.accepted.add(header)
    return isAccepted
  }

  private isListenedOn(name: string, localAddress: string | undefined): boolean {
    if (localAddress !== undefined && nameOfAddress(localAddress) === name) return true
    if (!this.isWildcard || isIP(name.replace(/^\[|\]$/g, '')) === 0) return false
    const addresses = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
    return addresses.some(({ address }) => nameOfAddress(address) === name)
  }
}
