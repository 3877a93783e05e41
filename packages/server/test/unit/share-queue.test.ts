/** How long work waits in the queue of its share. */
import { expect, it } from 'vitest'
import { ShareQueue } from '../../src/shares/share-queue.ts'

it('whoever is to go on waiting is asked about again, and is refused in the end', async () => {
  const asked: number[] = []
  const refused = new Error('too late')
  const unexpected = (): Error => new Error('unexpected')
  const queue = new ShareQueue(
    { waitingMax: 1, perSharerMax: 1 },
    {
      full: unexpected,
      shareFull: unexpected,
      tooLate: (sharer, lateMs) => {
        asked.push(lateMs)
        return sharer === 'a' && lateMs < 60 ? undefined : refused
      },
    },
  )
  const wait = queue.wait({ sharer: 'a', waitsUntilMs: performance.now() + 10 })
  await expect(wait).rejects.toBe(refused)
  expect(asked.at(-1)).toBeGreaterThanOrEqual(60)
  expect(queue.isEmpty).toBe(true)
})
