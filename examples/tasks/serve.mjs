/** Bundles the page and serves it: `npm start`, or with another port `npm start 3001`. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL('src/page.tsx', import.meta.url))],
  bundle: true,
  minify: true,
  write: false,
  format: 'esm',
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
})
const files = new Map([
  ['/', { type: 'text/html', content: readFileSync(new URL('index.html', import.meta.url)) }],
  ['/page.js', { type: 'text/javascript', content: outputFiles[0]?.contents }],
])
const server = createServer(({ url = '' }, reply) => {
  const file = files.get(url)
  reply
    .writeHead(file ? 200 : 404, { 'content-type': `${file?.type ?? 'text/plain'}; charset=utf-8` })
    .end(file?.content)
})
server.listen(Number(process.argv[2] ?? 3000), 'localhost', () => {
  const address = server.address()
  console.log(`The page is at http://localhost:${typeof address === 'object' ? address?.port : address}`)
})
