/** Short ways to make classes and objects on a server under test. */
import { expect } from 'vitest'
import type { Loose, Reply, ServerUnderTest } from './server-under-test.ts'

type Definition = Record<string, unknown>

/** A class description; attributes as name → type, a word standing for that logicalType. */
export function classOf(
  className: string,
  attributes: Record<string, string | Definition>,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    className,
    isReferenceable: true,
    attributes: Object.entries(attributes).map(([attributeName, type]) => ({
      attributeName,
      ...(typeof type === 'string' ? { logicalType: type } : type),
    })),
    ...more,
  }
}

export const embedded = { isReferenceable: false }
export const reference = (referencedClass: string, inverseAttribute?: string): Definition => ({
  logicalType: 'reference',
  referencedClass,
  ...(inverseAttribute === undefined ? {} : { inverseAttribute }),
})
export const list = (element: string | Definition, collectionTypeName?: string): Definition => ({
  logicalType: 'list',
  elementSpecification: typeof element === 'string' ? { logicalType: element } : element,
  ...(collectionTypeName === undefined ? {} : { collectionTypeName }),
})
export const set = (element: Definition, collectionTypeName = 'TreeSetOfReferences'): Definition => ({
  logicalType: 'set',
  collectionTypeName,
  elementSpecification: element,
})

/** One FD of a server, with replies checked where they are expected to succeed. */
export class FdUnderTest {
  readonly server: ServerUnderTest
  private readonly query: string

  constructor(server: ServerUnderTest, alias: string) {
    this.server = server
    this.query = `?fdAlias=${alias}`
  }

  at(path: string): string {
    return `${path}${this.query}`
  }

  putSchema(...classes: unknown[]): Promise<Reply> {
    return this.server.put(this.at('/v1/schema'), classes)
  }

  async define(...classes: unknown[]): Promise<string[]> {
    const reply = await this.putSchema(...classes)
    expect(reply.status, reply.text).toBe(201)
    return reply.json.classNumbers
  }

  postObject(className: string, attributes: unknown = {}): Promise<Reply> {
    return this.server.post(this.at('/v1/object'), { class: className, attributes })
  }

  async create(className: string, attributes: unknown = {}): Promise<string> {
    const reply = await this.postObject(className, attributes)
    expect(reply.status, reply.text).toBe(201)
    return reply.json.__identifier__
  }

  async read(oid: string): Promise<Loose> {
    const reply = await this.server.get(this.at(`/v1/object/${oid}`))
    expect(reply.status, reply.text).toBe(200)
    return reply.json
  }

  putObject(oid: string, attributes: unknown): Promise<Reply> {
    return this.server.put(this.at(`/v1/object/${oid}`), { attributes })
  }

  async update(oid: string, attributes: unknown): Promise<void> {
    const reply = await this.putObject(oid, attributes)
    expect([reply.status, reply.text]).toEqual([204, ''])
  }

  async remove(oid: string): Promise<void> {
    const reply = await this.server.delete(this.at(`/v1/object/${oid}`))
    expect([reply.status, reply.text]).toEqual([204, ''])
  }

  postIndex(name: string, indexedClass: string, isUnique: unknown, ...keys: (string | Definition)[]): Promise<Reply> {
    const keyAttributes = keys.map((key) => (typeof key === 'string' ? { attributeName: key } : key))
    return this.server.post(this.at('/v1/index'), { name, indexedClass, isUnique, keyAttributes })
  }

  async index(name: string, indexedClass: string, isUnique: boolean, ...keys: (string | Definition)[]): Promise<void> {
    const reply = await this.postIndex(name, indexedClass, isUnique, ...keys)
    expect(reply.status, reply.text).toBe(201)
  }
}
