/** Objects that references name are found again by the halves of their OIDs, however many there are and wherever these lead. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ObjectView } from '../../../src/query/evaluate/object-view.ts'
import { TargetObjects } from '../../../src/query/execute/target-objects.ts'
import type { Oid } from '../../../src/types/oid.ts'

// Few values, so that many lead to the same place.
const half = fc.integer({ min: -3, max: 3 }).map((n) => n * 0x1000_0000 + n)
const oids = fc.uniqueArray(fc.tuple(half, half), { maxLength: 49, selector: ([high, low]) => `${high} ${low}` })

it('finds each object that was added, and no other', () => {
  fc.assert(
    fc.property(oids, oids, (added, others) => {
      const targets = new TargetObjects()
      const known = new Map<string, ObjectView>()
      for (const [high, low] of added) {
        const view = new ObjectView(`${high} ${low}` as Oid, undefined, undefined, Buffer.alloc(0))
        expect(targets.get(high, low)).toBeUndefined()
        targets.add(high, low, view)
        known.set(view.oid, view)
      }
      expect(targets.count).toBe(added.length)
      for (const [high, low] of [...added, ...others]) {
        expect(targets.get(high, low)).toBe(known.get(`${high} ${low}`))
      }
    }),
  )
})

it('finds ten thousand neighbours', () => {
  const targets = new TargetObjects()
  const views = Array.from({ length: 10_000 }, (_, low) => {
    const view = new ObjectView(`${low}` as Oid, undefined, undefined, Buffer.alloc(0))
    targets.add(0x3_0003, low, view)
    return view
  })
  expect(views.every((view, low) => targets.get(0x3_0003, low) === view)).toBe(true)
})

it('has room for so many objects, and so many bytes of their records', () => {
  const targets = new TargetObjects({ objects: 2, bytes: 10 })
  const ofBytes = (length: number) => new ObjectView('1-1-1-1' as Oid, undefined, undefined, Buffer.alloc(length))
  expect([targets.hasRoomFor(ofBytes(11)), targets.hasRoomFor(ofBytes(10))]).toEqual([false, true])
  targets.add(1, 1, ofBytes(4))
  expect([targets.hasRoomFor(ofBytes(7)), targets.hasRoomFor(ofBytes(6))]).toEqual([false, true])
  targets.add(1, 2, ofBytes(0))
  expect(targets.hasRoomFor(ofBytes(0))).toBe(false)
})
