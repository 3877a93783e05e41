/** One change that removes a deleted object from a collection and adds it to another: it is refused, whatever the store. */
import { expect, it } from 'vitest'
import { classOf, outcome, toMany, toOne, withFd } from './open-fd.ts'

const fleet = [
  classOf('Hub', { cars: toMany('Car', 'hub'), tagged: toMany('Car', 'tags') }),
  classOf('Car', { hub: toOne('Hub', 'cars'), tags: toMany('Hub', 'tagged') }),
]

const removes = (oid: string) => ({ action: 'remove', elements: [oid] })
const adds = (oid: string) => ({ action: 'add', elements: [oid] })

it.each(['in a new object', 'in one that exists'])('%s, no link to it is left', (where) =>
  withFd(fleet, async (fd) => {
    const gone = await fd.createObject('Car', {})
    const hub = await fd.createObject('Hub', {})
    await fd.deleteObject(gone)
    const attributes = { cars: removes(gone), tagged: adds(gone) }
    const change = where === 'in a new object' ? fd.createObject('Hub', attributes) : fd.updateObject(hub, attributes)
    expect(await outcome(change)).toBe('InvalidReference')
    expect((await fd.verify()).linkEntries).toBe(0)
  }),
)
