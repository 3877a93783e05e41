/** What is kept of texts: as many as fit into a bound in bytes, and little of each however many classes its objects may have. */
import { expect, it, vi } from 'vitest'
import { assert } from '../../src/errors.ts'
import { plansBytesMax } from '../../src/limits.ts'
import { bindMatch } from '../../src/query/bind/bind-match.ts'
import { noClauses } from '../../src/query/bind/bind-select.ts'
import type { BoundWindow } from '../../src/query/bind/bound.ts'
import type { MatchStatement, SelectStatement } from '../../src/query/language/ast.ts'
import { dialectDefault } from '../../src/query/language/dialect.ts'
import type { Planning } from '../../src/query/operators/planning.ts'
import { planWindows } from '../../src/query/operators/window.ts'
import { parse } from '../../src/query/parse/parse.ts'
import { createBinder, PlanCache, type PlanningContext } from '../../src/query/plan-cache.ts'
import { planSelect, type SelectPlan } from '../../src/query/statements/select.ts'
import { typeOfStatement } from '../../src/query/statements/statement-kinds.ts'
import { noTextFormats } from '../../src/query/values/text-format.ts'
import { recordFormats } from '../../src/records/record-formats.ts'
import { readDefineClasses } from '../../src/requests/read-class-descriptions.ts'
import { buildCatalog, emptyCatalogState } from '../../src/schema/build-catalog.ts'
import type { Catalog } from '../../src/schema/catalog.ts'
import { defineClasses } from '../../src/schema/define-classes.ts'
import { classOf, toMany, toOne } from '../engine/open-fd.ts'

const tokensMax = 10_000

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

const noStatementWithin: PlanningContext['typeOfStatement'] = () => {
  throw new Error('no statement stands in another one')
}

function planned(plans: PlanCache, text: string, catalog: Catalog, typeOfStatement = noStatementWithin): SelectPlan {
  const {
    statements: [statement],
    lifted: variables,
  } = plans.parsed(text, tokensMax)
  const context = { ...contextOf(text, catalog), variables, typeOfStatement }
  return planSelect(statement as SelectStatement, { plans, planning: () => context }).plan
}

function contextOf(text: string, catalog: Catalog): PlanningContext {
  return {
    text,
    dialect: dialectDefault,
    catalog,
    formats: recordFormats(catalog),
    variables: new Map(),
    walkEdgesMax: 1,
    textFormats: noTextFormats,
    typeOfStatement: noStatementWithin,
  }
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

it('a statement that WITH names is bound once for all places that use it, whatever the names around these', () => {
  const catalog = catalogOf([classOf('Base', { n: 'integer' })])
  const bound = new Map<number, number>()
  const counted: PlanningContext['typeOfStatement'] = (statement, ...others) => {
    bound.set(statement.start, (bound.get(statement.start) ?? 0) + 1)
    return typeOfStatement(statement, ...others)
  }
  const uses = Array.from(
    { length: 40 },
    (_, i) => `n + ${i} IN (FROM Base b${i} WHERE b${i}.n IN (FROM r RETURN n) RETURN n)`,
  )
  const text = `WITH r AS (FROM Base WHERE n > 1 RETURN n) FROM Base WHERE ${uses.join(' OR ')} RETURN n`
  planned(new PlanCache(), text, catalog, counted)
  expect(bound.get(text.indexOf('FROM Base WHERE n > 1'))).toBe(1)
  expect(bound.size).toBe(1 + 2 * uses.length)
})

it('edges of MATCH that are alike are compared with the attributes of the schema once', () => {
  const attributes = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`to${i}`, toOne('Base')]))
  const catalog = catalogOf([classOf('Base', attributes)])
  const cls = catalog.classes.find(({ name }) => name === 'Base')
  assert(cls !== undefined, 'it is defined above')
  const compared = vi.spyOn(cls, 'isOrInherits')
  const text = `MATCH (:Base)${'-->(:Base)'.repeat(200)} RETURN COUNT(*) AS n`
  const [statement] = parse(text)
  const { patterns } = bindMatch(statement as MatchStatement, createBinder(contextOf(text, catalog)), 8)
  expect(patterns[0]?.edges.map(({ attributes: found }) => found.length)).toEqual(Array(200).fill(50))
  expect(compared.mock.calls.length).toBeLessThan(200 * 50)
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
    expect(plan.rows?.areRecordsOnly).toBe(areOfRecords)
  },
)
