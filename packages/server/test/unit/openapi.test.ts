/** One catalogue of errors, one table of operations and the schemas of the wire: the OpenAPI document has all of them. */
import { describe, expect, it } from 'vitest'
import { problemEntry, problemTypes } from '../../src/errors/server-errors.ts'
import { operationExamples } from '../../src/openapi/operation-examples.ts'
import { operations } from '../../src/operations/table.ts'
import * as changeSchemas from '../../src/wire/change-schemas.ts'
import * as webhookSchemas from '../../src/wire/webhook-schemas.ts'
import * as wireSchemas from '../../src/wire/wire-schemas.ts'
import { openServer } from './open-server.ts'

interface Document {
  readonly openapi: string
  readonly tags: { readonly name: string }[]
  readonly paths: Record<string, Record<string, DocumentedOperation>>
  readonly components: {
    readonly schemas: Record<string, { readonly enum?: readonly string[]; readonly properties?: object }>
  }
}
interface DocumentedOperation {
  readonly operationId: string
  readonly parameters: { readonly name: string; readonly in: string; readonly example?: string }[]
  readonly requestBody?: { readonly content: object }
  readonly responses: Record<string, { readonly description: string; readonly content?: object }>
}

async function readDocument(): Promise<Document> {
  const { app } = await openServer()
  return (await app.inject('/openapi.json')).json()
}

describe('the OpenAPI document', () => {
  it('is of version 3.1 and has every operation of the table, health and itself, and no other', async () => {
    const { openapi, paths } = await readDocument()
    expect(openapi).toMatch(/^3\.1\./)
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const inTable = operations.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
    const beside = ['GET /health/live', 'GET /health/ready', 'GET /openapi.json']
    expect(documented.sort()).toEqual([...inTable, ...beside].sort())
  })

  it('lists each tag that an operation bears', async () => {
    const { tags } = await readDocument()
    expect(tags.map(({ name }) => name).sort()).toEqual([...new Set(operations.map(({ tag }) => tag))].sort())
  })

  it('has for each operation its parameters, its body, its success and its errors by status', async () => {
    const { paths } = await readDocument()
    const ids = new Set<string>()
    for (const operation of operations) {
      const path = operation.path.replace(/:(\w+)/g, '{$1}')
      const documented = paths[path]?.[operation.method.toLowerCase()]
      ids.add(documented?.operationId ?? '')
      const inPath = documented?.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
      expect(documented?.requestBody !== undefined).toBe(operation.body !== undefined)
      expect(documented?.responses).toHaveProperty(String(operation.status))
      for (const type of operation.errors) {
        expect(documented?.responses[problemEntry(type).status]?.description.split(', ')).toContain(type)
      }
    }
    expect(ids.size).toBe(operations.length)
  })

  it('names operations with words, and has an example for each parameter of a path and each body', async () => {
    const { paths } = await readDocument()
    for (const operation of operations) {
      const path = operation.path.replace(/:(\w+)/g, '{$1}')
      const documented = paths[path]?.[operation.method.toLowerCase()]
      expect(documented?.operationId).toMatch(/^[a-z]+([A-Z][a-z\d]*)*$/)
      for (const parameter of documented?.parameters ?? []) {
        if (parameter.in === 'path') expect([path, parameter.example]).toEqual([path, expect.any(String)])
      }
      for (const content of Object.values(documented?.requestBody?.content ?? {})) {
        expect([path, content]).toEqual([path, expect.objectContaining({ example: expect.anything() })])
      }
    }
    expect(Object.keys(operationExamples)).toHaveLength(operations.length)
  })

  it('has the other forms of a query and of its rows, and its parameter', async () => {
    const { paths } = await readDocument()
    const query = paths['/v1/query']?.post
    expect(query?.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)).toEqual([
      'fdAlias',
      'explain',
      'format',
      'dialect',
      'isolation',
    ])
    expect(Object.keys(query?.requestBody?.content ?? {})).toEqual(['application/json', 'text/plain'])
    expect(Object.keys(query?.responses[200]?.content ?? {})).toEqual([
      'application/json',
      'text/plain',
      'application/x-ndjson',
      'text/event-stream',
    ])
    const create = paths['/v1/object']?.post
    expect(Object.keys(create?.requestBody?.content ?? {})).toEqual(['application/json', 'application/x-ndjson'])
    expect(Object.keys(create?.responses[201]?.content ?? {})).toEqual(['application/json'])
  })

  it('refers to nothing that it does not hold, and to nothing elsewhere', async () => {
    const document = await readDocument()
    const text = JSON.stringify(document)
    for (const [, name = ''] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
      expect(document.components.schemas).toHaveProperty(name)
    }
    expect(text.match(/"\$ref":"(?!#\/components\/schemas\/)/)).toBeNull()
  })

  it('has each schema once, by its name, and says in its place what it means there', async () => {
    const { components, paths } = await readDocument()
    expect(Object.keys(components.schemas)).toEqual(
      Object.keys({ ...wireSchemas, ...changeSchemas, ...webhookSchemas }),
    )
    const body = { schema: { $ref: '#/components/schemas/UpdateObjectBody' } }
    expect(paths['/v1/object/{oid}']?.put?.requestBody?.content).toMatchObject({ 'application/json': body })
    expect(components.schemas.ObjectCreated?.properties).toEqual({
      __identifier__: { $ref: '#/components/schemas/Oid', description: 'OID of the new object.' },
      uri: { type: 'string' },
    })
    expect(components.schemas.TypeDefinition?.properties).toMatchObject({
      elementSpecification: { $ref: '#/components/schemas/TypeDefinition' },
    })
  })

  it('lists the whole catalogue of errors', async () => {
    const { components } = await readDocument()
    expect(components.schemas.ErrorType?.enum).toEqual(problemTypes)
  })
})

describe('the catalogue of errors', () => {
  it('has each word once', () => {
    expect(new Set(problemTypes).size).toBe(problemTypes.length)
  })
})
