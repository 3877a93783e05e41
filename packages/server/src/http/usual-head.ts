/** The head of a usual reply, as Node writes it. Node checks and joins each header by itself, which takes two microseconds a reply. */
import { ServerResponse, STATUS_CODES } from 'node:http'

/** What Node keeps of a response beside its types; of a version that keeps other things, the values differ, and Node writes the head. */
interface HeadState {
  /** Null until it is there. */
  _header?: string | null
  _hasBody?: boolean
  readonly _defaultKeepAlive?: boolean
  readonly _keepAliveTimeout?: number
  readonly _maxRequestsPerSocket?: number
  readonly _removedConnection?: boolean
  readonly _expect_continue?: boolean
}

/** By status and content type: as one text, since each that it is put together of costs once more when it is written. */
const beginnings = new Map<number, Map<string | undefined, string>>()
const plainValue = /^[\x20-\x7e]*$/
/** Its value is our own, and put together of many texts, which the expression would have put in one place first. */
const statementId = 'statement-id'

let endSecond = -1
let endKeepAliveMs = 0
let end = ''

/**
 * Of a reply that has no headers that were set on `response` before, on a connection that stays open. False where it is another: nothing is
 * done then. `headers`: beside type, length and those that all replies have. `length`: bytes of the body; 0 for none.
 */
export function writeUsualHead(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> | undefined,
  type: string | undefined,
  length: number,
): boolean {
  const state = response as unknown as HeadState
  if (!isUsual(state, response) || status < 200 || status === 304) return false
  let head = beginningOf(status, type)
  for (const name in headers) {
    const value = headers[name] as string
    if (name !== statementId && !plainValue.test(value)) return false
    head += `${name}: ${value}\r\n`
  }
  response.statusCode = status
  response.statusMessage = STATUS_CODES[status] ?? ''
  if (status === 204) state._hasBody = false
  else head += `content-length: ${length}\r\n`
  state._header = head + endOf(state._keepAliveTimeout as number)
  return true
}

function isUsual(state: HeadState, response: ServerResponse): boolean {
  return (
    state._header === null &&
    // Others have headers of their own, as those under TLS, or are of HTTP/2.
    response.writeHead === ServerResponse.prototype.writeHead &&
    response.shouldKeepAlive &&
    response.sendDate &&
    state._hasBody === true &&
    state._defaultKeepAlive === true &&
    state._removedConnection === false &&
    (state._keepAliveTimeout ?? 0) > 0 &&
    (state._maxRequestsPerSocket ?? 0) === 0 &&
    state._expect_continue !== true &&
    response.getHeaderNames().length === 0
  )
}

function beginningOf(status: number, type: string | undefined): string {
  return beginnings.get(status)?.get(type) ?? newBeginning(status, type)
}

function newBeginning(status: number, type: string | undefined): string {
  const typeLine = type === undefined ? '' : `content-type: ${type}\r\n`
  const text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nx-content-type-options: nosniff\r\n${typeLine}`
  const ofStatus = beginnings.get(status) ?? new Map<string | undefined, string>()
  beginnings.set(status, ofStatus.set(type, text))
  return text
}

/** The lines that Node adds, and the empty one. */
function endOf(keepAliveMs: number): string {
  const nowMs = Date.now()
  const second = Math.floor(nowMs / 1_000)
  if (second !== endSecond || keepAliveMs !== endKeepAliveMs) {
    endSecond = second
    endKeepAliveMs = keepAliveMs
    const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n`
    end = `Date: ${new Date(nowMs).toUTCString()}\r\n${keepAlive}\r\n`
  }
  return end
}
