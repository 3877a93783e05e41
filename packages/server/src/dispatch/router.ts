/** The router of requests, steps of transactions, OPTIONS and 405: finds the operation of a path and method, and the methods of a path. */
import { listOfNames } from '@ashlar/engine'
import findMyWay from 'find-my-way'
import { ServerError } from '../errors/server-errors.ts'
import { pathParameterCharactersMax } from '../limits.ts'
import type { FoundOperation, Operation, OperationRouter } from './operation.ts'

interface Resource<Route> {
  readonly operations: Map<string, Operation>
  /** All routes, including those without operation. HEAD has the route of GET. */
  readonly routes: Map<string, Route>
  /** Includes HEAD and OPTIONS. */
  readonly methods: Set<string>
}

interface Match<Route> {
  readonly resource: Resource<Route>
  readonly params: Readonly<Record<string, string>>
}

interface FoundRoute<Route> {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

const methodOrder = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']

const none: Readonly<Record<string, never>> = Object.freeze({})

/** All resources are registered for this method, so that a fixed path precedes one with a parameter for every method. */
const anyMethod = 'GET'

export class Router<Route = never> implements OperationRouter {
  private readonly byPath = new Map<string, Resource<Route>>()
  /** Created by the first lookup, after all resources are added. */
  private paths: ReturnType<typeof findMyWay> | undefined

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const { operations: byMethod, methods } = this.resourceAt(operation.path)
      byMethod.set(operation.method, operation)
      addMethod(methods, operation.method)
    }
  }

  /** `path`: with `:name` for parameters. */
  add(method: string, path: string, route: Route): void {
    const { routes, methods } = this.resourceAt(path)
    routes.set(method, route)
    addMethod(methods, method)
    if (method === 'GET') routes.set('HEAD', route)
  }

  /** Returns undefined for an unknown path or method, or if the path cannot be decoded. `uri`: a path with optional parameters. */
  findRoute(method: string, uri: string): FoundRoute<Route> | undefined {
    const found = this.findResource(pathOfTarget(uri))
    const route = found?.resource?.routes.get(method)
    return route === undefined ? undefined : { route, params: found?.params as Match<Route>['params'] }
  }

  /** Returns the methods for `Allow`; undefined if the path does not exist. Throws MalformedUrl. */
  methodsAt(path: string): string | undefined {
    const methods = this.find(path)?.resource.methods
    return methods && methodOrder.filter((method) => methods.has(method)).join(', ')
  }

  /** `method` in any case; `uri`: a path with optional parameters. Throws ResourceNotFound, MethodNotAllowed, MalformedUrl. */
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

  private find(path: string): Match<Route> | undefined {
    const found = this.findResource(path)
    if (found?.resource === null) {
      throw new ServerError('MalformedUrl', 'The path of the URL cannot be decoded, or a part of it is too long.')
    }
    return found as Match<Route> | undefined
  }

  /** Returns a null resource if the path cannot be decoded. */
  private findResource(path: string): { resource: Resource<Route> | null; params: Match<Route>['params'] } | undefined {
    // A map lookup is faster, and a transaction may have thousands of operations with the same path.
    const fixed = path.includes(':') ? undefined : this.byPath.get(path)
    if (fixed !== undefined) return { resource: fixed, params: none }
    // The router would ignore the host of an absolute URL.
    const found = path.startsWith('/') ? (this.paths ?? this.makePaths()).find(anyMethod, path) : null
    if (found === null) return undefined
    return { resource: found.store as Resource<Route> | null, params: found.params as Match<Route>['params'] }
  }

  private resourceAt(path: string): Resource<Route> {
    const name = path.replace(/(?<=.)\/$/, '')
    let resource = this.byPath.get(name)
    if (resource === undefined) {
      resource = { operations: new Map(), routes: new Map(), methods: new Set(['OPTIONS']) }
      this.byPath.set(name, resource)
      this.paths = undefined
    }
    return resource
  }

  private makePaths(): ReturnType<typeof findMyWay> {
    const paths = findMyWay({
      ignoreTrailingSlash: true,
      maxParamLength: pathParameterCharactersMax,
      // Their results have no store, which distinguishes them from paths that do not exist.
      onBadUrl: noRoute,
      onMaxParamLength: noRoute,
    })
    for (const [name, resource] of this.byPath) paths.on(anyMethod, name, noRoute, resource)
    this.paths = paths
    return paths
  }
}

function addMethod(methods: Set<string>, method: string): void {
  methods.add(method)
  if (method === 'GET') methods.add('HEAD')
}

/** Returns the part of a request target before its parameters. */
export function pathOfTarget(uri: string): string {
  const searchAt = uri.indexOf('?')
  return searchAt < 0 ? uri : uri.slice(0, searchAt)
}

/** Returns the message for an unsupported method. `methods`: the supported ones. */
export function methodRefusal(path: string, method: string, methods: readonly string[]): string {
  const supported = methodOrder.filter((name) => methods.includes(name) && name !== 'OPTIONS')
  const suffix = supported.length === 0 ? '' : `; it has ${listOfNames(supported)}`
  return `${path.slice(0, 200)} does not have the method ${method.slice(0, 20)}${suffix}.`
}

function noRoute(): void {}

/** Parses the parameters of a URL. A repeated parameter becomes an array. */
function parametersOf(search: string): Record<string, unknown> {
  const query = new Map<string, unknown>()
  for (const [name, value] of new URLSearchParams(search)) {
    query.set(name, query.has(name) ? [query.get(name), value].flat() : value)
  }
  // Not assigned one by one: `__proto__` is a name like any other.
  return Object.fromEntries(query)
}
