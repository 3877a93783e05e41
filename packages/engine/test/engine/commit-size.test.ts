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
