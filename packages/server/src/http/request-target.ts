/** Request targets in absolute form, as clients send them to proxies, and what host such a request is for (RFC 9112, 3.2.2). */
import type { IncomingMessage } from 'node:http'

const slash = 0x2f
/** Scheme and host end where the path or the parameters begin. */
const absoluteForm = /^https?:\/\/([^/?#]*)(.*)$/is

/**
 * The target without scheme and host. The host of an absolute form replaces that of the header, which is ignored then: which one is checked must not
 * depend on who looks. A request of HTTP/1.1 without the header stays without it, and is refused for that.
 */
export function withoutHost({ method, url = '', headers, httpVersion }: IncomingMessage): string {
  if (url.charCodeAt(0) === slash) return url
  // The server as a whole, which only OPTIONS may ask about (RFC 9112, 3.2.4); the router would take it for the root.
  if (url === '*') return method === 'OPTIONS' ? '/v1' : '/*'
  const [, host, rest] = absoluteForm.exec(url) ?? []
  if (host === undefined || rest === undefined) return url
  if (headers.host !== undefined || httpVersion === '1.0') headers.host = host
  return rest.startsWith('/') ? rest : `/${rest}`
}
