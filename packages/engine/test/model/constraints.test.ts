/** Random classes with constraints, and random writes by every way in, against the model (contract 10.1, 10.3). */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, read, withFd } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import {
  created,
  isSatisfiable,
  type ModelAttribute,
  type ModelClass,
  type ModelObject,
  violationsOf,
} from './constraint-model.ts'

const integers = fc.integer({ min: -3, max: 3 })
const strings = fc.constantFrom('', 'a', 'b', 'ab', '𝄞', '𝄞b', 'abc', ' a')
const dates = fc.constantFrom('1999-12-31', '2000-01-01', '2024-02-29', '2099-01-01')

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const bounds = <T>(value: fc.Arbitrary<T>) => ({
  minimum: optional(value),
  maximum: optional(value),
  exclusiveMinimum: optional(value),
  exclusiveMaximum: optional(value),
})
const choices = <T>(value: fc.Arbitrary<T>) => optional(fc.uniqueArray(value, { minLength: 1, maxLength: 3 }))
const stringRules = {
  enumeration: choices(strings),
  minLength: optional(fc.nat(2)),
  maxLength: optional(fc.nat(3)),
  pattern: optional(fc.constantFrom('a', '^a', 'b$', '^.$')),
}
const single = <T>(value: fc.Arbitrary<T>) => ({
  isRequired: fc.boolean(),
  isReadOnly: fc.boolean(),
  default: optional(fc.option(value)),
})

const attribute: fc.Arbitrary<ModelAttribute> = fc
  .oneof(
    fc.record({
      logicalType: fc.constant('integer'),
      ...single(integers),
      enumeration: choices(integers),
      ...bounds(integers),
    }),
    fc.record({ logicalType: fc.constant('string'), ...single(strings), ...stringRules }),
    fc.record({ logicalType: fc.constant('date'), ...single(dates), ...bounds(dates) }),
    fc.record({
      logicalType: fc.constant('list'),
      elementSpecification: fc.record({ logicalType: fc.constant('string'), ...stringRules }),
      isReadOnly: fc.boolean(),
      default: optional(fc.array(strings, { maxLength: 3 })),
      minItems: optional(fc.nat(2)),
      maxItems: optional(fc.nat(3)),
      uniqueItems: fc.boolean(),
    }),
  )
  .map((made) => defined(made) as unknown as ModelAttribute)
  .filter(isSatisfiable)
  .filter(hasValidDefault)

/** Without fields that are undefined. */
function defined(value: object): object {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => [name, name === 'elementSpecification' ? defined(field) : field]),
  )
}

/** A definition whose default violates its constraints is refused. */
function hasValidDefault(given: ModelAttribute): boolean {
  if (given.default === undefined || given.default === null) return true
  const cls = { x: { ...given, isReadOnly: false } }
  return violationsOf(cls, { x: given.default }).length === 0
}

const names = ['a', 'b', 'c', 'd', 'e']
const anyClass: fc.Arbitrary<ModelClass> = fc
  .array(attribute, { minLength: 1, maxLength: names.length })
  .map((attributes) => Object.fromEntries(attributes.map((one, i) => [names[i] as string, one])))

const value = (type: ModelAttribute): fc.Arbitrary<unknown> => {
  if (type.logicalType === 'list') return fc.array(strings, { maxLength: 4 })
  return fc.option({ integer: integers, string: strings, date: dates }[type.logicalType] as fc.Arbitrary<unknown>)
}
const valuesOf = (cls: ModelClass): fc.Arbitrary<ModelObject> =>
  fc.record(Object.fromEntries(Object.entries(cls).map(([name, type]) => [name, value(type)])), { requiredKeys: [] })

type Way = 'request' | 'text' | 'batch' | 'array'
const ways = fc.constantFrom<Way>('request', 'text', 'batch', 'array')
const history = anyClass.chain((cls) =>
  fc.record({
    cls: fc.constant(cls),
    writes: fc.array(fc.record({ way: ways, target: fc.nat(3), values: valuesOf(cls) }), {
      minLength: 1,
      maxLength: 20,
    }),
  }),
)

/** What was refused, as the model says it. */
async function refusalOf(act: () => Promise<unknown>): Promise<string[]> {
  try {
    await act()
    return []
  } catch (thrown) {
    // Of a step that is refused at the end of its transaction, the reason is the cause.
    const error = thrown instanceof AshlarError ? thrown : (thrown as Error).cause
    if (!(error instanceof AshlarError) || error.type !== 'ConstraintViolation') throw thrown
    const faults = error.errors.map(({ fault }) => `${fault?.attributeName} ${fault?.constraint}`)
    return [...new Set(faults)].sort()
  }
}

/** What a write is refused for: in a transaction, the number of elements is judged at its end (contract 10.4.12). */
function refused(way: Way, violations: readonly string[]): readonly string[] {
  const runToEnd = violations.filter((violation) => !violation.endsWith(' minItems'))
  return (way === 'batch' || way === 'text') && runToEnd.length > 0 ? runToEnd : violations
}

const literal = (given: unknown): string => {
  if (Array.isArray(given)) return given.length === 0 ? 'LIST{}' : `LIST{${given.map(literal).join(', ')}}`
  if (given === null) return 'NULL'
  if (typeof given === 'number') return String(given)
  return /^\d{4}-/.test(given as string) ? (given as string) : `'${given}'`
}

async function create(fd: FederatedDatabase, way: Way, values: ModelObject): Promise<string> {
  const creation = { class: 'A', attributes: values }
  switch (way) {
    case 'array':
      // As many as are packed into rows.
      return (await fd.createObjects(Array.from({ length: 60 }, () => creation)))[0] as string
    case 'batch': {
      let oid = ''
      await fd.transaction(async (step) => {
        oid = await step(1).createObject('A', values)
      }, true)
      return oid
    }
    case 'text': {
      const fields = Object.entries(values).map(([name, given]) => `${name}: ${literal(given)}`)
      const [row] = await rowValues(await fd.query({ text: `CREATE A {${fields.join(', ')}}` }))
      return (row as { __identifier__: string }).__identifier__
    }
    default:
      return fd.createObject('A', values)
  }
}

async function update(fd: FederatedDatabase, way: Way, oid: string, values: ModelObject): Promise<void> {
  if (way === 'text' && Object.keys(values).length > 0) {
    const sets = Object.entries(values).map(([name, given]) => `${name} TO ${literal(given)}`)
    await fd.query({ text: `UPDATE A WHERE $$ID = ${oid} SET ${sets.join(', ')}` })
  } else if (way === 'batch') {
    await fd.transaction(async (step) => {
      await step(1).updateObject(oid, values)
    }, true)
  } else await fd.updateObject(oid, values)
}

it('random writes are refused for exactly the violations of the model, and leave what it says', async () => {
  const property = fc.asyncProperty(history, async ({ cls, writes }) => {
    await withFd([classOf('A', cls as never)], async (fd) => {
      const objects: { oid: string; held: ModelObject }[] = []
      for (const { way, target, values } of writes) {
        const known = objects[target]
        if (known === undefined) {
          const held = created(cls, values)
          let oid = ''
          const refusal = await refusalOf(async () => {
            oid = await create(fd, way, values)
          })
          expect(refusal).toEqual(refused(way, violationsOf(cls, held)))
          if (refusal.length === 0) objects.push({ oid, held })
          continue
        }
        const held = { ...known.held, ...values }
        const refusal = await refusalOf(() => update(fd, way, known.oid, values))
        expect(refusal).toEqual(refused(way, violationsOf(cls, held, known.held)))
        if (refusal.length === 0) known.held = held
      }
      for (const { oid, held } of objects) expect(await read(fd, oid)).toMatchObject(held)
    })
  })
  await fc.assert(property, runs(150))
})
