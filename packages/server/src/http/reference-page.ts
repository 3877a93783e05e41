/** /docs: the API reference as a page that loads nothing from elsewhere, and /openapi.json behind it. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { openApiDocument } from '../openapi/openapi.ts'
import type { HttpRequest, RouteTable } from './http-request.ts'
import { contentTypeOf } from './negotiate.ts'
import { sendReply } from './send-reply.ts'

const page = '/docs'
const script = 'js/scalar.js'
const starter = 'js/start.js'

/** Assistants would send the document to a service elsewhere. */
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

/** A content security policy by which the page loads nothing from elsewhere. */
const onPage = {
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

/** Document and script are made, or read, when they are asked for: most servers are never asked. */
export function registerReferencePage(routes: RouteTable): void {
  const get = (path: string, answer: (request: HttpRequest) => Promise<void> | void): void =>
    routes.add('GET', path, { path, handle: (request) => answer(request) ?? undefined })
  let made: string | undefined
  const document = (): string => {
    made ??= JSON.stringify(openApiDocument())
    return made
  }
  get('/openapi.json', (request) => {
    sendReply(request, 200, undefined, contentTypeOf.json, document())
  })
  get(`${page}/openapi.json`, (request) => {
    sendReply(request, 200, onPage, contentTypeOf.json, document())
  })
  // A JSON text is one in YAML too.
  get(`${page}/openapi.yaml`, (request) => {
    sendReply(request, 200, onPage, 'application/yaml; charset=utf-8', document())
  })
  get(`${page}/`, (request) => {
    // The script's address is relative to the folder.
    if (request.url.split('?', 1)[0] === page) sendReply(request, 301, { ...onPage, location: `${page}/` })
    else sendReply(request, 200, onPage, 'text/html; charset=utf-8', html)
  })
  get(`${page}/${starter}`, (request) => {
    const start = `Scalar.createApiReference('#app', ${JSON.stringify(settings)})\n`
    sendReply(request, 200, onPage, 'application/javascript; charset=utf-8', start)
  })
  get(`${page}/${script}`, async (request) => {
    sendReply(request, 200, onPage, 'application/javascript; charset=utf-8', await readScript())
  })
}

/** The package is not imported: its code renders documents in other ways too, and takes longer to load than this server. */
function readScript(): Promise<Buffer> {
  const main = import.meta.resolve('@scalar/fastify-api-reference')
  return readFile(fileURLToPath(new URL('js/standalone.js', main)))
}
