/** What holds of any schema, checked on random ones. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { isPlaceIn } from '../requests/place-in-body.ts'
import { randomSchemas } from './random-schema.ts'
import { classOf, SchemaUnderTest, withoutNumbers } from './schema-under-test.ts'

const options = {
  numRuns: 200 * Number(process.env.ASHLAR_RUNS ?? 1),
  ...(process.env.ASHLAR_SEED === undefined ? {} : { seed: Number(process.env.ASHLAR_SEED) }),
}

const definedAtOnce = (batch: readonly unknown[]) => {
  const schema = new SchemaUnderTest()
  schema.put(...batch)
  return schema
}
const shuffled = (batch: readonly unknown[]) =>
  fc.shuffledSubarray([...batch], { minLength: batch.length, maxLength: batch.length })

it('a batch in any order gives the same schema, but for numbers', () => {
  const property = fc.property(
    randomSchemas.chain((batch) => fc.tuple(fc.constant(batch), shuffled(batch))),
    ([batch, other]) => {
      expect(withoutNumbers(definedAtOnce(other).read())).toEqual(withoutNumbers(definedAtOnce(batch).read()))
    },
  )
  fc.assert(property, options)
})

it('what is read can be put again: here it changes nothing, elsewhere it makes the same', () => {
  const property = fc.property(
    randomSchemas.chain((batch) => fc.tuple(fc.constant(batch), shuffled(batch.map((_, i) => i)))),
    ([batch, order]) => {
      const schema = definedAtOnce(batch)
      const { state } = schema.catalog
      const read = schema.read()
      schema.put(...(order as number[]).map((i) => read[i]))
      expect(schema.catalog.state).toBe(state)
      const other = new SchemaUnderTest()
      other.put(classOf('First', { x: 'integer' }))
      other.put(...(order as number[]).map((i) => read[i]))
      expect(withoutNumbers(other.read().slice(1))).toEqual(withoutNumbers(read))
    },
  )
  fc.assert(property, options)
})

it('a schema that grows batch by batch keeps its numbers, and its shapes in step', () => {
  const property = fc.property(randomSchemas, (batch) => {
    const whole = definedAtOnce(batch)
    const grown = new SchemaUnderTest()
    // Classes first, then all their attributes: links may go either way.
    grown.put(...batch.map((description) => ({ ...description, attributes: [] })))
    const numbers = grown.read().map(({ classNumber }) => classNumber)
    grown.put(...batch)
    expect(grown.read().map(({ classNumber }) => classNumber)).toEqual(numbers)
    expect(withoutNumbers(grown.read())).toEqual(withoutNumbers(whole.read()))
    for (const cls of grown.catalog.classes) {
      expect(cls.shape.attributes).toEqual(cls.attributes.map(({ number, spec }) => ({ number, spec })))
      expect(new Set(cls.attributes.map(({ outputName }) => outputName)).size).toBe(cls.attributes.length)
      for (const attribute of cls.attributes) expect(cls.findAttribute(attribute.outputName)).toBe(attribute)
      expect(cls.definition.shapeNumber >= cls.number).toBe(true)
    }
    const { shapes } = grown.catalog.state
    expect(new Set(shapes.map(({ number }) => number)).size).toBe(shapes.length)
    for (const { number } of shapes) expect(number < grown.catalog.state.counters.classOrShape).toBe(true)
  })
  fc.assert(property, options)
})

it('a batch with one fault changes nothing', () => {
  const faults = [
    classOf('Bad', { x: 'nope' }),
    classOf('Bad', { r: { logicalType: 'reference', referencedClass: 'Missing' } }),
    classOf('Bad', {}, { superClass: 'Bad' }),
    classOf('Bad', { e: { logicalType: 'object', class: 'Bad' } }, { isReferenceable: false }),
    classOf('1bad', {}),
    { className: 'Bad', attributes: [] },
    { className: '999', attributes: [] },
  ]
  const property = fc.property(
    randomSchemas,
    randomSchemas,
    fc.constantFrom(...faults),
    fc.nat(8),
    (before, batch, fault, at) => {
      const schema = definedAtOnce(before)
      const { state } = schema.catalog
      const text = JSON.stringify(state)
      // Classes of the same names are mostly refused already; what counts is that every refusal leaves all as it was.
      expect(() => schema.put(...batch.toSpliced(at, 0, fault))).toThrow(AshlarError)
      expect(schema.catalog.state).toBe(state)
      expect(JSON.stringify(state)).toBe(text)
    },
  )
  fc.assert(property, options)
})

it('any JSON is read or refused, never our fault', () => {
  const fields = [
    'className',
    'classNumber',
    'isReferenceable',
    'superClass',
    'attributes',
    'attributeName',
    'logicalType',
    'class',
    'referencedClass',
    'inverseAttribute',
    'elementSpecification',
    'shapeNumber',
    '__proto__',
  ]
  const words = fc.constantFrom(
    'A',
    'B',
    '1000000',
    '',
    'true',
    'object',
    'list',
    'reference',
    'integer',
    'x',
    '__proto__',
    'constructor',
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      words,
      fc.constantFrom(true, false, null, 0, 5, -1, 1.5, 2n ** 70n),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('object'),
    ),
    object: fc.array(fc.tuple(fc.constantFrom(...fields), tie('value')), { maxLength: 4 }).map((entries) => {
      const object: Record<string, unknown> = Object.create(null)
      for (const [field, given] of entries) object[field] = given
      return object
    }),
  }))
  const attributes = fc.array(
    fc.record(
      {
        attributeName: words,
        logicalType: words,
        class: value,
        referencedClass: value,
        inverseAttribute: value,
        elementSpecification: value,
      },
      { requiredKeys: ['attributeName', 'logicalType'] },
    ),
    { maxLength: 3 },
  )
  const descriptions = fc.record(
    { className: words, isReferenceable: fc.boolean(), superClass: value, attributes },
    { requiredKeys: ['className', 'attributes'] },
  )
  const bodies = fc.oneof(value, fc.array(fc.oneof(value, descriptions), { maxLength: 4 }))
  const property = fc.property(bodies, (body) => {
    const schema = new SchemaUnderTest()
    schema.put(classOf('B', { x: 'integer' }))
    try {
      schema.define(body, 'createOrExtend')
    } catch (error) {
      if (!(error instanceof AshlarError)) throw error
      expect(['malformed', 'unprocessable', 'conflict']).toContain(error.kind)
      for (const detail of error.errors) expect(isPlaceIn(body, detail.place)).toBe(true)
      expect(error.errors.length).toBeGreaterThan(0)
    }
  })
  fc.assert(property, { ...options, numRuns: options.numRuns * 10 })
})
