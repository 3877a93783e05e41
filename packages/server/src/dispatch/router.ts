/** Which operation a path and a method mean, and which methods a path has: one router for batches, OPTIONS and 405. */
import { listOfNames } from '@ashlar/engine'
import findMyWay from 'find-my-way'
import { ServerError } from '../errors/server-errors.ts'
import { pathParameterCharactersMax } from '../limits.ts'
import type { FoundOperation, Operation, OperationRouter } from './operation.ts'

/** What there is at a path, by method. */
interface Resource {
  readonly operations: Map<string, Operation>
  /** HEAD and OPTIONS too, and the methods of routes that are no operations. */
  readonly methods: Set<string>
}

interface Match {
  readonly resource: Resource
  readonly params: Readonly<Record<string, string>>
}

/** In which Allow lists them. */
const methodOrder = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']

const none: Readonly<Record<string, never>> = Object.freeze({})

/** All resources are entered for it: a fixed path is then found before one with a parameter, whatever methods the two have. */
const anyMethod = 'GET'

export class Router implements OperationRouter {
  private readonly byPath = new Map<string, Resource>()
  /** Made when it is first asked: single requests are found by the framework, or by the whole path. */
  private paths: ReturnType<typeof findMyWay> | undefined

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      this.add(operation.path, [operation.method]).operations.set(operation.method, operation)
    }
  }

  /** `path`: with `:name` for parameters. */
  add(path: string, methods: readonly string[]): Resource {
    const name = path.replace(/(?<=.)\/$/, '')
    let resource = this.byPath.get(name)
    if (resource === undefined) {
      resource = { operations: new Map(), methods: new Set(['OPTIONS']) }
      this.byPath.set(name, resource)
      this.paths = undefined
    }
    for (const method of methods) resource.methods.add(method)
    return resource
  }

  /** As `Allow` lists them; undefined where there is nothing at the path. Throws MalformedUrl. */
  methodsAt(path: string): string | undefined {
    const methods = this.find(path)?.resource.methods
    return methods && methodOrder.filter((method) => methods.has(method)).join(', ')
  }

  /** `method` in any case; `uri`: a path, and maybe parameters. Throws ResourceNotFound, MethodNotAllowed, MalformedUrl. */
  findOperation(method: string, uri: string): FoundOperation {
    const searchAt = uri.indexOf('?')
    const path = searchAt < 0 ? uri : uri.slice(0, searchAt)
    const found = this.find(path)
    if (found === undefined || found.resource.operations.size === 0) {
      throw new ServerError('ResourceNotFound', `There is nothing at ${path.slice(0, 200)}.`)
    }
    const { resource, params } = found
    const operation = resource.operations.get(method.toUpperCase())
    if (operation === undefined) {
      throw new ServerError('MethodNotAllowed', methodRefusal(path, method, [...resource.operations.keys()]))
    }
    return { operation, params, query: searchAt < 0 ? none : parametersOf(uri.slice(searchAt + 1)) }
  }

  private find(path: string): Match | undefined {
    // Thousands of operations of a batch may have the same path.
    const fixed = path.includes(':') ? undefined : this.byPath.get(path)
    if (fixed !== undefined) return { resource: fixed, params: none }
    // The router would take the path of an absolute address, whatever host it names.
    const found = path.startsWith('/') ? this.pathsNow().find(anyMethod, path) : null
    if (found === null) return undefined
    const resource = found.store as Resource | null
    if (resource === null) {
      throw new ServerError('MalformedUrl', 'The path of the URL cannot be decoded, or a part of it is too long.')
    }
    return { resource, params: found.params as Record<string, string> }
  }

  private pathsNow(): ReturnType<typeof findMyWay> {
    if (this.paths !== undefined) return this.paths
    const paths = findMyWay({
      ignoreTrailingSlash: true,
      maxParamLength: pathParameterCharactersMax,
      // Their results have no store: they are told apart from paths that are not there.
      onBadUrl: noRoute,
      onMaxParamLength: noRoute,
    })
    for (const [name, resource] of this.byPath) paths.on(anyMethod, name, noRoute, resource)
    this.paths = paths
    return paths
  }
}

/** Of a method that the path does not have. `methods`: those that it has. */
export function methodRefusal(path: string, method: string, methods: readonly string[]): string {
  const known = methodOrder.filter((name) => methods.includes(name) && name !== 'OPTIONS')
  const ofPath = known.length === 0 ? '' : `; it has ${listOfNames(known)}`
  return `${path.slice(0, 200)} does not have the method ${method.slice(0, 20)}${ofPath}.`
}

function noRoute(): void {}

/** A parameter that is given several times is an array. */
function parametersOf(search: string): Record<string, unknown> {
  const query = new Map<string, unknown>()
  for (const [name, value] of new URLSearchParams(search)) {
    query.set(name, query.has(name) ? [query.get(name), value].flat() : value)
  }
  // Not assigned one by one: `__proto__` is a name like any other.
  return Object.fromEntries(query)
}
