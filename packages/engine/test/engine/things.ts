/** Objects of classes without links, with values of every kind, and what can be wrong with one of them. */
import { FederatedDatabase } from '../../src/federated-database.ts'
import { PackedChanges } from '../../src/store/packed-rows.ts'
import type { Store } from '../../src/store/store.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { classOf, index, toMany, toOne } from './open-fd.ts'

const scalars = {
  name: 'string',
  latin: { logicalType: 'string', encoding: 'byte' },
  small: { logicalType: 'integer', storage: 'b8' },
  wide: { logicalType: 'integer', storage: 'b64' },
  real: 'real',
  flag: 'boolean',
  day: 'date',
  at: 'datetime',
}
export const classes = [
  classOf('Maker', { name: 'string' }),
  classOf('Thing', { ...scalars, maker: toOne('Maker') }),
  classOf('Special', { mark: 'string' }, { superClass: 'Thing' }),
]
const indexes = [
  index('byName', 'Thing', true, 'name'),
  index('bySmall', 'Thing', false, 'small', 'maker'),
  index('byMark', 'Special', true, 'mark', 'maker'),
]

export type Creation = Parameters<FederatedDatabase['createObjects']>[0][number]

const names = ['plain', 'quoted "', 'back\\slash', 'tab\t', 'größer', '漢字', '😀', '', 'nul\u0000', 'x'.repeat(70)]

/** Values of every kind, in both classes, with attributes left out, null, and in changing orders. */
export function creations(count: number, makers: readonly string[]): Creation[] {
  return Array.from({ length: count }, (_, i) => {
    const maker = i % 7 === 0 ? null : (makers[i % makers.length] as string)
    const all: [string, unknown][] = [
      ['name', i % 11 === 0 ? null : `${names[i % names.length]} ${count - i}`],
      ['latin', i % 5 === 0 ? null : `ÿ ${i}`],
      ['small', i % 6 === 0 ? null : (i * 37) % 128],
      ['wide', `${BigInt(i) * 1_234_567_890_123n}`],
      ['real', i % 4 === 0 ? -0 : i / 3],
      ['flag', i % 2 === 0],
      ['day', '2026-11-26'],
      ['maker', maker],
    ]
    const given = all.filter(([name], at) => name === 'name' || (i + at) % 9 !== 0)
    const isSpecial = i % 3 === 0
    if (isSpecial) given.push(['mark', `mark ${i}`])
    if (i % 2 === 0) given.reverse()
    return { class: isSpecial ? 'Special' : 'Thing', attributes: Object.fromEntries(given) }
  })
}

export async function makersOf(fd: FederatedDatabase): Promise<string[]> {
  for (const one of indexes) await fd.createIndex(one)
  return fd.createObjects(['one', 'two', 'three'].map((name) => ({ class: 'Maker', attributes: { name } })))
}

export const faults: readonly [what: string, type: string, fault: (given: Creation[], known: Known) => Creation[]][] = [
  ['a key twice', 'UniqueViolation', (given) => changed(given, 77, { name: 'same' }, 20, { name: 'same' })],
  ['a key that is taken', 'UniqueViolation', (given) => changed(given, 77, { name: 'taken' })],
  ['a reference to nothing', 'InvalidReference', (given, { gone }) => changed(given, 77, { maker: gone })],
  ['a reference to no container', 'InvalidReference', (given) => changed(given, 77, { maker: '9-9-9-9' })],
  ['a reference to another class', 'InvalidReference', (given, { thing }) => changed(given, 77, { maker: thing })],
  ['no OID', 'ValueNotAllowed', (given) => changed(given, 77, { maker: 'nowhere' })],
  ['another type', 'MalformedValue', (given) => changed(given, 77, { flag: 7 })],
  ['a number out of range', 'ValueNotAllowed', (given) => changed(given, 77, { small: 1_000 })],
  ['no attribute', 'UnknownAttribute', (given) => changed(given, 77, { nothing: 1 })],
  ['an attribute twice', 'ValueNotAllowed', (given) => changed(given, 77, { flag: true, 'Thing::flag': false })],
  ['no class', 'UnknownClass', (given) => given.with(77, { class: 'None', attributes: {} })],
]

export interface Known {
  readonly gone: string
  readonly thing: string
}

function changed(given: Creation[], at: number, to: object, alsoAt = at, also: object = to): Creation[] {
  const withChange = (list: Creation[], position: number, attributes: object): Creation[] => {
    const one = list[position] as Creation
    return list.with(position, { ...one, attributes: { ...one.attributes, ...attributes } })
  }
  return withChange(withChange(given, at, to), alsoAt, also)
}

/** With a class that has links as well. `arePacked`: whether each commit of more than a few changes was packed. */
export async function openWatched(): Promise<{ readonly fd: FederatedDatabase; readonly arePacked: boolean[] }> {
  const store = await openStoreOfRun()
  const arePacked: boolean[] = []
  const watched: Store = {
    ...store,
    commit(commit) {
      if (commit.changes.length > 8) arePacked.push(commit.changes instanceof PackedChanges)
      return store.commit(commit)
    },
  }
  const fd = await FederatedDatabase.open({ alias: 'test', store: watched })
  await fd.defineClasses([...classes, classOf('Part', { parts: toMany('Part', 'parts') })], 'create')
  return { fd, arePacked }
}
