/** What is told of a line that a load with `atomic=true` fails with is what the line alone would be told, however many lines there are. */
import { expect, it, vi } from 'vitest'
import type { BulkCommand } from '../../src/bulk/bulk-command.ts'
import type { LineOutcome } from '../../src/bulk/bulk-load.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { UnitOfWork } from '../../src/write/unit-of-work.ts'
import { withFd } from '../engine/open-fd.ts'
import { type Creation, classes, creations, faults, makersOf } from '../engine/things.ts'

async function loaded(fd: FederatedDatabase, given: readonly Creation[]): Promise<LineOutcome[]> {
  const load = fd.beginLoad({ onError: 'stop', isAtomic: true })
  try {
    for (const [i, { class: name, attributes = {} }] of given.entries()) {
      const command: BulkCommand = {
        kind: 'create',
        // Every other line of the body is blank.
        line: 2 * i + 1,
        at: [],
        class: name,
        attributes,
        id: undefined,
        refersTo: undefined,
      }
      await load.add(command, 100)
    }
    return [...(await load.flush())]
  } finally {
    await load.end()
  }
}

it.each(faults)('%s: the line is named, and nothing is done', async (_what, type, fault) => {
  await withFd(classes, async (fd) => {
    const makers = await makersOf(fd)
    const gone = await fd.createObject('Maker', {})
    await fd.deleteObject(gone)
    const thing = await fd.createObject('Thing', { name: 'taken' })
    const given = fault(creations(600, makers), { gone, thing })
    await expect(loaded(fd, given)).rejects.toMatchObject({
      type,
      message: expect.stringMatching(/^Line 155: /),
      extensions: { line: 155 },
    })
    expect((await fd.verify()).objects).toBe(4)
    const whole = await loaded(fd, creations(600, makers))
    expect(whole.map(({ line }) => line)).toEqual(creations(600, makers).map((_, i) => 2 * i + 1))
    const { objects, problems } = await fd.verify()
    expect({ objects, problems }).toEqual({ objects: 604, problems: [] })
  })
})

it('of several keys that are taken or there twice, the first line that cannot have its key is named', async () => {
  await withFd(classes, async (fd) => {
    await makersOf(fd)
    await fd.createObject('Thing', { name: '80' })
    const named = (count: number): Creation[] =>
      Array.from({ length: count }, (_, i) => ({ class: 'Thing', attributes: { name: `${count - i}` } }))
    const twice = [...named(70), ...named(65), ...named(3)]
    await expect(loaded(fd, twice)).rejects.toMatchObject({ type: 'UniqueViolation', extensions: { line: 141 } })
    await expect(loaded(fd, named(90))).rejects.toMatchObject({ type: 'UniqueViolation', extensions: { line: 21 } })
  })
})

it('references to very many objects are required a few at a time, with turns for others in between', async () => {
  await withFd(classes, async (fd) => {
    const count = 30_000
    const makers = await fd.createObjects(Array.from({ length: count }, () => ({ class: 'Maker', attributes: {} })))
    let [inTurn, most, all] = [0, 0, 0]
    const { requireObject: original } = UnitOfWork.prototype
    const spy = vi.spyOn(UnitOfWork.prototype, 'requireObject').mockImplementation(function (this: UnitOfWork, oid) {
      if (inTurn++ === 0) setImmediate(() => (inTurn = 0))
      most = Math.max(most, inTurn)
      all++
      original.call(this, oid)
    })
    try {
      await loaded(
        fd,
        makers.map((maker) => ({ class: 'Thing', attributes: { maker } })),
      )
    } finally {
      spy.mockRestore()
    }
    expect(all).toBe(count)
    expect(most).toBeLessThan(count)
  })
})
