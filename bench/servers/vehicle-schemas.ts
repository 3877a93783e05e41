/** The JSON schemas of the routes written by hand with Fastify, by which it checks bodies and writes replies. */

const properties = {
  license: { type: 'string' },
  make: { type: 'string' },
  year: { type: 'integer' },
  available: { type: 'boolean' },
  mileage: { type: 'integer' },
  model: { type: 'integer' },
} as const

const required = Object.keys(properties)
const made = { type: 'object', properties: { id: { type: 'integer' } } } as const
const shown = { type: 'object', properties: { id: { type: 'integer' }, ...properties } } as const
const withMaker = {
  type: 'object',
  properties: { license: { type: 'string' }, model: { type: 'string' }, maker: { type: 'string' } },
} as const
const given = { type: 'object', properties, required, additionalProperties: false } as const

export const readSchema = { response: { 200: shown } }
export const listSchema = { response: { 200: { type: 'array', items: shown } } }
export const withMakersSchema = { response: { 200: { type: 'array', items: withMaker } } }
export const createSchema = { body: given, response: { 201: made } }
export const createManySchema = {
  body: { type: 'array', items: given },
  response: { 201: { type: 'array', items: { type: 'integer' } } },
}
export const updateSchema = { body: { type: 'object', properties, additionalProperties: false } }
