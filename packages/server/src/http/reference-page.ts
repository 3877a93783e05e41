/** /docs: the API reference as a page without external resources, and its /openapi.json. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { openApiDocument } from '../openapi/openapi.ts'
import type { HttpRequest, RouteTable } from './http-request.ts'
import { contentTypeOf } from './negotiate.ts'
import { sendReply } from './send-reply.ts'

const page = '/docs'
const script = 'js/scalar.js'
const starter = 'js/start.js'

/** Assistants would send the document to an external service. */
const outsideServices = { agent: { disabled: true }, mcp: { disabled: true } }

const settings = {
  url: '/openapi.json',
  title: 'Ashlar',
  withDefaultFonts: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  telemetry: false,
  ...outsideServices,
}

const html = `<!doctype html>
<html>
  <head>
    <title>Ashlar: the REST interface</title>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
  </head>
  <body>
    <div id="app"></div>
    <script src="${script}"></script>
    <script src="${starter}"></script>
  </body>
</html>
`

/** A content security policy that restricts the page to this server. */
const pageHeaders = {
  'content-security-policy': [
    "default-src 'self'",
    // The script of the page tries to compile functions from strings, and works without.
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
}

/** Creates the document and reads the script on demand: most servers never need them. */
export function registerReferencePage(routes: RouteTable): void {
  const get = (path: string, answer: (request: HttpRequest) => Promise<void> | void): void =>
    routes.add('GET', path, { path, handle: (request) => answer(request) ?? undefined })
  let documentText: string | undefined
  const document = (): string => {
    documentText ??= JSON.stringify(openApiDocument())
    return documentText
  }
  get('/openapi.json', (request) => {
    sendReply(request, 200, undefined, contentTypeOf.json, document())
  })
  get(`${page}/openapi.json`, (request) => {
    sendReply(request, 200, pageHeaders, contentTypeOf.json, document())
  })
  // JSON is valid YAML.
  get(`${page}/openapi.yaml`, (request) => {
    sendReply(request, 200, pageHeaders, 'application/yaml; charset=utf-8', document())
  })
  get(`${page}/`, (request) => {
    // The script's URL is relative to the folder.
    if (request.url.split('?', 1)[0] === page) sendReply(request, 301, { ...pageHeaders, location: `${page}/` })
    else sendReply(request, 200, pageHeaders, 'text/html; charset=utf-8', html)
  })
  get(`${page}/${starter}`, (request) => {
    const start = `Scalar.createApiReference('#app', ${JSON.stringify(settings)})\n`
    sendReply(request, 200, pageHeaders, 'application/javascript; charset=utf-8', start)
  })
  get(`${page}/${script}`, async (request) => {
    sendReply(request, 200, pageHeaders, 'application/javascript; charset=utf-8', await readScript())
  })
}

/** The package is not imported: it also renders documents, and takes longer to load than this server. */
function readScript(): Promise<Buffer> {
  const main = import.meta.resolve('@scalar/fastify-api-reference')
  return readFile(fileURLToPath(new URL('js/standalone.js', main)))
}
