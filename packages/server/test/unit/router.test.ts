/** One router tells batches their operations, and OPTIONS and 405 the methods of a path. */
import { describe, expect, it } from 'vitest'
import { Router } from '../../src/dispatch/router.ts'
import { operations } from '../../src/operations/table.ts'

const router = new Router(operations)

describe('the operation of a batch', () => {
  it('is the one of the table that has its method and path', () => {
    for (const operation of operations) {
      const uri = operation.path.replace(/:(\w+)/g, 'some-$1')
      const found = router.findOperation(operation.method, uri)
      expect(found.operation).toBe(operation)
      const names = [...operation.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
      expect(found.params).toEqual(Object.fromEntries(names.map((name) => [name, `some-${name}`])))
    }
  })

  it('has its method in any case, its path with a slash at the end, and its parameters decoded', () => {
    const found = router.findOperation('get', '/v1/schema/a%2Fb%20%C3%A4%25/?fdAlias=x&fdAlias=y&__proto__=z')
    expect(found.operation).toMatchObject({ method: 'GET', path: '/v1/schema/:class' })
    expect(found.params).toEqual({ class: 'a/b \u00e4%' })
    expect(Object.entries(found.query)).toEqual([
      ['fdAlias', ['x', 'y']],
      ['__proto__', 'z'],
    ])
  })

  it('is not that of a path with a parameter where there is a fixed one', () => {
    expect(router.findOperation('GET', '/v1/schema/namespace').operation.path).toBe('/v1/schema/namespace')
    expect(() => router.findOperation('PUT', '/v1/schema/namespace')).toThrow(/does not have the method PUT/)
  })

  it.each([
    ['GET', '/v1/nothing', 'ResourceNotFound'],
    ['GET', 'v1/schema', 'ResourceNotFound'],
    ['GET', 'http://elsewhere/v1/schema', 'ResourceNotFound'],
    ['GET', '', 'ResourceNotFound'],
    ['POST', '/v1/object/1-1-1-1', 'MethodNotAllowed'],
    ['PATCH', '/v1/object/1-1-1-1', 'MethodNotAllowed'],
    ['OPTIONS', '/v1/schema', 'MethodNotAllowed'],
    ['GET', '/v1/object/%', 'MalformedUrl'],
    ['GET', `/v1/object/${'x'.repeat(5_000)}`, 'MalformedUrl'],
  ])('%s %s: %s', (method, uri, type) => {
    expect(() => router.findOperation(method, uri)).toThrow(expect.objectContaining({ type }))
  })
})

it('the methods of a path are those of all its operations, and those of other routes', () => {
  const own = new Router<string>(operations)
  own.add('GET', '/health/live', 'live')
  expect(own.findRoute('HEAD', '/health/live/?a=b')).toEqual({ route: 'live', params: {} })
  expect(own.findRoute('POST', '/health/live')).toBeUndefined()
  expect(own.methodsAt('/v1/schema/')).toBe('GET, HEAD, POST, PUT, OPTIONS')
  expect(own.methodsAt('/v1/schema/namespace')).toBe('GET, HEAD, OPTIONS')
  expect(own.methodsAt('/v1/schema/namespace/x')).toBe('GET, HEAD, OPTIONS')
  expect(own.methodsAt('/health/live')).toBe('GET, HEAD, OPTIONS')
  expect(own.methodsAt('/health')).toBeUndefined()
  expect(() => own.findOperation('GET', '/health/live')).toThrow(expect.objectContaining({ type: 'ResourceNotFound' }))
})
