/**
 * Bodies of requests: received as there is room for them, parsed, and given to the handlers of routes. The framework's own way looks up a parser by the
 * content type, and makes an asynchronous resource for each body: two microseconds a request.
 */
import { METHODS } from 'node:http'
import { AshlarError, noteRest } from '@ashlar/engine'
import {
  errorCodes,
  type FastifyContextConfig,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { ServerError } from '../errors/server-errors.ts'
import { BodyLines } from '../json/body-lines.ts'
import type { JsonLimits } from '../json/json-layout.ts'
import { decodeText, parseJson } from '../json/parse-json.ts'
import type { Limits } from '../limits.ts'
import type { Bodies } from './bodies-under-way.ts'
import { collectBody } from './collect-body.ts'
import { decompress } from './decompress.ts'
import { noteBody } from './request-id.ts'
import { sendProblem } from './send-problem.ts'
import { mayArriveSlowly } from './slow-bodies.ts'

/** Those that the framework would parse bodies of, as far as this version of Node knows them. */
const methodsWithBody = ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'QUERY']

/** Sends the reply, now or later; `request.body` is there. */
export type Handle = (request: FastifyRequest, reply: FastifyReply) => Promise<void> | undefined

/** The handler of a route, which begins before the body has arrived. `bytesMax`: of the body, where it is less than any may have. */
export type WithBody = (handle: Handle, bytesMax?: number) => Handle

/** To be called before any route is registered: from then on bodies are left to those handlers. */
export function bodyReader(app: FastifyInstance, limits: Limits, { bodyOf, admissionOf }: Bodies): WithBody {
  for (const method of methodsWithBody)
    if (METHODS.includes(method)) app.addHttpMethod(method, { overrideExisting: true })
  const boundsBy = (limit: 'bodyValuesMax' | 'objectValuesMax'): JsonLimits => {
    return { depthMax: limits.jsonDepthMax, valuesMax: limits[limit], valuesLimit: limit }
  }
  const [ofAny, ofObject] = [boundsBy('bodyValuesMax'), boundsBy('objectValuesMax')]
  const ofObjects: JsonLimits = { ...ofAny, ofObjects: ofObject }
  /** What the bytes stand for, now or later. May throw. */
  const parse = (body: Buffer, request: FastifyRequest): unknown => {
    if (request.headers['content-type'] === 'text/plain') return parsedText(body, limits)
    // Each value takes a byte: most bodies are too short for a look at what they are.
    const { bodyIsObject, takesArray } = body.length > limits.objectValuesMax ? request.routeOptions.config : noConfig
    const bounds = bodyIsObject !== true ? ofAny : takesArray === true ? ofObjects : ofObject
    return parseJson(body, bounds, undefined, admissionOf(request))
  }
  return (handle, bytesMax = limits.bodyBytesMax) =>
    (request, reply) => {
      const { 'content-length': length, 'transfer-encoding': transfer, 'content-type': type } = request.headers
      if (type === 'application/x-ndjson') return takeLines(handle, request, reply, limits)
      if (transfer === undefined && (length === undefined || length === '0')) return handle(request, reply)
      const bytes = request.is404 ? request.raw : bodyOf(request, reply)
      collectBody(request, bytes, bytesMax, (error, body) => {
        if (body === undefined) return refuse(largerThan(bytesMax, error, limits), request, reply)
        noteRest(request.raw.socket)
        // What is checked of a body is checked for every route: one that none asked for is not looked at.
        if (request.method === 'DELETE' || request.is404 || body.length === 0) return run(handle, request, reply)
        const noted = noteBody(request, body)
        if (noted === undefined) takeBody(parse, body, handle, request, reply)
        else void noted.then(() => takeBody(parse, body, handle, request, reply))
      })
      return undefined
    }
}

/** Read as they come, by whoever carries them out: nothing of them is counted among the bodies under way. */
function takeLines(handle: Handle, request: FastifyRequest, reply: FastifyReply, { lineBytesMax }: Limits): undefined {
  const { raw } = request
  const { 'content-encoding': encoding } = raw.headers
  try {
    mayArriveSlowly(raw)
    request.body = new BodyLines(encoding === undefined ? raw : decompress(raw, encoding), lineBytesMax)
  } catch (error) {
    refuse(error, request, reply)
    return undefined
  }
  noteRest(raw.socket)
  run(handle, request, reply)
  return undefined
}

/** The framework's error names the limit of all bodies. */
function largerThan(bytesMax: number, error: Error | null, { bodyBytesMax }: Limits): Error | null {
  const isOther = bytesMax === bodyBytesMax || !(error instanceof errorCodes.FST_ERR_CTP_BODY_TOO_LARGE)
  return isOther ? error : new ServerError('BodyTooLarge', `The body of this operation has at most ${bytesMax} bytes.`)
}

const bytesPerCharacterMax = 4

/** Throws LimitExceeded, MalformedRequest. */
function parsedText(body: Buffer, { queryCharactersMax }: Limits): { readonly query: string } {
  // A character has four bytes at most: what is too long in any case is not decoded.
  if (body.length <= bytesPerCharacterMax * queryCharactersMax) return { query: decodeText(body) }
  const message = `A text of statements has at most ${queryCharactersMax} characters (queryCharactersMax); parameters can hold the data.`
  throw new AshlarError('LimitExceeded', message)
}

const noConfig: FastifyContextConfig = {}

function takeBody(
  parse: (body: Buffer, request: FastifyRequest) => unknown,
  body: Buffer,
  handle: Handle,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  let parsed: unknown
  try {
    parsed = parse(body, request)
  } catch (error) {
    refuse(error, request, reply)
    return
  }
  if (parsed instanceof Promise) void takeLater(parsed, handle, request, reply)
  else {
    request.body = parsed
    run(handle, request, reply)
  }
}

async function takeLater(
  parsed: Promise<unknown>,
  handle: Handle,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  try {
    request.body = await parsed
  } catch (error) {
    return refuse(error, request, reply)
  }
  run(handle, request, reply)
}

/** The client may have more to send, which nobody reads. */
function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  // The server stops, and has refused it.
  if (reply.sent) return
  reply.header('connection', 'close')
  sendProblem(error, request, reply)
}

/** As the framework runs handlers. */
function run(handle: Handle, request: FastifyRequest, reply: FastifyReply): void {
  if (reply.sent) return
  try {
    handle(request, reply)?.catch((error) => sendProblem(error, request, reply))
  } catch (error) {
    sendProblem(error, request, reply)
  }
}
