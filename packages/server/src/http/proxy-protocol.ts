/** The PROXY protocol, versions 1 and 2: a load balancer names the client of a connection before its first byte (contract 8.1.27). */
import { isIP, type Server, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { proxyHeaderBytesMax } from '../limits.ts'
import { withoutMapping } from '../shares/client-address.ts'

interface NamedClient {
  readonly address: string
  readonly port: number
}

interface ReadHeader {
  /** Undefined for connections of the proxy itself, such as its health checks. */
  readonly client: NamedClient | undefined
  readonly bytes: number
}

/** The signature of version 2. */
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const fixedBytes = 16
/** Longest line of version 1, including its end. */
const lineBytesMax = 107

/**
 * Reads the header of the PROXY protocol. Call after other connection listeners are added, which are called once the header was read. A connection of
 * a trusted proxy without a header is closed, since its client is unknown; all other connections are served unchanged. `msMax`: time for the header.
 * Returns a function that closes connections whose headers have not arrived.
 */
export function readProxyHeaders(server: Server, isTrusted: (address: string) => boolean, msMax: number): () => void {
  const serving = server.listeners('connection')
  server.removeAllListeners('connection')
  const waiting = new Set<Socket>()
  /** With TLS, requests arrive on another socket than the accepted one: by the remote end of the proxy. */
  const clients = new Map<string, NamedClient>()
  const serve = (socket: Socket): void => {
    for (const listener of serving) listener.call(server, socket)
  }
  server.on('connection', (socket: Socket) => {
    if (!isTrusted(socket.remoteAddress ?? '')) return serve(socket)
    waiting.add(socket)
    readHeader(socket, msMax, ({ client }) => {
      waiting.delete(socket)
      if (client !== undefined) {
        const end = endOf(socket)
        clients.set(end, client)
        socket.once('close', () => clients.delete(end))
        setRemoteEnd(socket, client)
      }
      serve(socket)
    })
    socket.once('close', () => waiting.delete(socket))
  })
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const client = clients.get(endOf(socket))
    if (client !== undefined) setRemoteEnd(socket, client)
  })
  return () => {
    for (const socket of waiting) socket.destroy()
  }
}

function endOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** Sets the address that the connection reports. */
function setRemoteEnd(socket: Socket, { address, port }: NamedClient): void {
  Object.defineProperties(socket, { remoteAddress: { value: address }, remotePort: { value: port } })
}

function readHeader(socket: Socket, msMax: number, done: (header: ReadHeader) => void): void {
  let bytes = Buffer.alloc(0)
  const timer = setTimeout(() => socket.destroy(), msMax)
  const take = (): void => {
    const more = socket.read() as Buffer | null
    if (more === null) return
    bytes = Buffer.concat([bytes, more])
    const header = headerIn(bytes)
    if (header === 'incomplete') return
    clearTimeout(timer)
    socket.removeListener('readable', take)
    if (header === undefined) {
      socket.destroy()
      return
    }
    if (header.bytes < bytes.length) socket.unshift(bytes.subarray(header.bytes))
    done(header)
  }
  socket.on('readable', take)
  // A reset connection has no other listener yet.
  socket.on('error', () => undefined)
  socket.once('end', () => {
    if (timer.hasRef()) socket.destroy()
  })
  socket.once('close', () => clearTimeout(timer))
}

/** Returns undefined for a malformed header. */
function headerIn(bytes: Buffer): ReadHeader | 'incomplete' | undefined {
  const start = bytes.subarray(0, signature.length)
  if (start.equals(signature.subarray(0, start.length))) return binaryHeaderIn(bytes)
  const end = bytes.subarray(0, lineBytesMax).indexOf('\r\n')
  if (end < 0) {
    const isPossible = 'PROXY '.startsWith(bytes.toString('latin1', 0, 'PROXY '.length)) && bytes.length < lineBytesMax
    return isPossible ? 'incomplete' : undefined
  }
  const line = bytes.toString('latin1', 0, end)
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { client: undefined, bytes: end + 2 }
  const [, version, address = '', to = '', port = ''] =
    /^PROXY TCP([46]) (\S+) (\S+) (\d{1,5}) \d{1,5}$/.exec(line) ?? []
  const isAddress = [address, to].every((one) => String(isIP(one)) === version)
  if (!isAddress || Number(port) > 65_535) return undefined
  return { client: { address: withoutMapping(address), port: Number(port) }, bytes: end + 2 }
}

function binaryHeaderIn(bytes: Buffer): ReadHeader | 'incomplete' | undefined {
  if (bytes.length < fixedBytes) return 'incomplete'
  const [versionAndCommand = 0, familyAndProtocol = 0] = bytes.subarray(signature.length)
  const length = fixedBytes + bytes.readUInt16BE(signature.length + 2)
  const [version, command] = [versionAndCommand >> 4, versionAndCommand & 0x0f]
  if (version !== 2 || command > 1 || length > proxyHeaderBytesMax) return undefined
  if (bytes.length < length) return 'incomplete'
  const addresses = bytes.subarray(fixedBytes, length)
  // Other families do not identify the client. Data after the addresses is not needed.
  if (command === 0 || (familyAndProtocol !== tcp4 && familyAndProtocol !== tcp6))
    return { client: undefined, bytes: length }
  const [size, portAt] = familyAndProtocol === tcp4 ? [12, 8] : [36, 32]
  if (addresses.length < size) return undefined
  const address = familyAndProtocol === tcp4 ? addresses.subarray(0, 4).join('.') : ipv6Of(addresses.subarray(0, 16))
  return { client: { address, port: addresses.readUInt16BE(portAt) }, bytes: length }
}

const tcp4 = 0x11
const tcp6 = 0x21

/** Formats an address like Node. Load balancers map IPv4 clients into IPv6 if they connect over IPv6. */
function ipv6Of(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16)).join(':')
  return withoutMapping(new URL(`http://[${groups}]`).hostname.slice(1, -1))
}
