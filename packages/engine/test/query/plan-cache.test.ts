/** What is kept of texts: as many as fit into a bound in bytes, and little of each however many classes its objects may have. */
import { expect, it } from 'vitest'
import { plansBytesMax } from '../../src/limits.ts'
import { noClauses } from '../../src/query/bind/bind-select.ts'
import type { BoundWindow } from '../../src/query/bind/bound.ts'
import type { SelectStatement } from '../../src/query/language/ast.ts'
import { dialectDefault } from '../../src/query/language/dialect.ts'
import type { Planning } from '../../src/query/operators/planning.ts'
import { planWindows } from '../../src/query/operators/window.ts'
import { PlanCache, type Planned, type PlanningContext } from '../../src/query/plan-cache.ts'
import { planSelect, type SelectPlan } from '../../src/query/statements/select.ts'
import { noTextFormats } from '../../src/query/values/text-format.ts'
import { recordFormats } from '../../src/records/record-formats.ts'
import { readDefineClasses } from '../../src/requests/read-class-descriptions.ts'
import { buildCatalog, emptyCatalogState } from '../../src/schema/build-catalog.ts'
import type { Catalog } from '../../src/schema/catalog.ts'
import { defineClasses } from '../../src/schema/define-classes.ts'
import type { Awaitable } from '../../src/store/store.ts'
import type { TimeSlice } from '../../src/store/time-slice.ts'
import { classOf, toMany } from '../engine/open-fd.ts'

const tokensMax = 25_000

it('texts by the thousand are kept', () => {
  const plans = new PlanCache()
  const of = (text: string) => plans.parsed(text, tokensMax)
  const short = Array.from({ length: 2_000 }, (_, nth) => `FROM C${nth} WHERE own${nth} = $n RETURN *`)
  const first = short.map(of)
  expect(short.every((text, nth) => of(text) === first[nth])).toBe(true)
})

it('many parts of statements take the place of many texts, and so do many shapes and many characters', () => {
  const chain = Array.from({ length: 400 }, (_, nth) => `n + ${nth} = $n`).join(' OR ')
  /** Each takes so many bytes or more. */
  const others: readonly [number, (nth: number) => string][] = [
    [400_000, (nth) => `FROM C WHERE ${chain} RETURN n AS z${nth}`],
    [3_500, (nth) => `FROM C WHERE n = 1 AND m${nth} = 2 RETURN *`],
    [30_000, (nth) => `SHOW ${nth} /* ${'x'.repeat(15_000)} */`],
  ]
  for (const [bytesEach, other] of others) {
    const plans = new PlanCache()
    const of = (text: string) => plans.parsed(text, tokensMax)
    const first = of('SHOW 1')
    expect(of('SHOW 1')).toBe(first)
    for (let bytes = 0, nth = 0; bytes <= plansBytesMax; bytes += bytesEach, nth++) of(other(nth))
    expect(of('SHOW 1')).not.toBe(first)
  }
})

it('what is used again and again stays, whatever comes beside it', () => {
  const plans = new PlanCache()
  const of = (text: string) => plans.parsed(text, tokensMax)
  const first = of('SHOW 1')
  for (let nth = 0; nth < 20_000; nth++) {
    of(`FROM C${nth} WHERE own${nth} = $n RETURN *`)
    if (nth % 1_000 === 0) of('SHOW 1')
  }
  expect(of('SHOW 1')).toBe(first)
})

function catalogOf(classes: readonly object[]): Catalog {
  const empty = buildCatalog(emptyCatalogState(), Buffer.from([0]))
  const { state } = defineClasses(empty, readDefineClasses(classes, 'create'), { attributesMax: 1_000 })
  return buildCatalog(state, Buffer.from([1]))
}

function planned(plans: PlanCache, text: string, catalog: Catalog): SelectPlan {
  const made = plannedWith(plans, text, catalog)
  if (made instanceof Promise) throw new Error('planned later')
  return made.plan
}

function plannedWith(
  plans: PlanCache,
  text: string,
  catalog: Catalog,
  slice?: TimeSlice,
): Awaitable<Planned<SelectPlan>> {
  const {
    statements: [statement],
    lifted: variables,
  } = plans.parsed(text, tokensMax)
  const context: PlanningContext = {
    slice,
    text,
    dialect: dialectDefault,
    catalog,
    formats: recordFormats(catalog),
    variables,
    walkEdgesMax: 1,
    textFormats: noTextFormats,
    typeOfStatement: () => {
      throw new Error('no statement stands in another one')
    },
  }
  return planSelect(statement as SelectStatement, { plans, planning: () => context })
}

const sub = (className: string, attributes: Record<string, string | object>): object =>
  classOf(className, attributes, { superClass: 'Base' })

it('plans of a catalog share the set of classes whose objects they look for', () => {
  const catalog = catalogOf([classOf('Base', { n: 'integer' }), sub('One', {}), sub('Two', {})])
  const plans = new PlanCache()
  const classesOf = (text: string) => planned(plans, text, catalog).objects.classes
  const base = classesOf('FROM Base RETURN n')
  expect([...base.classes].map(({ name }) => name)).toEqual(['Base', 'One', 'Two'])
  expect(classesOf('FROM Base WHERE n + 1 > n RETURN *')).toBe(base)
  expect(classesOf('FROM Base ORDER BY n RETURN n AS other')).toBe(base)
  expect(classesOf('FROM ONLY Base RETURN n').classes.map(({ name }) => name)).toEqual(['Base'])
})

it('a plan belongs to its catalog, and is found again under it', () => {
  const [one, other] = [catalogOf([classOf('Base', { n: 'integer' })]), catalogOf([classOf('Base', { n: 'real' })])]
  const plans = new PlanCache()
  const text = 'FROM Base RETURN n'
  const ofOne = planned(plans, text, one)
  const ofOther = planned(plans, text, other)
  expect(ofOther).not.toBe(ofOne)
  expect(planned(plans, text, one)).toBe(ofOne)
  expect(planned(plans, text, other)).toBe(ofOther)
})

it('what is asked of a long text is planned in several turns, that of a short one at once, and the same', async () => {
  const catalog = catalogOf([classOf('Base', { n: 'integer', text: 'string' })])
  let turns = 0
  const yieldIfDue = async (): Promise<void> => void turns++
  const slice: TimeSlice = { isOver: true, yieldIfDue }
  const textOf = (parts: number) => {
    const conditions = Array.from({ length: parts }, (_, i) => (i % 2 === 0 ? `n = ${i}` : `text LIKE 'x${i}%'`))
    return `FROM Base WHERE ${conditions.join(' OR ')} RETURN n`
  }
  const plans = new PlanCache()
  const short = plannedWith(plans, textOf(20), catalog, slice)
  expect([short instanceof Promise, turns]).toEqual([false, 0])
  const long = plannedWith(plans, textOf(500), catalog, slice)
  expect(long).toBeInstanceOf(Promise)
  // After each condition is bound, after what indexes could answer, after what each access path takes, and before the rows.
  const { plan } = await long
  expect(turns).toBeGreaterThan(500)
  const turnsOfLong = turns
  // It is kept like any other.
  expect((await plannedWith(plans, textOf(500), catalog, slice)).plan).toBe(plan)
  expect(turns).toBe(turnsOfLong)
  const atOnce = await plannedWith(new PlanCache(), textOf(500), catalog)
  expect(JSON.stringify(atOnce.plan.objects.accesses)).toBe(JSON.stringify(plan.objects.accesses))
})

const many = (write: (i: number) => string, between = ', '): string =>
  Array.from({ length: 600 }, (_, i) => write(i)).join(between)

it.each([
  ['columns', `FROM Base RETURN ${many((i) => `n + ${i} AS c${i}`)}`, 2],
  ['branches of CASE', `FROM Base RETURN CASE ${many((i) => `WHEN n = ${i} THEN ${i}`, ' ')} ELSE 0 END AS x`, 2],
  ['keys of an order', `FROM Base ORDER BY ${many((i) => `n + ${i}`)} RETURN n`, 1],
  ['keys of groups', `FROM Base GROUP BY ${many((i) => `n + ${i}`)} RETURN COUNT(*)`, 1],
  ['parts of AND within OR', `FROM Base WHERE n = 1 OR (${many((i) => `n > ${i}`, ' AND ')}) RETURN n`, 1],
])('very many %s are planned in turns with others', async (_, text, turnsOfEach) => {
  const catalog = catalogOf([classOf('Base', { n: 'integer', text: 'string' })])
  let turns = 0
  const slice: TimeSlice = { isOver: true, yieldIfDue: async () => void turns++ }
  await plannedWith(new PlanCache(), text, catalog, slice)
  expect(turns).toBeGreaterThan(600 * turnsOfEach)
})

it('windows over very many orders are planned in one pass', () => {
  let looks = 0
  const windows = Array.from({ length: 500 }, (_, i) => ({
    function: 'ROW_NUMBER',
    partitionBy: [],
    orderBy: [],
    get over() {
      looks++
      return `ORDER BY n + ${i}`
    },
    start: 0,
    end: 0,
  }))
  planWindows({ ...noClauses, windows: windows as unknown as BoundWindow[] }, { text: '' } as Planning)
  expect(looks).toBeLessThan(4 * 500)
})

const reference = (referencedClass: string, inverseAttribute?: string): object => ({
  logicalType: 'reference',
  referencedClass,
  ...(inverseAttribute === undefined ? {} : { inverseAttribute }),
})
const plain = classOf('Base', { n: 'integer' })

const schemas: [string, readonly object[], string, boolean][] = [
  ['without links', [plain, sub('One', { m: 'integer', to: reference('Base') })], 'Base', true],
  ['of the class itself', [classOf('Base', { to: toMany('Base', 'from'), from: toMany('Base', 'to') })], 'Base', false],
  ['of a subclass', [plain, sub('One', { to: toMany('One', 'from'), from: reference('One', 'to') })], 'Base', false],
  [
    'of a subclass, not asked for',
    [plain, sub('One', { to: toMany('One', 'from'), from: reference('One', 'to') })],
    'ONLY Base',
    true,
  ],
  [
    'that are inherited',
    [classOf('Base', { to: toMany('Base', 'from'), from: reference('Base', 'to') }), sub('One', {})],
    'One',
    false,
  ],
  [
    'of any class',
    [plain, classOf('Other', { to: toMany('Other', 'from'), from: reference('Other', 'to') }), classOf('More', {})],
    'ooObj',
    false,
  ],
]
it.each(schemas)(
  'whole objects are in their records unless they have links: %s',
  (_, classes, source, areOfRecords) => {
    const plan = planned(new PlanCache(), `FROM ${source} RETURN *`, catalogOf(classes))
    expect(plan.rows?.areOfRecords).toBe(areOfRecords)
  },
)
