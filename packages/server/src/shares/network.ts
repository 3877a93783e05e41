/** What counts as one address, where the requests of one client are counted. */
import { isIPv6 } from 'node:net'

/** Of IPv6 the /64, which is what one client gets at least; an IPv4 address however it is written. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address
  const [front = '', back] = address.replace(/%.*/, '').split('::')
  const groupsOf = (part: string | undefined): string[] => part?.split(':').filter((group) => group !== '') ?? []
  const [first, last] = [groupsOf(front), groupsOf(back)]
  const left = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  const groups = [...first, ...left, ...last].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
