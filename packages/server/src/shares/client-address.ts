/** The client address: that of the connection, or as reported by a trusted proxy. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6, type Socket } from 'node:net'

const reportedAddress = Symbol('client address')

export interface FromClient {
  readonly socket: Socket
  /** Set if a trusted proxy has reported the client. */
  [reportedAddress]?: string
}

/** A request of which at least the headers have arrived. */
export interface ArrivedMessage extends FromClient {
  readonly headers: IncomingHttpHeaders
}

export function clientAddressOf(request: FromClient): string {
  return request[reportedAddress] ?? request.socket.remoteAddress ?? ''
}

/** Call before `clientAddressOf`. */
export function nameClient(request: FromClient, address: string): void {
  request[reportedAddress] = address
}

export function isClientNamed(request: FromClient): boolean {
  return request[reportedAddress] !== undefined
}

/** Returns the /64 of an IPv6 address, the smallest network that one client gets, or an IPv4 address in plain form. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const plain = withoutMapping(address)
  const groups = groupsOf(plain)
  return groups === undefined ? plain : `${groups.slice(0, 4).map(hex).join(':')}::/64`
}

/** Returns the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2); any other address unchanged. */
export function withoutMapping(address: string): string {
  // Fast path for the form that the operating system uses.
  const dotted = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (dotted !== undefined) return dotted
  const groups = groupsOf(address)
  const [high = 0, low = 0] = groups?.slice(6) ?? []
  const isMapped = groups?.slice(0, 6).map(hex).join(':') === '0:0:0:0:0:ffff'
  return isMapped ? [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.') : address
}

const hex = (group: number): string => group.toString(16)

/** Returns the eight groups of an IPv6 address without its zone; undefined for any other text. */
function groupsOf(address: string): number[] | undefined {
  const [plain = ''] = address.split('%', 1)
  if (!isIPv6(plain)) return undefined
  const [front = '', back] = plain.split('::')
  const [first, last] = [numbersIn(front), numbersIn(back ?? '')]
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last]
}

function numbersIn(part: string): number[] {
  return part.split(':').flatMap((group) => {
    if (group === '') return []
    const [one, ...others] = group.split('.').map(Number) as [number, ...number[]]
    const [two = 0, three = 0, four = 0] = others
    return others.length === 0 ? [Number.parseInt(group, 16)] : [one * 256 + two, three * 256 + four]
  })
}
