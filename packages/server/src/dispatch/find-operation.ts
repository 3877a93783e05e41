/** Which operation of the interface a method and a URI mean. */

import { quoteNames } from '../errors/quote-names.ts'
import { ServerError } from '../errors/server-errors.ts'
import type { Method, Operation } from './operation.ts'

export interface FoundOperation {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  /** A parameter that is given several times is an array. */
  readonly query: Readonly<Record<string, unknown>>
}

interface Route {
  readonly operation: Operation
  readonly parts: readonly string[]
}

export class OperationFinder {
  private readonly routes: readonly Route[]

  constructor(operations: readonly Operation[]) {
    this.routes = operations.map((operation) => ({ operation, parts: partsOf(operation.path) }))
  }

  /** Throws ResourceNotFound, MethodNotAllowed, MalformedUrl, UnknownParameter. */
  find(method: string, uri: string): FoundOperation {
    const [path = '', search = ''] = splitOnce(uri, '?')
    const parts = partsOf(path).map(decoded)
    const matching = this.routes.filter((route) => isMatch(route.parts, parts))
    // A fixed path goes before one with a parameter: no class is called `namespace`.
    const fixed = matching.filter((route) => !route.parts.some((part) => part.startsWith(':')))
    const candidates = fixed.length > 0 ? fixed : matching
    if (candidates.length === 0) {
      throw new ServerError('ResourceNotFound', `There is nothing at ${path.slice(0, 200)}.`)
    }
    const word = method.toUpperCase() as Method
    const route = candidates.find(({ operation }) => operation.method === word)
    if (route === undefined) {
      const message = `${path.slice(0, 200)} does not have the method ${method.slice(0, 20)}.`
      throw new ServerError('MethodNotAllowed', message)
    }
    const query = parametersOf(search)
    checkParameters(query, route.operation)
    return { operation: route.operation, params: paramsOf(route.parts, parts), query }
  }
}

/** Throws UnknownParameter. */
export function checkParameters(
  query: Readonly<Record<string, unknown>>,
  { queryParameters = {} }: Pick<Operation, 'queryParameters'>,
): void {
  const names = Object.keys(query).filter((name) => name !== 'fdAlias' && !Object.hasOwn(queryParameters, name))
  if (names.length > 0)
    throw new ServerError('UnknownParameter', `The operation has no parameter ${quoteNames(names)}.`)
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

/** A trailing slash is ignored. */
function partsOf(path: string): string[] {
  return path.replace(/\/$/, '').split('/')
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new ServerError('MalformedUrl', 'The path of the URL cannot be decoded.')
  }
}

function isMatch(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length &&
    pattern.every((part, i) => (part.startsWith(':') ? parts[i] !== '' : part === parts[i]))
  )
}

function paramsOf(pattern: readonly string[], parts: readonly string[]): Record<string, string> {
  const entries = pattern.flatMap((part, i) => (part.startsWith(':') ? [[part.slice(1), parts[i] ?? '']] : []))
  return Object.fromEntries(entries) as Record<string, string>
}

function parametersOf(search: string): Record<string, unknown> {
  const query = new Map<string, unknown>()
  for (const [name, value] of new URLSearchParams(search)) {
    query.set(name, query.has(name) ? [query.get(name), value].flat() : value)
  }
  // Not assigned one by one: `__proto__` is a name like any other.
  return Object.fromEntries(query)
}
