/** Every kind of collection of references becomes every other one, and refers to another class at once. */

import { expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import type { SchemaReport } from '../../src/index.ts'
import { classOf, outcome, read, withFd } from '../engine/open-fd.ts'
import { rowTexts } from '../row-texts.ts'

const kinds = {
  'plain list': { logicalType: 'list' },
  SegmentedArray: { logicalType: 'list', collectionTypeName: 'SegmentedArray' },
  TreeListOfReferences: { logicalType: 'list', collectionTypeName: 'TreeListOfReferences' },
  TreeSetOfReferences: { logicalType: 'set', collectionTypeName: 'TreeSetOfReferences' },
  HashSetOfReferences: { logicalType: 'set', collectionTypeName: 'HashSetOfReferences' },
} as const
type Kind = keyof typeof kinds
const kindNames = Object.keys(kinds) as Kind[]
const targets = ['Sub', 'Other'] as const
type Target = (typeof targets)[number]

const none = '0-0-0-0'
const definition = (kind: Kind, referencedClass: string): object => ({
  ...kinds[kind],
  elementSpecification: { logicalType: 'reference', referencedClass },
})

interface Element {
  readonly oid: string
  /** Its class and those above; of what refers to nothing, every class. */
  readonly classes: readonly string[]
  readonly isGone: boolean
}

/** What is left of the elements, and how many are lost: by the rules, and not by how elements are kept. */
function expected(
  elements: readonly Element[],
  from: Kind,
  to: Kind,
  target: Target,
): { left: string[]; lost: number } {
  const isSet = kinds[to].logicalType === 'set'
  const isMoved = placeOf(from) !== placeOf(to)
  const left: string[] = []
  for (const { oid, classes, isGone } of elements) {
    if (!classes.includes(target) || (isGone && isMoved)) continue
    if (isSet && (oid === none || left.includes(oid))) continue
    left.push(oid)
  }
  return { left, lost: elements.length - left.length }
}

function placeOf(kind: Kind): string {
  return kind === 'TreeListOfReferences' ? 'links' : kinds[kind].logicalType
}

interface Case {
  readonly from: Kind
  readonly to: Kind
  readonly target: Target
  readonly elements: readonly Element[]
}

const valuesLost = (report: Pick<SchemaReport, 'valuesLost'>): number =>
  report.valuesLost.reduce((sum, { values }) => sum + values, 0)

async function expectChange(fd: FederatedDatabase, name: string, { from, to, target, elements }: Case): Promise<void> {
  const place = `${from} to ${to} of ${target}`
  await fd.defineClasses([classOf(name, { held: definition(from, 'Base') })], 'create')
  const given = kinds[from].logicalType === 'set' ? elements.filter(({ oid }) => oid !== none) : elements
  const held = kinds[from].logicalType === 'set' ? given.filter((one, i) => given.indexOf(one) === i) : given
  const owner = await fd.createObject(name, { held: held.map(({ oid }) => oid) })
  for (const { oid, isGone } of held) if (isGone) await outcome(fd.deleteObject(oid))
  const { left, lost } = expected(held, from, to, target)
  const body = { attributesToChange: [{ attributeName: 'held', ...definition(to, target) }] }
  const refused = lost > 0 ? 'ValuesWouldBeLost' : 'ok'
  expect([place, await outcome(fd.previewAlteration(name, body))]).toEqual([place, refused])
  expect([place, await outcome(fd.alterClass(name, body))]).toEqual([place, refused])
  if (lost > 0) {
    const settings = { isLossAllowed: true }
    expect([place, valuesLost(await fd.previewAlteration(name, body, settings))]).toEqual([place, lost])
    expect([place, await outcome(fd.alterClass(name, body, settings))]).toEqual([place, 'ok'])
  }
  const shown = (await read(fd, owner)).held as string[]
  const inOrder = kinds[to].logicalType === 'set' ? [new Set(shown), new Set(left)] : [shown, left]
  expect([place, inOrder[0]]).toEqual([place, inOrder[1]])
  const rows = await rowTexts(await fd.query({ text: `FROM ${name} RETURN held.v AS v` }))
  for (const row of rows) expect(row).toContain('"v"')
}

const classes = [
  classOf('Base', { n: 'integer' }),
  classOf('Sub', { v: 'integer' }, { superClass: 'Base' }),
  classOf('Other', { v: 'integer' }),
]

for (const target of targets) {
  it(`from references to Base to references to ${target}, in a dry run and in earnest`, () =>
    withFd(classes, async (fd) => {
      const made = async (cls: string, classes: string[], isGone = false): Promise<Element> => {
        return { oid: await fd.createObject(cls, {}), classes, isGone }
      }
      const base = await made('Base', ['Base'])
      const sub = await made('Sub', ['Base', 'Sub'])
      const nothing = { oid: none, classes: ['Base', ...targets], isGone: false }
      let owners = 0
      for (const from of kindNames) {
        for (const to of kindNames) {
          const gone = [await made('Base', ['Base'], true), await made('Sub', ['Base', 'Sub'], true)]
          const elements = [sub, base, sub, ...gone, nothing]
          await expectChange(fd, `Owner${owners++}`, { from, to, target, elements })
          await expectChange(fd, `Owner${owners++}`, { from, to, target, elements: [sub] })
        }
      }
    }))
}
