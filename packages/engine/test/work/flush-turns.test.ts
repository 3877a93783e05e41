/** Turns that others get while the commit of a statement is put together. */
import { expect, it } from 'vitest'
import { classOf, index, withFd } from '../engine/open-fd.ts'
import { turnsDuring } from './count-work.ts'

it('others have their turn while records and index entries of many objects are made', () =>
  withFd([classOf('Part', { code: 'integer', name: 'string' })], async (fd) => {
    await fd.createIndex(index('byCode', 'Part', true, 'code'))
    await fd.createIndex(index('byName', 'Part', false, 'name'))
    const requests = Array.from({ length: 2_000 }, (_, i) => ({ class: 'Part', attributes: { code: i, name: `${i}` } }))
    await fd.createObjects(requests)
    // Each look at the clock is a millisecond later: one in a hundred objects, for each of three passes.
    const turns = await turnsDuring(async () => {
      const { chunks } = await fd.query({
        text: "UPDATE Part SET code TO code + 2000 SET name TO 'x' RETURN COUNT() AS n",
      })
      for await (const _ of chunks);
    })
    expect(turns).toBeGreaterThan(20)
  }))
