/** Each place that an error reply names must be one of the body that was sent. */
import type { Reply } from './server-under-test.ts'

/** Throws for a JSON pointer (RFC 6901) that leads nowhere; a field that is missing, or within an object that is, is named where it would be. */
export function checkPointers(reply: Reply, headers: Record<string, string>, sent: string | Buffer | undefined): void {
  const errors: unknown = reply.json?.errors
  if (reply.status < 400 || !Array.isArray(errors)) return
  const body = bodyOf(headers, sent, reply.json.line)
  for (const { pointer, constraint } of errors as { readonly pointer: string; readonly constraint?: string }[]) {
    const isLeft = constraint !== undefined && pointer.split('/').length > 2
    if (!isLeft && !leadsSomewhere(body, pointer)) {
      throw new Error(
        `'${pointer}' is no place in the body sent (${String(sent).slice(0, 300)}): ${reply.text.slice(0, 600)}`,
      )
    }
  }
}

const nothing = Symbol('no JSON body')

/** `line`: of a body of lines, from 1. */
function bodyOf(headers: Record<string, string>, sent: string | Buffer | undefined, line?: number): unknown {
  if (line !== undefined && headers['content-type'] === 'application/x-ndjson') {
    return JSON.parse(String(sent).split('\n')[line - 1] as string)
  }
  if (sent === undefined || headers['content-type']?.startsWith('text/')) return nothing
  return JSON.parse(String(sent))
}

function leadsSomewhere(body: unknown, pointer: string): boolean {
  // The request as a whole, as where it would break another object.
  if (pointer === '') return true
  if (body === nothing) return false
  if (!pointer.startsWith('/')) return false
  let at = body
  const names = pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  for (const [i, name] of names.entries()) {
    if (typeof at !== 'object' || at === null) return false
    if (!Object.hasOwn(at, name)) return i === names.length - 1 && !Array.isArray(at)
    at = (at as Record<string, unknown>)[name]
  }
  return true
}
