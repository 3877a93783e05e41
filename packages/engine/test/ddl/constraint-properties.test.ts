/** Random changes of constraints beside random writes: what is stored satisfies them, and each is refused exactly where it has to be. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import type { Database } from '../../src/index.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, outcome, read, withFd } from '../engine/open-fd.ts'

interface Limits {
  readonly minimum?: number | null
  readonly maximum?: number | null
  readonly enumeration?: readonly number[] | null
  readonly isRequired?: boolean
}

/** Of the check of the class; null: it has none, undefined: the change says nothing of it. */
type Excluded = number | null | undefined

type Value = number | null
type Step =
  | {
      readonly kind: 'constrain'
      readonly given: Limits
      readonly excluded: Excluded
      readonly isValidating: boolean
      readonly isStep: boolean
    }
  | { readonly kind: 'create'; readonly value: Value | undefined; readonly isInner: boolean }
  | { readonly kind: 'update'; readonly at: number; readonly value: Value }
  | { readonly kind: 'validate' }

const small = fc.integer({ min: 0, max: 5 })
const bound = fc.option(small, { nil: null })
const given: fc.Arbitrary<Limits> = fc.record(
  {
    minimum: bound,
    maximum: bound,
    enumeration: fc.option(fc.uniqueArray(small, { minLength: 2, maxLength: 6 }), { nil: null }),
    isRequired: fc.boolean(),
  },
  { requiredKeys: [] },
)
const value = fc.option(small, { nil: null })
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('constrain' as const),
      given,
      excluded: fc.option(bound, { nil: undefined }),
      isValidating: fc.boolean(),
      isStep: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('create' as const),
      value: fc.option(value, { nil: undefined }),
      isInner: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('update' as const), at: fc.nat(20), value }),
    fc.record({ kind: fc.constant('validate' as const) }),
  ),
  { minLength: 3, maxLength: 20 },
)

const checkOf = (excluded: number) => ({ name: 'unlike', expression: `n != ${excluded}` })

function satisfies(limits: Limits, one: Value): boolean {
  const { minimum = null, maximum = null, enumeration = null, isRequired = false } = limits
  if (one === null) return !isRequired
  const isWithin = (minimum === null || one >= minimum) && (maximum === null || one <= maximum)
  return isWithin && (enumeration === null || enumeration.includes(one))
}

class Model {
  readonly values = new Map<string, Value>()
  limits: Limits = {}
  isValidated = true
  excluded: number | null = null
  isCheckValidated = true

  isRight(one: Value): boolean {
    return satisfies(this.limits, one) && (one === null || one !== this.excluded)
  }

  all(isRight: (one: Value) => boolean): boolean {
    return [...this.values.values()].every(isRight)
  }

  get checks(): unknown {
    if (this.excluded === null) return undefined
    return [{ ...checkOf(this.excluded), ...(this.isCheckValidated ? {} : { isValidated: false }) }]
  }

  /** What is left out is 0, unless that violates the constraints, or the value is required. */
  get leftOut(): Value {
    return this.limits.isRequired !== true && satisfies(this.limits, 0) ? 0 : null
  }
}

it('constraints of an attribute and a check, also of embedded objects, as a model keeps them', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const part = {
        className: 'Part',
        isReferenceable: false,
        attributes: [{ attributeName: 'n', logicalType: 'integer' }],
      }
      const parts = { logicalType: 'list', elementSpecification: { logicalType: 'object', class: 'Part' } }
      await withFd([part, classOf('Whole', { parts })], async (fd) => {
        const model = new Model()
        const stored = async (oid: string) => ((await read(fd, oid)).parts as { n: Value }[])[0]?.n
        const attribute = async () => (await fd.readClass('Part')).attributes[0] as Record<string, unknown>
        for (const step of all) {
          switch (step.kind) {
            case 'create': {
              const held = step.value === undefined ? model.leftOut : step.value
              const attributes = { parts: [step.value === undefined ? {} : { n: step.value }] }
              const done = fd.createObject('Whole', attributes)
              const isRight = model.isRight(held)
              expect(await outcome(done)).toBe(isRight ? 'ok' : 'ConstraintViolation')
              if (isRight) model.values.set(await done, held)
              break
            }
            case 'update': {
              const oid = [...model.values.keys()][step.at % Math.max(1, model.values.size)]
              if (oid === undefined) break
              const isSame = model.values.get(oid) === step.value
              const isRight = isSame || model.isRight(step.value)
              expect(await outcome(fd.updateObject(oid, { parts: [{ n: step.value }] }))).toBe(
                isRight ? 'ok' : 'ConstraintViolation',
              )
              if (isRight) model.values.set(oid, step.value)
              break
            }
            case 'constrain':
              await constrain(fd, model, step)
              break
            case 'validate': {
              model.isValidated ||= model.all((one) => satisfies(model.limits, one))
              model.isCheckValidated ||= model.all((one) => one !== model.excluded)
              const expected = model.isValidated && model.isCheckValidated ? 'ok' : 'ObjectsViolateConstraint'
              expect(await outcome(fd.validateConstraints())).toBe(expected)
            }
          }
          expect((await attribute()).isValidated).toBe(model.isValidated ? undefined : false)
          expect(((await fd.readClass('Part')) as { checks?: unknown }).checks).toEqual(model.checks)
          for (const [oid, one] of model.values) expect(await stored(oid)).toBe(one)
        }
      })
    }),
    runs(40),
  )
})

async function constrain(
  fd: FederatedDatabase,
  model: Model,
  { given, excluded = model.excluded, isValidating, isStep }: Extract<Step, { kind: 'constrain' }>,
): Promise<void> {
  const next = { ...model.limits, ...given }
  const fields = { checks: excluded === null ? null : [checkOf(excluded)] }
  const command = { attributesToConstrain: [{ attributeName: 'n', ...given }], classFields: fields }
  const settings = { isValidating }
  const alter = (by: Database) => by.alterClass('Part', command, settings)
  const isBounded = Object.values(next).some((one) => one !== null && one !== undefined && one !== false)
  const isSame = isDeepStrictEqual(normal(next), normal(model.limits))
  const isLooser = isSurelyLooser(model.limits, next)
  const before = await fd.readClass('Part')
  const isNewCheck = excluded !== null && excluded !== model.excluded
  const isRefused =
    isValidating &&
    ((!isSame && !isLooser && !model.all((one) => satisfies(next, one))) ||
      (isNewCheck && !model.all((one) => one !== excluded)))
  const isContradiction = ![...(next.enumeration ?? Array.from({ length: 6 }, (_, i) => i))].some((one) =>
    satisfies(next, one),
  )
  const expected = isContradiction ? 'InvalidDefinition' : isRefused ? 'ObjectsViolateConstraint' : 'ok'
  expect(await outcome(fd.previewAlteration('Part', command, settings))).toBe(expected)
  expect(await fd.readClass('Part')).toEqual(before)
  expect(await outcome(isStep ? fd.transaction((step) => alter(step(1)), false) : alter(fd))).toBe(expected)
  if (expected !== 'ok') {
    expect(await fd.readClass('Part')).toEqual(before)
    return
  }
  expect((await fd.readClass('Part')).shapeNumber).toBe(before.shapeNumber)
  model.limits = next
  model.excluded = excluded
  if (excluded === null) model.isCheckValidated = true
  else if (isNewCheck) model.isCheckValidated = isValidating
  if (!isBounded) model.isValidated = true
  else if (!isSame && !isLooser) model.isValidated = isValidating
}

/** Without what says no more than its absence. */
function normal({ minimum = null, maximum = null, enumeration = null, isRequired = false }: Limits): Limits {
  return { minimum, maximum, enumeration, isRequired }
}

function isSurelyLooser(before: Limits, after: Limits): boolean {
  const [one, other] = [normal(before), normal(after)]
  const allows = <T>(was: T | null | undefined, is: T | null | undefined, isWider: (was: T, is: T) => boolean) => {
    return is === null || is === undefined || (was !== null && was !== undefined && isWider(was, is))
  }
  return (
    allows(one.minimum, other.minimum, (was, is) => is <= was) &&
    allows(one.maximum, other.maximum, (was, is) => is >= was) &&
    allows(one.enumeration, other.enumeration, (was, is) => was.every((choice) => is.includes(choice))) &&
    (other.isRequired !== true || one.isRequired === true)
  )
}
