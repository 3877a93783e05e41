/** Which changes of a class are immediate, online or transactional, and that the planned result is the one computed anew. */
import { describe, expect, it } from 'vitest'
import { readAlterClass } from '../../src/requests/read-alter-class.ts'
import { type AlterPlan, completedState, type OnlineAlter, planAlter } from '../../src/schema/alter-plan.ts'
import type { CatalogState } from '../../src/schema/class-definition.ts'
import { withReadyIndex } from '../../src/schema/index-definition.ts'
import { withoutPending } from '../../src/schema/pending-types.ts'
import { runToEnd } from '../../src/store/time-slice.ts'
import { catalogOf, classOf, list, reference, SchemaUnderTest, set } from './schema-under-test.ts'

/** Keys of strings and references, some of several attributes. */
function given(): SchemaUnderTest {
  const schema = new SchemaUnderTest()
  schema.put(
    classOf('Base', {}),
    classOf('Car', {
      nr: 'integer',
      text: 'string',
      keyed: 'string',
      other: 'string',
      base: reference('Base'),
      sub: reference('Sub'),
      cars: list(reference('Car')),
    }),
    classOf('Sub', {}, { superClass: 'Base' }),
  )
  for (const [name, ...attributes] of [
    ['byKeyed', 'keyed', 'other'],
    ['byOther', 'other'],
    ['bySub', 'sub'],
  ] as const) {
    const { number } = schema.index(name, 'Car', ...attributes)
    schema.catalog = catalogOf(withReadyIndex(schema.catalog.state, number))
  }
  return schema
}

function plan(body: object, options: { isCascading?: boolean; isStep?: boolean } = {}, schema = given()): AlterPlan {
  const { isStep = false, ...settings } = options
  const context = { attributesMax: 1_000, sessionNumber: 7, isStep }
  return runToEnd(planAlter(schema.catalog, readAlterClass('Car', body, settings), context))
}

const change = (attributeName: string, definition: object): object => ({
  attributesToChange: [{ attributeName, ...definition }],
})
const checks = [{ name: 'short', expression: 'LENGTH(text) < 9' }]
const toWhole = (attributeName: string): object => change(attributeName, { logicalType: 'integer' })

describe('the kind of a change', () => {
  it.each([
    ['an addition', { attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }] }],
    ['a rename', { classRename: 'Vehicle' }],
    ['a type that holds all values', change('nr', { logicalType: 'string' })],
    ['a reference to a superclass, keyed or not', change('sub', reference('Base'))],
  ])('immediate: %s', (_what, body) => {
    expect(plan(body)).toMatchObject({ kind: 'immediate', rebuiltIndexes: [] })
    expect(plan(body, { isStep: true }).kind).toBe('immediate')
  })

  it.each([
    ['a type that does not hold all values', 'text', []],
    ['and rebuilds the indexes of the attribute', 'keyed', ['byKeyed']],
    ['of several attributes too', 'other', ['byKeyed', 'byOther']],
  ])('online: %s', (_what, attribute, rebuilt) => {
    const online = plan(toWhole(attribute))
    expect(online.kind).toBe('online')
    expect(online.rebuiltIndexes.map(({ name }) => name)).toEqual(rebuilt)
  })

  it('online: a check of what there is, beside constraints', () => {
    const limited = { attributesToConstrain: [{ attributeName: 'text', maxLength: 3 }], classFields: { checks } }
    expect(plan(limited)).toMatchObject({ kind: 'online', newChecks: [{ name: 'short' }] })
    expect(plan(limited, { isStep: true }).kind).toBe('transactional')
  })

  it.each([
    ['an attribute that has another name afterwards', { attributesToRename: [{ originalName: 'nr', newName: 'no' }] }],
    ['another type', toWhole('other')],
  ])('transactional: a check beside %s', (_what, body) => {
    expect(plan({ ...body, classFields: { checks } }).kind).toBe('transactional')
  })

  it.each([
    ['references to fewer classes', change('base', reference('Sub'))],
    ['elements that are stored elsewhere', change('cars', set(reference('Car')))],
  ])('transactional: %s', (_what, body) => {
    expect(plan(body)).toMatchObject({ kind: 'transactional', rebuilt: [] })
  })

  it('transactional: as a step, what would be online alone', () => {
    const step = plan(toWhole('other'), { isStep: true })
    expect(step).toMatchObject({ kind: 'transactional', rebuilt: [4, 5] })
    expect(step.next.indexes.map(({ number, state }) => [number, state])).toEqual([
      [4, 'ready'],
      [5, 'ready'],
      [3, 'ready'],
    ])
  })
})

describe('an online change', () => {
  function online(body: object, isCascading = false, schema = given()): OnlineAlter {
    const planned = plan(body, { isCascading }, schema)
    expect(planned.kind).toBe('online')
    return planned as OnlineAlter
  }

  /** As another process would have it, or this one after a load. */
  const loaded = (state: CatalogState) => catalogOf(JSON.parse(JSON.stringify(state)) as CatalogState)

  const all = {
    attributesToDelete: ['keyed'],
    attributesToRename: [{ originalName: 'text', newName: 'renamed' }],
    attributesToChange: [
      { attributeName: 'other', logicalType: 'integer' },
      { attributeName: 'nr', logicalType: 'string' },
    ],
    attributesToAdd: [{ attributeName: 'more', logicalType: 'string' }],
  }

  const known = { attributesToConstrain: [{ attributeName: 'base', onTargetDelete: 'restrict' }] }

  it.each([
    ['without an index', toWhole('text'), false],
    ['with indexes', toWhole('other'), false],
    ['with a check', { classFields: { checks } }, false],
    ['with everything at once', all, true],
    ['with entries that tell who refers', known, false],
    ['with those and with indexes', { ...known, ...toWhole('other') }, false],
  ])('ends as one that is computed anew on what it has published: %s', (_what, body, isCascading) => {
    const planned = online(body, isCascading)
    expect(runToEnd(completedState(planned, loaded(planned.pending)))).toEqual(planned.next)
  })

  it('is not computed anew on the very state that it has published', () => {
    const planned = online(toWhole('text'))
    expect(runToEnd(completedState(planned, catalogOf(planned.pending)))).toBe(planned.next)
  })

  it('leaves what it does not change the same object, and so unwritten', () => {
    const schema = given()
    const planned = online(toWhole('other'), false, schema)
    const [base, , sub] = schema.catalog.state.classes
    expect(planned.pending.classes.filter((one) => one === base || one === sub)).toHaveLength(2)
    expect(planned.next.classes.filter((one) => one === base || one === sub)).toHaveLength(2)
  })

  it('is undone as if it had never been published, but for the numbers that it took', () => {
    const schema = given()
    const limited = { attributesToConstrain: [{ attributeName: 'other', maxLength: 3 }], classFields: { checks } }
    const planned = online(limited, false, schema)
    const { pending, typeChanges, newChecks, replacements } = planned
    expect(pending.classes[1]).toMatchObject({ pendingChecks: [{ name: 'short', session: 7 }] })
    const attributes = new Set(typeChanges.map(({ attribute }) => attribute))
    const { counters: _, ...undone } = withoutPending(pending, { attributes, checks: newChecks, replacements })
    const { counters: _before, ...before } = schema.catalog.state
    expect(undone).toEqual(before)
  })

  it('is refused once its pending types are gone, or are those of another process', () => {
    const schema = given()
    const planned = online(toWhole('text'), false, schema)
    const ofOther = catalogOf(JSON.parse(JSON.stringify(planned.pending).replaceAll('"session":7', '"session":8')))
    expect(() => runToEnd(completedState(planned, ofOther))).toThrow('was changed by another request')
    expect(() => runToEnd(completedState(planned, loaded(schema.catalog.state)))).toThrow(
      'was changed by another request',
    )
  })
})
