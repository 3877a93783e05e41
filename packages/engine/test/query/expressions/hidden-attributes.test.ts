/** Attributes that a subclass hides, within embedded objects that are hidden themselves (REST interface, section 4). */
import { expect } from 'vitest'
import { classOf } from '../../engine/open-fd.ts'
import { queryTest } from '../query-database.ts'

const embeddable = { isReferenceable: false }
const classes = [
  classOf('F.E1', { c: 'integer' }, embeddable),
  classOf('F.E2', { c: 'string', e: { logicalType: 'object', class: 'F.E1' } }, { ...embeddable, superClass: 'F.E1' }),
  classOf('F.P', { d: { logicalType: 'object', class: 'F.E2' }, all: listOfEmbedded('F.E2') }),
  classOf('F.S', { d: 'integer' }, { superClass: 'F.P' }),
]

function listOfEmbedded(cls: string): object {
  return { logicalType: 'list', elementSpecification: { logicalType: 'object', class: cls } }
}

queryTest('are named with their classes, wherever an attribute is named', [], async ({ fd, ...db }) => {
  await fd.defineClasses(classes, 'create')
  await db.rows("CREATE S {F.P::d.F.E1::c: 5, F.P::d.c: 'shown', d: 1, all: LIST{F.E2{F.E1::c: 7}}}")
  const [row] = await db.rows('FROM S WHERE F.P::d.F.E1::c = 5 RETURN F.P::d.F.E1::c AS inner, F.P::d.c AS shown, d')
  expect(row).toEqual({ inner: 5, shown: 'shown', d: 1 })
  expect(await db.rows('FROM S RETURN P::d.E1::c AS a, F::P::d.F::E1::c AS b, F.P::d.e.c AS e')).toEqual([
    { a: 5, b: 5, e: 0 },
  ])
  expect(await db.rows('FROM S RETURN all.F.E1::c AS each')).toEqual([{ each: [7] }])
  expect(await db.rows('MATCH (s:S) WHERE s.F.P::d.F.E1::c = 5 RETURN s.F.P::d.F.E1::c AS v')).toEqual([{ v: 5 }])
  await db.rows('UPDATE S SET F.P::d.F.E1::c TO 6')
  await db.rows('CREATE INDEX byInner ON S (F.P::d.F.E1::c)')
  expect(await db.rows('FROM S WHERE F.P::d.F.E1::c = 6 ORDER BY F.P::d.F.E1::c RETURN d')).toEqual([{ d: 1 }])
  expect((await db.failure('FROM S RETURN F.P::d.F.E1::x')).message).toMatch(/no attribute/)
  expect((await db.failure('FROM S RETURN F.Q::d.F.E1::c')).message).toMatch(/no attribute/)
})
