/** The limit of Node: `node:http` answering a constant body. */
import { createServer } from 'node:http'
import { constantReply } from './constant-reply.ts'
import { tellAddress } from './listening.ts'

const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': constantReply.length }
const server = createServer((_request, response) => {
  response.writeHead(200, headers).end(constantReply)
})
server.listen(0, '127.0.0.1', () => tellAddress(server))
