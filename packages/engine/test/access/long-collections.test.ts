/** What is read, and what is the same, where a restricted caller changes collections (contract 9.4). */
import { describe, expect, it } from 'vitest'
import { areSame, holdsKeyOf } from '../../src/access/link-elements.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { AttributeFormat } from '../../src/records/class-format.ts'
import { objectKey } from '../../src/records/object-key.ts'
import type { Bytes, Snapshot, Store } from '../../src/store/store.ts'
import { type Oid, parseOid } from '../../src/types/oid.ts'
import { rowTexts } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { mine, on, user } from './access-notes.ts'

const setUp = `UPDATE SCHEMA {
  CREATE CLASS D.Note {owner: String}
  CREATE CLASS D.Step EMBEDDABLE {note: Reference{Referenced: D.Note}, secret: String}
  CREATE CLASS D.Box {notes: List{Element: Reference{Referenced: D.Note}}, steps: List{Element: Object{Class: D.Step}}}
}`

/** Tells `read` of each key by which something is asked for. */
function toldOf(store: Store, read: (key: Bytes) => void): Store {
  const told = (snapshot: Snapshot): Snapshot => {
    return new Proxy(snapshot, {
      get(target, name) {
        const part: unknown = Reflect.get(target, name)
        if (typeof part !== 'function') return part
        return (...given: unknown[]): unknown => {
          for (const one of given.flat()) if (one instanceof Uint8Array) read(one as Bytes)
          return Reflect.apply(part, target, given)
        }
      },
    })
  }
  return {
    ...store,
    snapshot(options) {
      const snapshot = store.snapshot(options)
      return snapshot instanceof Promise ? snapshot.then(told) : told(snapshot)
    },
  }
}

describe('an element added to the end of a list', () => {
  it('is asked for, and none of those that the list holds', async () => {
    const keys = new Set<string>()
    const store = toldOf(await openStoreOfRun(), (key) => keys.add(Buffer.from(key).toString('hex')))
    const fd = await FederatedDatabase.open({ alias: 'lists', store })
    await rowTexts(await fd.query({ text: setUp }))
    const create = (owner: string) => fd.createObject('D.Note', { owner })
    const [own, hidden, added] = [await create('bob'), await create('eve'), await create('bob')]
    const held = { notes: [own, hidden], steps: [{ note: hidden, secret: 's' }, { note: own }] }
    const box = await fd.createObject('D.Box', held)
    const database = fd.as({
      user,
      grants: [on('D.Note', { rules: { read: mine } }), on('D.Box'), on('D.Step', { hidden: ['secret'] })],
    })
    const isAsked = (oid: string): boolean => {
      return keys.has(Buffer.from(objectKey(parseOid(oid) as Oid)).toString('hex'))
    }
    for (const [name, element] of [
      ['notes', added],
      ['steps', { note: added }],
    ] as const) {
      keys.clear()
      await database.updateObject(box, { [name]: { action: 'add', elements: [element] } })
      expect([added, own, hidden].map(isAsked), name).toEqual([true, false, false])
    }
    expect(JSON.parse((await fd.readObject(box)).toString())).toMatchObject({
      notes: [own, hidden, added],
      steps: [
        { note: hidden, secret: 's' },
        { note: own, secret: '' },
        { note: added, secret: '' },
      ],
    })
    await fd.close()
  })
})

describe('collections are the same', () => {
  const format = (linkStorage: 'list' | 'set' | 'map') => ({ linkStorage }) as AttributeFormat
  const oids = (...names: string[]) => names as unknown as Oid[]
  const long = Array.from({ length: 2_500 }, (_, i) => `${i}`)

  it('as lists in the same order, as sets and maps in any', () => {
    const same = (kind: 'list' | 'set' | 'map', some: readonly Oid[], others: readonly Oid[]): boolean =>
      areSame(format(kind), some, others)
    const turned = oids(...long.toReversed())
    expect(same('list', oids(...long), oids(...long))).toBe(true)
    expect(same('list', oids(...long), turned)).toBe(false)
    expect(same('set', oids(...long), turned)).toBe(true)
    expect(same('set', oids('a', 'b'), oids('a', 'c'))).toBe(false)
    expect(same('set', oids('a'), oids('a', 'c'))).toBe(false)
    expect(same('set', [], [])).toBe(true)
  })

  it('as maps with the same value for each key', () => {
    const pairs = (all: readonly string[]) => all.map((key) => ({ key, value: `v${key}` }))
    const same = (others: readonly { key: string; value: string }[]): boolean =>
      areSame(format('map'), pairs(long), others)
    expect(same(pairs(long))).toBe(true)
    expect(same(pairs(long.toReversed()))).toBe(true)
    expect(same(pairs(long).with(2_400, { key: '2400', value: 'v0' }))).toBe(false)
    expect(same(pairs(long).with(2_400, { key: 'x', value: 'v2400' }))).toBe(false)
    expect(holdsKeyOf(pairs(long), pairs(['x', '2400']))).toBe(true)
    expect(holdsKeyOf(pairs(long), pairs(['x']))).toBe(false)
    expect(holdsKeyOf(oids(...long), oids('2400'))).toBe(false)
  })
})
