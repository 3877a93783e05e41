/** The limit of Fastify: the same constant body. */
import { fastify } from 'fastify'
import { constantReply } from './constant-reply.ts'
import { tellAddress } from './listening.ts'

const app = fastify()
app.get('/vehicle/:id', (_request, reply) => reply.type('application/json; charset=utf-8').send(constantReply))
await app.listen({ host: '127.0.0.1', port: 0 })
tellAddress(app.server)
