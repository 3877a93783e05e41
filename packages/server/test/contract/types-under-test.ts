/** Every type in the same few ways: a class with one attribute of it, what that shows, and what it refuses. */
import { expect } from 'vitest'
import { classOf, FdUnderTest } from './class-of.ts'
import { expectProblem } from './expectations.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

type Type = Record<string, unknown>

let classes = 0

export interface TypesUnderTest {
  readonly server: ServerUnderTest
  readonly fd: FdUnderTest
  /** A class with one attribute `a` of the type. */
  classWith(type: Type): Promise<string>
  /** What is read back, as the text of the reply, for a value given as JSON text. */
  textOf(className: string, json: string): Promise<string>
  shows(type: Type, values: Record<string, string>): Promise<void>
  refuses(type: Type, status: number, ...values: string[]): Promise<void>
  defaultOf(type: Type): Promise<unknown>
  refusesDefinition(...types: Type[]): Promise<void>
}

/** A server of its own, with an embeddable class Point and a referenceable class Target. */
export async function startTypesUnderTest(): Promise<TypesUnderTest> {
  const server = await startServer({ words: ['--fd', 'types'] })
  const fd = new FdUnderTest(server, 'types')
  await fd.define(
    classOf('Point', { x: 'integer', y: 'real' }, { isReferenceable: false }),
    classOf('Target', { n: 'integer' }),
  )

  async function classWith(type: Type): Promise<string> {
    const name = `C${++classes}`
    await fd.define(classOf(name, { a: type }))
    return name
  }

  async function textOf(className: string, json: string): Promise<string> {
    const raw = `{"class":"${className}","attributes":{"a":${json}}}`
    const made = await server.send('POST', fd.at('/v1/object'), { raw })
    expect(made.status, `${json}: ${made.text}`).toBe(201)
    const { text } = await server.get(fd.at(`/v1/object/${made.json.__identifier__}`))
    return text.slice(text.indexOf('"a":') + 4, -1)
  }

  async function shows(type: Type, values: Record<string, string>): Promise<void> {
    const name = await classWith(type)
    for (const [given, read] of Object.entries(values)) expect(await textOf(name, given), given).toBe(read)
  }

  async function refuses(type: Type, status: number, ...values: string[]): Promise<void> {
    const name = await classWith(type)
    for (const given of values) {
      const raw = `{"class":"${name}","attributes":{"a":${given}}}`
      const reply = await server.send('POST', fd.at('/v1/object'), { raw })
      expect(reply.status, `${given}: ${reply.text}`).toBe(status)
      expect(expectProblem(reply, status)).toContain(name)
    }
  }

  async function defaultOf(type: Type): Promise<unknown> {
    return (await fd.read(await fd.create(await classWith(type)))).a
  }

  async function refusesDefinition(...types: Type[]): Promise<void> {
    for (const type of types) {
      const reply = await fd.putSchema(classOf(`Refused${++classes}`, { a: type }))
      expect(reply.status, JSON.stringify(type)).toBe(422)
      expectProblem(reply, 422)
    }
  }

  return { server, fd, classWith, textOf, shows, refuses, defaultOf, refusesDefinition }
}
