/** What newcomers send, and what they are told: each message says what to send instead. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { expectProblem } from './expectations.ts'
import { rule } from './rule.ts'
import { type ServerUnderTest, startServer } from './server-under-test.ts'

let server: ServerUnderTest
const thing = {
  className: 'Fleet.Vehicle',
  isReferenceable: true,
  attributes: [{ attributeName: 'license', logicalType: 'string' }],
}

beforeAll(async () => {
  server = await startServer({})
  await server.put('/v1/schema', [thing])
})
afterAll(() => server.remove())

describe('a message names what there is instead', () => {
  rule('1.4.5', 'of a field that the body may not have', async () => {
    const message = async (path: string, body: unknown) =>
      expectProblem(await server.post(path, body), 400, 'UnknownField')
    expect(await message('/v1/object', { class: 'Fleet.Vehicle', license: 'A' })).toBe(
      'The body may not have the field \'license\'; its fields are class and attributes. Put attributes inside "attributes".',
    )
    expect(await message('/v1/query', { query: 'SHOW 1', parameter: {} })).toBe(
      "The body may not have the field 'parameter'. Did you mean parameters?",
    )
    expect(await message('/v1/query', { query: 'SHOW 1', limit: 1, offset: 2 })).toBe(
      "The body may not have the fields 'limit', 'offset'; its fields are query, language, dialect, parameters and isolation.",
    )
    expect(await message('/v1/index', { name: 'i', indexedClass: 'Fleet.Vehicle', unique: true })).toBe(
      "An index request may not have the field 'unique'; its fields are name, indexedClass, isUnique, keyAttributes and keyedAttributes.",
    )
    const misspelt = [{ ...thing, className: 'A', isReferencable: true }]
    expect(expectProblem(await server.put('/v1/schema', misspelt), 400, 'UnknownField')).toBe(
      "The description of class A may not have the field 'isReferencable'. Did you mean isReferenceable?",
    )
  })

  rule(
    ['1.2.9', '1.4.5'],
    'of a field that a definition may not have, and of which class and attribute it is',
    async () => {
      const refused = async (path: string, body: unknown) =>
        expectProblem(await server.put(path, body), 400, 'UnknownField')
      const defined = (attribute: object, more: object = {}) =>
        refused('/v1/schema', [{ className: 'A', isReferenceable: true, attributes: [attribute], ...more }])
      const n = { attributeName: 'n', logicalType: 'integer' }
      expect(await defined({ ...n, minimun: 3 })).toBe(
        "The definition of attribute n of class A may not have the field 'minimun'. Did you mean minimum?",
      )
      expect(await defined({ logicalType: 'integer', minimun: 3 })).toBe(
        "The definition of an attribute of class A may not have the field 'minimun'. Did you mean minimum?",
      )
      const elements = { logicalType: 'string', maxLenght: 3 }
      expect(await defined({ ...n, logicalType: 'list', elementSpecification: elements })).toBe(
        "Class A, attribute n: elementSpecification may not have the field 'maxLenght'. Did you mean maxLength?",
      )
      expect(await defined(n, { superClass: { name: 'B' } })).toBe(
        "The superClass of class A may not have the field 'name'; its field is className.",
      )
      const altered = (body: object) => refused('/v1/schema/Fleet.Vehicle', body)
      expect(await altered({ attributesToAdd: [{ ...n, minimun: 3 }] })).toBe(
        "The definition of attribute n of class Fleet.Vehicle may not have the field 'minimun'. Did you mean minimum?",
      )
      expect(await altered({ attributesToConstrain: [{ attributeName: 'license', minLenght: 3 }] })).toBe(
        "An entry of attributesToConstrain for attribute license of class Fleet.Vehicle may not have the field 'minLenght'. Did you mean minLength?",
      )
      const ofElements = { attributeName: 'license', elementSpecification: { patern: 'a' } }
      expect(await altered({ attributesToConstrain: [ofElements] })).toBe(
        "The elementSpecification of attribute license of class Fleet.Vehicle may not have the field 'patern'. Did you mean pattern?",
      )
      expect(await altered({ classFields: { tilte: 'A' } })).toBe(
        "The classFields of class Fleet.Vehicle may not have the field 'tilte'. Did you mean title?",
      )
    },
  )

  rule('1.4.5', 'of a parameter that the operation has not', async () => {
    const message = async (path: string) => expectProblem(await server.get(path), 400, 'UnknownParameter')
    expect(await message('/v1/schema?fd=default')).toBe("The operation has no parameter 'fd'. Did you mean fdAlias?")
    expect(await message('/v1/schema?limit=1')).toMatch(
      /^The operation has no parameter 'limit'; its parameters? (is|are) fdAlias.*\.$/,
    )
  })

  rule('1.4.5', 'of a class that is not there, and of one that is new', async () => {
    expect(expectProblem(await server.get('/v1/schema/Fleet.Vehicel'), 404, 'ClassNotFound')).toBe(
      "There is no class 'Fleet.Vehicel'. Did you mean Fleet.Vehicle?",
    )
    const nameless = [{ className: 'New', attributes: [] }]
    expect(expectProblem(await server.put('/v1/schema', nameless), 422, 'InvalidDefinition')).toBe(
      'Class New is new: isReferenceable is needed: true, or false if its objects are embedded in others.',
    )
  })

  rule('1.4.5', 'of a body that is missing, of another type, or no JSON', async () => {
    const send = (text: string, type: string) =>
      server.send('POST', '/v1/object', { raw: text, headers: { 'content-type': type } })
    expect(expectProblem(await server.send('POST', '/v1/object'), 400, 'MalformedRequest')).toBe(
      'The operation needs a body with the field class.',
    )
    expect(expectProblem(await send('{}', 'application/x-www-form-urlencoded'), 415)).toMatch(
      /^Bodies are application\/json.*, not 'application\/x-www-form-urlencoded': send the header Content-Type: application\/json\.$/,
    )
    expect(expectProblem(await send('{"class": "A\nB"}', 'application/json'), 400)).toMatch(
      /^The body is not JSON: .* Within a string, a line break is written \\n\.$/,
    )
    expect(expectProblem(await server.get('/v1/export?format=json'), 400, 'MalformedValue')).toBe(
      "The parameter format must be ndjson, csv or archive, not 'json'.",
    )
  })

  rule('1.4.5', 'of a method that the path has not, in a transaction too', async () => {
    const wanted = '/v1/object/3-3-1-1 does not have the method POST; it has GET, PUT and DELETE.'
    expect(expectProblem(await server.post('/v1/object/3-3-1-1', {}), 405)).toBe(wanted.replace('GET', 'GET, HEAD'))
    const step = { method: 'post', uri: '/v1/object/3-3-1-1', body: {} }
    expect(expectProblem(await server.post('/v1/transaction', [step]), 405)).toContain(
      '/v1/object/3-3-1-1 does not have the method post; it has GET, PUT and DELETE.',
    )
  })
})
