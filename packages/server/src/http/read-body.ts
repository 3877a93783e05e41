/** Receives request bodies as capacity permits, parses them, and passes them to route handlers. */
import { AshlarError, JsonSource, mapAwaitable, noteRest, noteText } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import { BodyLines } from '../json/body-lines.ts'
import { beginsArray } from '../json/json-scan.ts'
import { decodeText, jsonLimitsOf, parseJson } from '../json/parse-json.ts'
import { UnparsedBody } from '../json/unparsed-body.ts'
import type { Limits } from '../limits.ts'
import { mayArriveSlowly } from './broken-request.ts'
import { BodyTooLong, collectBody } from './collect-body.ts'
import { decompress } from './compression.ts'
import type { Handle, HttpRequest, Route } from './http-request.ts'
import type { Bodies } from './in-flight-bodies.ts'
import { hashBody } from './request-id.ts'
import { sendProblem } from './send-problem.ts'

/** Wraps the handler of a route, which is called with a complete body. `bytesMax`: a lower limit of the body than that of the server. */
export type WithBody = (handle: Handle, bytesMax?: number) => Handle

export function bodyReader(limits: Limits, { bodyOf, admissionOf }: Bodies): WithBody {
  const parse = (body: Buffer, request: HttpRequest): unknown => {
    if (request.headers['content-type'] === 'text/plain') return parsedText(body, limits)
    const parsed = parseJson(body, jsonLimitsOf(limits, request.route ?? noRoute, body), admissionOf(request))
    return mapAwaitable(parsed, (json) => noteText(json, JsonSource.of(body)))
  }
  return (handle, bytesMax = limits.bodyBytesMax) =>
    (request) => {
      const { 'content-length': length, 'transfer-encoding': transfer, 'content-type': type } = request.headers
      if (type === 'application/x-ndjson') return takeLines(handle, request, limits)
      if (transfer === undefined && (length === undefined || length === '0')) return handle(request)
      const bytes = request.route === undefined ? request.raw : bodyOf(request)
      collectBody(request, bytes, bytesMax, (error, body) => {
        if (body === undefined)
          return refuse(error instanceof BodyTooLong ? tooLarge(bytesMax, limits) : error, request)
        noteRest(request.raw.socket)
        // The body of a DELETE or of a request without a route is ignored.
        if (request.method === 'DELETE' || request.route === undefined || body.length === 0)
          return handleRequest(handle, request)
        const hashed = hashBody(request, body)
        if (hashed === undefined) takeBody(parse, admissionOf, body, handle, request)
        else void hashed.then(() => takeBody(parse, admissionOf, body, handle, request))
      })
      return undefined
    }
}

/** Streams the lines to their operation, outside the limit for bodies in progress. */
function takeLines(handle: Handle, request: HttpRequest, { lineBytesMax }: Limits): undefined {
  const { raw } = request
  const { 'content-encoding': encoding } = raw.headers
  try {
    mayArriveSlowly(raw)
    request.body = new BodyLines(encoding === undefined ? raw : decompress(raw, encoding), lineBytesMax)
  } catch (error) {
    refuse(error, request)
    return undefined
  }
  noteRest(raw.socket)
  handleRequest(handle, request)
  return undefined
}

function tooLarge(bytesMax: number, { bodyBytesMax }: Limits): ServerError {
  return new ServerError(
    'BodyTooLarge',
    bytesMax === bodyBytesMax
      ? `The body is larger than ${bytesMax} bytes (bodyBytesMax).`
      : `The body of this operation has at most ${bytesMax} bytes.`,
  )
}

const bytesPerCharacterMax = 4

/** Throws LimitExceeded, MalformedRequest. */
function parsedText(body: Buffer, { queryCharactersMax }: Limits): { readonly query: string } {
  // A character has at most four bytes: a body that exceeds the limit in any case is not decoded.
  if (body.length <= bytesPerCharacterMax * queryCharactersMax) return { query: decodeText(body) }
  const message = `A text of statements has at most ${queryCharactersMax} characters (queryCharactersMax); parameters can hold the data.`
  throw new AshlarError('LimitExceeded', message)
}

/** Larger bodies of transactions and arrays are parsed in a thread. */
const mainThreadParseBytesMax = 65_536
/** The same for bodies that create or change one object. */
const objectMainThreadParseBytesMax = 1_048_576

const noRoute: Partial<Route> = {}

function takeBody(
  parse: (body: Buffer, request: HttpRequest) => unknown,
  admissionOf: Bodies['admissionOf'],
  body: Buffer,
  handle: Handle,
  request: HttpRequest,
): void {
  const { takesOperations, takesArray, bodyIsObject } = request.route ?? noRoute
  const hasParts = takesOperations === true || (takesArray === true && beginsArray(body))
  if (hasParts || (bodyIsObject === true && body.length > objectMainThreadParseBytesMax)) {
    request.bodyBytes = body
    if (!hasParts || body.length > mainThreadParseBytesMax) {
      request.body = new UnparsedBody(body, () => parse(body, request), admissionOf(request))
      handleRequest(handle, request)
      return
    }
  }
  let parsed: unknown
  try {
    parsed = parse(body, request)
  } catch (error) {
    refuse(error, request)
    return
  }
  if (parsed instanceof Promise) void takeAsync(parsed, handle, request)
  else {
    request.body = parsed
    handleRequest(handle, request)
  }
}

async function takeAsync(parsed: Promise<unknown>, handle: Handle, request: HttpRequest): Promise<void> {
  try {
    request.body = await parsed
  } catch (error) {
    return refuse(error, request)
  }
  handleRequest(handle, request)
}

/** Sends the error, and discards the rest of the body. */
function refuse(error: unknown, request: HttpRequest): void {
  // Already refused, since the server is stopping.
  if (request.isAnswered) return
  request.endConnection()
  sendProblem(error, request)
}

/** Sends errors of the handler as the reply. */
export function handleRequest(handle: Handle, request: HttpRequest): void {
  // Already refused, since the server is stopping.
  if (request.isAnswered) return
  try {
    handle(request)?.catch((error) => sendProblem(error, request))
  } catch (error) {
    sendProblem(error, request)
  }
}
