/** EXPLAIN tells which index would help where all objects are gone through for a few. */
import { expect } from 'vitest'
import { find, touched } from '../plans.ts'
import { type QueryDatabase, queryTest, type ShownPlan } from '../query-database.ts'

const schema = [
  `UPDATE SCHEMA {
    CREATE CLASS Sea.Hold EMBEDDABLE { deck: Integer }
    CREATE CLASS Sea.Ship { number: Integer, flag: String, tons: Integer, hold: Object{Class: Sea.Hold}, seen: Boolean }
  }`,
]
const ships = 1_200

async function fill({ fd }: QueryDatabase): Promise<void> {
  const attributes = Array.from({ length: ships }, (_, i) => ({
    number: i,
    flag: `f${i % 60}`,
    tons: i % 300,
    hold: { deck: i % 100 },
    seen: i % 2 === 0,
  }))
  await fd.createObjects(attributes.map((values) => ({ class: 'Sea.Ship', attributes: values })))
}

function hintIn(plan: ShownPlan): unknown {
  const hints = [plan, ...inputsOf(plan)].flatMap(({ hint }) => hint ?? [])
  expect(hints.length).toBeLessThanOrEqual(1)
  return hints[0]
}

function inputsOf(plan: ShownPlan): ShownPlan[] {
  return (plan.inputs ?? []).flatMap((input) => [input, ...inputsOf(input)])
}

queryTest('an index that has far fewer objects read is told as it is to be written', schema, async (db) => {
  await fill(db)
  const cases: [statement: string, index: string, touched: number][] = [
    ['FROM Ship WHERE tons = 7 RETURN number', 'shipTons ON Sea.Ship (tons)', 4],
    ["FROM Ship WHERE tons < 4 AND flag = 'f1' RETURN number", 'shipFlagTons ON Sea.Ship (flag, tons)', 4],
    ['FROM Ship WHERE number > 1190 RETURN flag', 'shipNumber ON Sea.Ship (number)', 9],
    ['FROM Ship WHERE hold.deck IN (3, 4) RETURN number', 'shipHoldDeck ON Sea.Ship (hold.deck)', 24],
    ['FROM Ship ORDER BY tons DESC TAKE 3 RETURN number', 'shipTons ON Sea.Ship (tons)', 3],
    ["FROM Ship WHERE flag LIKE 'f59%' RETURN number", 'shipFlag ON Sea.Ship (flag)', 20],
  ]
  for (const [statement, index, least] of cases) {
    const plan = await db.analyze(statement)
    expect([statement, hintIn(plan), touched(plan)]).toEqual([statement, `CREATE INDEX ${index}`, ships])
    await db.rows(`CREATE INDEX ${index}`)
    const helped = await db.analyze(statement)
    expect([statement, hintIn(helped), touched(helped)]).toEqual([statement, undefined, least])
    await db.rows(`DROP INDEX ${index.slice(0, index.indexOf(' '))}`)
  }
})

queryTest('it is told before the statement is carried out only where it is likely', schema, async (db) => {
  await fill(db)
  const explained = async (statement: string): Promise<unknown> => {
    const [plan] = (await db.rows(`EXPLAIN ${statement}`)) as unknown as ShownPlan[]
    return hintIn(plan as ShownPlan)
  }
  expect(await explained('FROM Ship WHERE tons = 7 RETURN number')).toBe('CREATE INDEX shipTons ON Sea.Ship (tons)')
  expect(await explained('FROM Ship WHERE tons > 7 RETURN number')).toBeUndefined()
  expect(await explained('FROM Ship WHERE tons + 1 = 7 RETURN number')).toBeUndefined()
})

queryTest('there is none where an index would not help', schema, async (db) => {
  await fill(db)
  for (const statement of [
    'FROM Ship WHERE tons > 7 RETURN number',
    'FROM Ship WHERE seen RETURN number',
    'FROM Ship WHERE tons % 2 = 7 RETURN number',
    'FROM Ship RETURN number',
    'FROM Ship ORDER BY tons RETURN number',
  ]) {
    expect([statement, hintIn(await db.analyze(statement))]).toEqual([statement, undefined])
  }
})

queryTest('it takes a name that no index has', schema, async (db) => {
  await fill(db)
  await db.rows('CREATE INDEX shipTons ON Sea.Ship (number)')
  const plan = await db.analyze('FROM Ship WHERE tons = 7 RETURN number')
  expect(hintIn(plan)).toBe('CREATE INDEX shipTons2 ON Sea.Ship (tons)')
  expect(find(plan, 'filter').hint).toBe(hintIn(plan))
})
