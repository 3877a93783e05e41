/** Which proxies are believed about the addresses of clients, and what they say in the headers of a request (contract 8.1.27). */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import type { ProxyHeader, ProxySettings } from '../config/config.ts'
import { nameClient } from '../shares/client-address.ts'
import { networkOf } from '../shares/network.ts'

/** Networks by the names that other servers give them too. */
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

  /** To be called before anybody asks for the address of the client. Headers of whoever is not trusted say nothing. */
  nameClientOf(request: IncomingMessage): void {
    if (this.header === 'proxy-protocol' || !this.isTrusted(request.socket.remoteAddress ?? '')) return
    const text = request.headers[this.header]
    const client = typeof text === 'string' ? this.clientIn(text) : undefined
    if (client !== undefined) nameClient(request, client)
  }

  /**
   * Each proxy appends the address that has asked it: so the last one that is of no trusted proxy is the client, whatever the client itself has written
   * before it. Undefined where a trusted proxy has passed on something that is no address.
   */
  private clientIn(text: string): string | undefined {
    const hops = this.header === 'forwarded' ? hopsOfForwarded(text) : text.split(',')
    let client: string | undefined
    for (const hop of hops?.reverse() ?? []) {
      client = addressIn(hop.trim())
      if (client === undefined || !this.isTrusted(client)) return client
    }
    return client
  }
}

/** With a port or without; IPv6 in brackets or without. An IPv4 address however it is written. */
function addressIn(hop: string): string | undefined {
  const [, bracketed, plain] = /^\[([^\]]*)\](?::\w+)?$|^([^:]*)(?::\d+)?$/.exec(hop) ?? []
  const address = bracketed ?? plain ?? hop
  if (isIP(address) === 0) return undefined
  return address.toLowerCase().startsWith('::ffff:') ? networkOf(address) : address
}

/** Of RFC 7239: a parameter, and what comes after it. */
const parameter = /\s*([\w!#$%&'*+.^`|~-]+)=("(?:[^"\\]|\\.)*"|[\w!#$%&'*+.^`|~-]+)\s*(?:([;,])|$)/y

/** What each hop was for; undefined for what is malformed. */
function hopsOfForwarded(text: string): string[] | undefined {
  const hops: string[] = []
  let hop = ''
  for (parameter.lastIndex = 0; parameter.lastIndex < text.length; ) {
    const found = parameter.exec(text)
    if (found === null) return undefined
    const [, name = '', value = '', separator] = found
    if (name.toLowerCase() === 'for')
      hop = value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value
    if (separator === ';') continue
    hops.push(hop)
    hop = ''
  }
  return hops
}
