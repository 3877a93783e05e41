/** Trusted proxies, and the client addresses in their headers (contract 8.1.27). */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import type { ProxyHeader, ProxySettings } from '../config/config.ts'
import { nameClient, withoutMapping } from '../shares/client-address.ts'

/** Networks by names that other servers also use. */
const networks: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

export class TrustedProxies {
  readonly header: ProxyHeader
  private readonly list = new BlockList()

  constructor({ trusted, header }: ProxySettings) {
    this.header = header
    for (const network of trusted.flatMap((text) => networks[text] ?? [text])) {
      const [address = '', bits = isIPv6(address) ? '128' : '32'] = network.split('/')
      this.list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4')
    }
  }

  isTrusted(address: string): boolean {
    const [plain = ''] = address.split('%', 1)
    return isIP(plain) !== 0 && this.list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')
  }

  /** Call before the client address is used. Ignores headers of untrusted senders. */
  nameClientOf(request: IncomingMessage): void {
    if (this.header === 'proxy-protocol' || !this.isTrusted(request.socket.remoteAddress ?? '')) return
    const text = request.headers[this.header]
    const client = typeof text === 'string' ? this.clientIn(text) : undefined
    if (client !== undefined) nameClient(request, client)
  }

  /**
   * Returns the client: each proxy appends the address of its peer, so the client is the last address that is not a trusted proxy, regardless of what
   * the client has sent. Undefined if a trusted proxy has forwarded something other than an address.
   */
  private clientIn(text: string): string | undefined {
    const hops = this.header === 'forwarded' ? elementsFromRight(text) : text.split(',').reverse()
    let client: string | undefined
    for (const hop of hops) {
      client = addressIn(this.header === 'forwarded' ? forOf(hop) : hop.trim())
      if (client === undefined || !this.isTrusted(client)) return client
    }
    return client
  }
}

/** With or without a port; IPv6 with or without brackets; IPv4-mapped addresses are converted. */
function addressIn(hop: string): string | undefined {
  const [, bracketed, plain] = /^\[([^\]]*)\](?::\w+)?$|^([^:]*)(?::\d+)?$/.exec(hop) ?? []
  const address = bracketed ?? plain ?? hop
  return isIP(address) === 0 ? undefined : withoutMapping(address)
}

/**
 * Yields the elements of RFC 7239, the last one first. They are split from the right: an unclosed quote of a client does not affect what proxies
 * append, nor does a comma in a quoted value of a proxy, such as a host name sent by the client.
 */
function* elementsFromRight(text: string): Generator<string> {
  let end = text.length
  let isQuoted = false
  for (let at = text.length - 1; at >= 0; at--) {
    if (text[at] === '"' && !(isQuoted && isEscaped(text, at))) isQuoted = !isQuoted
    if (text[at] !== ',' || isQuoted) continue
    yield text.slice(at + 1, end)
    end = at
  }
  yield text.slice(0, end)
}

function isEscaped(text: string, at: number): boolean {
  let from = at
  while (text[from - 1] === '\\') from--
  return (at - from) % 2 === 1
}

/** A parameter of RFC 7239; empty between two semicolons. */
const parameter = /\s*(?:([\w!#$%&'*+.^`|~-]+)=("(?:[^"\\]|\\.)*"|[\w!#$%&'*+.^`|~-]+))?\s*(?:;|$)/y

/** Returns the parameter `for` of an element; empty if it is missing or the element is malformed. */
function forOf(element: string): string {
  let client = ''
  for (parameter.lastIndex = 0; parameter.lastIndex < element.length; ) {
    const found = parameter.exec(element)
    if (found === null) return ''
    const [, name = '', value = ''] = found
    if (name.toLowerCase() === 'for')
      client = value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value
  }
  return client
}
