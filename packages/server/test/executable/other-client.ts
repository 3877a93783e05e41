/** Another client by HTTP/2, on one connection of its own, which goes on while something else is done to the server. */
import { connect } from 'node:http2'
import { serverPair } from '../certificates.ts'

export interface OtherClient {
  ask(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: string }>
  /** The path of a new object of a MiB. */
  createLarge(): Promise<string>
  end(): void
}

export function otherClient(port: number, authorization: string): OtherClient {
  const session = connect(`https://127.0.0.1:${port}`, { ca: serverPair.cert })
  session.on('error', () => undefined)
  const ask: OtherClient['ask'] = (method, path, body) =>
    new Promise((resolve, reject) => {
      const type = body === undefined ? {} : { 'content-type': 'application/json' }
      const headers = { ':method': method, ':path': path, authorization, ...type }
      const stream = session.request(headers, { endStream: body === undefined })
      let [status, text] = [0, '']
      stream.on('response', (given) => {
        status = Number(given[':status'])
      })
      stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      stream.on('error', reject).on('close', () => resolve({ status, body: text }))
      if (body !== undefined) stream.end(JSON.stringify(body))
    })
  const createLarge = async (): Promise<string> => {
    const attributes = [{ attributeName: 'text', logicalType: 'string' }]
    await ask('PUT', '/v1/schema', [{ className: 'Large', isReferenceable: true, attributes }])
    const { body } = await ask('POST', '/v1/object', { class: 'Large', attributes: { text: 'x'.repeat(2 ** 20) } })
    return (JSON.parse(body) as { readonly uri: string }).uri
  }
  return { ask, createLarge, end: () => session.destroy() }
}
