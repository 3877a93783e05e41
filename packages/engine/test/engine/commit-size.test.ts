/** How much one change may write: refused whole beyond that, and possible in steps. */
import { expect, it } from 'vitest'
import { classOf, outcome, read, toMany, toOne, withFd } from './open-fd.ts'

const classes = [classOf('Part', { hub: toOne('Hub', 'parts') }), classOf('Hub', { parts: toMany('Part', 'hub') })]

it('an object with more links than one deletion may let go is deleted once some are removed', () =>
  withFd(
    classes,
    async (fd) => {
      const parts = await fd.createObjects(Array.from({ length: 80 }, () => ({ class: 'Part', attributes: {} })))
      const [hub = ''] = await fd.createObjects([{ class: 'Hub', attributes: { parts: parts.slice(0, 40) } }])
      await fd.updateObject(hub, { parts: { action: 'add', elements: parts.slice(40) } })
      expect(await outcome(fd.deleteObject(hub))).toBe('LimitExceeded')
      expect((await read(fd, hub)).parts).toEqual(parts)
      await fd.updateObject(hub, { parts: { action: 'remove', elements: parts.slice(0, 40) } })
      await fd.deleteObject(hub)
      expect((await read(fd, parts[79] ?? '')).hub).toBe('0-0-0-0')
    },
    { commitEntriesMax: 100 },
  ))

it('a change of the schema, which cannot be divided, writes what it has to', () =>
  withFd(
    classes,
    async (fd) => {
      const below = Array.from({ length: 30 }, (_, i) =>
        classOf(`Part${i}`, { own: 'integer' }, { superClass: 'Part' }),
      )
      await fd.defineClasses(below, 'create')
      await fd.alterClass('Part', { attributesToAdd: [{ attributeName: 'more', logicalType: 'integer' }] })
      const [oid = ''] = await fd.createObjects([{ class: 'Part7', attributes: { more: 1, own: 2 } }])
      expect(await read(fd, oid)).toMatchObject({ more: 1, own: 2 })
    },
    { commitEntriesMax: 20 },
  ))
