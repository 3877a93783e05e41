/** Every error of a change of classes or indexes names a place of the body that asked for it, whatever is wrong with the body. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { readAlterClass } from '../../src/requests/read-alter-class.ts'
import { readDefineClasses } from '../../src/requests/read-class-descriptions.ts'
import { asCreateIndex } from '../../src/requests/read-create-index.ts'
import { planAlter } from '../../src/schema/alter-plan.ts'
import { defineClasses } from '../../src/schema/define-classes.ts'
import { defineIndex } from '../../src/schema/index-definition.ts'
import { classOf, embed, embedded, list, reference, SchemaUnderTest, set } from '../schema/schema-under-test.ts'
import { isPlaceIn } from './place-in-body.ts'

type Json = Record<string, unknown>

const options = {
  numRuns: 1_000 * Number(process.env.ASHLAR_RUNS ?? 1),
  ...(process.env.ASHLAR_SEED === undefined ? {} : { seed: Number(process.env.ASHLAR_SEED) }),
}
const attributesMax = 6

const schema = new SchemaUnderTest()
schema.put(
  classOf('Place', { city: 'string' }, embedded),
  classOf('Base', { id: 'integer' }),
  classOf(
    'Car',
    { name: 'string', n: 'integer', home: embed('Place'), owner: reference('Base'), road: reference('Road') },
    { superClass: 'Base' },
  ),
  classOf('Road', { from: reference('Car'), to: reference('Base'), cars: list(reference('Car')) }),
)
schema.index('byName', 'Car', 'name')
const { catalog } = schema

const attribute = (attributeName: string, type: Json): Json => ({ attributeName, ...type })
const edge = { logicalType: 'reference', edgeClass: 'Road', edgeAttribute: 'to' }
const types: readonly Json[] = [
  { logicalType: 'integer', encoding: 'signed', storage: 'b32' },
  { logicalType: 'string', storage: 'fixed', fixedLength: 4 },
  reference('Car', 'owner'),
  edge,
  list(embed('Place')),
  set(edge),
  { logicalType: 'map', keySpecification: { logicalType: 'string' }, elementSpecification: reference('Base') },
]

const names = fc.constantFrom('a', 'b', 'name', 'n', 'id', 'owner', 'to', 'from', '__a')
const attributes = fc.array(
  fc.tuple(names, fc.constantFrom(...types)).map(([name, type]) => attribute(name, type)),
  { maxLength: 4 },
)
const className = fc.constantFrom('A', 'B', 'Car', 'Base', 'Place', 'Road', 'ooObj', '1000001', 'N.A')

const definitions = fc.array(
  fc.record(
    { className, isReferenceable: fc.boolean(), superClass: fc.option(className), attributes },
    { requiredKeys: ['className', 'attributes'] },
  ),
  { maxLength: 3 },
)
const changes = fc.oneof(
  fc.record({ classRename: fc.oneof(className, names) }),
  fc.record(
    {
      attributesToDelete: fc.array(names, { maxLength: 3 }),
      attributesToRename: fc.array(fc.record({ originalName: names, newName: names }), { maxLength: 2 }),
      attributesToChange: attributes,
      attributesToAdd: attributes,
    },
    { requiredKeys: [] },
  ),
)
const keyNames = fc.constantFrom('name', 'n', 'id', 'home', 'home.city', 'Base::id', 'cars', 'nope')
const keys = fc.array(
  fc.record(
    { attributeName: keyNames, properties: fc.constantFrom({ maxStoredStringLength: 24 }, null) },
    { requiredKeys: ['attributeName'] },
  ),
  { minLength: 1, maxLength: 3 },
)
const requests = fc.record({
  name: fc.constantFrom('i', 'byName', 'a b'),
  indexedClass: className,
  isUnique: fc.boolean(),
})
const indexes = fc
  .tuple(requests, fc.constantFrom('keyAttributes', 'keyedAttributes'), keys)
  .map(([request, field, given]): unknown => ({ ...request, [field]: given }))

/** The body as it is, or with something else in one place of it. */
function damaged(bodies: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const junk = fc.constantFrom<unknown>(5, -1, '', 'x', 'a/b~c', null, true, [], {}, [1], { x: 1 }, 1.5)
  const steps = fc.array(fc.nat(20), { maxLength: 6 })
  const field = fc.constantFrom(undefined, 'x', 'a/b~c')
  return fc.oneof(
    bodies,
    fc.tuple(bodies, steps, junk, field).map(([body, at, value, more]) => {
      const copy = structuredClone(body)
      return damage(copy, at, value, more) ?? value
    }),
  )
}

/** Walks down by the steps, and puts the value where they end; undefined where they end at once. */
function damage(body: unknown, steps: readonly number[], value: unknown, more: string | undefined): unknown {
  let at = body as Json
  for (const [i, step] of steps.entries()) {
    const fields = Object.keys(at)
    const name = fields[step % Math.max(1, fields.length)]
    if (name === undefined) return body
    const next = at[name]
    if (i < steps.length - 1 && typeof next === 'object' && next !== null) {
      at = next as Json
      continue
    }
    if (more === undefined || Array.isArray(at)) at[name] = value
    else at[more] = value
    return body
  }
  return undefined
}

async function check(bodies: fc.Arbitrary<unknown>, run: (body: unknown) => unknown): Promise<void> {
  const seen = new Set<string>()
  const property = fc.asyncProperty(damaged(bodies), async (body) => {
    try {
      await run(body)
    } catch (error) {
      if (!(error instanceof AshlarError)) throw error
      seen.add(error.type)
      expect(error.errors.length, error.message).toBeGreaterThan(0)
      for (const { place } of error.errors) {
        if (!isPlaceIn(body, place)) throw new Error(`${JSON.stringify(place)} is no place: ${error.message}`)
      }
    }
  })
  await fc.assert(property, options)
  if (options.numRuns >= 1_000) expect(seen.size).toBeGreaterThan(5)
}

it.each(['create', 'createOrExtend'] as const)('classes defined: %s', async (mode) => {
  await check(definitions, (body) => defineClasses(catalog, readDefineClasses(body, mode), { attributesMax }))
})

it.each([{}, { isCascading: true, isLossAllowed: true }])('a class changed: %j', async (settings) => {
  const context = { attributesMax, sessionNumber: 1, isStep: false }
  await check(changes, (body) => planAlter(catalog, readAlterClass('Car', body, settings), context))
})

it('an index created', async () => {
  const builder = { sessionNumber: 1, isBackground: false }
  await check(indexes, (body) => asCreateIndex(body, async (command) => defineIndex(catalog, command, 2, builder)))
})
