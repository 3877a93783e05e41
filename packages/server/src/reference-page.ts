/** /docs: the API reference as a page that loads nothing from elsewhere, and /openapi.json behind it. */
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import { openApiDocument } from './openapi.ts'

/** Assistants that would send the document to a service elsewhere; the type of the settings does not know them yet. */
const outsideServices = { agent: { disabled: true }, mcp: { disabled: true } }

/** Holds the browser to it: whatever the page might ask for elsewhere is not loaded. */
const onlyFromHere = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "worker-src 'self' blob:",
  "frame-ancestors 'none'",
].join('; ')

export async function registerReferencePage(app: FastifyInstance): Promise<void> {
  const document = JSON.stringify(openApiDocument())
  app.get('/openapi.json', (_request, reply) => reply.type('application/json; charset=utf-8').send(document))
  await app.register(scalar, {
    routePrefix: '/docs',
    hooks: {
      onRequest: (_request, reply, done) => {
        reply.header('content-security-policy', onlyFromHere)
        done()
      },
    },
    configuration: {
      url: '/openapi.json',
      title: 'Ashlar',
      pageTitle: 'Ashlar: the REST interface',
      withDefaultFonts: false,
      showDeveloperTools: 'never',
      hideClientButton: true,
      telemetry: false,
      ...outsideServices,
    },
  })
}
