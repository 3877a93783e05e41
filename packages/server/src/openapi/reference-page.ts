/** /docs: the API reference as a page that loads nothing from elsewhere, and /openapi.json behind it. */
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
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

const page = '/docs'

export async function registerReferencePage(app: FastifyInstance): Promise<void> {
  const document = JSON.stringify(openApiDocument())
  const sendDocument = (_request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.type('application/json; charset=utf-8').send(document)
  app.get('/openapi.json', sendDocument)
  await app.register(scalar, {
    routePrefix: page,
    hooks: {
      onRequest: (request, reply, done) => {
        reply.header('content-security-policy', onlyFromHere)
        const answer = ownAnswers[request.routeOptions.url ?? '']
        if (answer?.(request, reply) === undefined) done()
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

  /** The package's own answers fail: it takes the document's address for its text, and a request without Host for a fault. */
  const ownAnswers: Record<string, (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined> = {
    [`${page}/openapi.json`]: sendDocument,
    // A JSON text is one in YAML too.
    [`${page}/openapi.yaml`]: (_request, reply) => reply.type('application/yaml; charset=utf-8').send(document),
    [`${page}/`]: ({ url, raw }, reply) => {
      if (url.split('?', 1)[0] === page) return reply.redirect(`${page}/`, 301)
      // It reads the path of its address only.
      raw.headers.host = 'localhost'
      return undefined
    },
  }
}
