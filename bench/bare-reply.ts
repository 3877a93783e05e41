/** The limit: Fastify answering a constant body of the size of an object's representation. */
import { fastify } from 'fastify'

const body = Buffer.from(process.argv[2] ?? '{}')
const app = fastify()
app.get('/v1/object/:oid', (_request, reply) => reply.type('application/json; charset=utf-8').send(body))
await app.listen({ host: '127.0.0.1', port: 0 })
const address = app.server.address()
process.stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
process.once('SIGTERM', () => void app.close())
