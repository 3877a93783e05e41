/** Entity tags of representations of some megabytes are made with turns for others in between. */
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { entityTagOf } from '../../src/objects/condition.ts'

it('is the same however it is made, and that of much is made in turns', async () => {
  for (const bytes of [10, 1_048_576, 1_048_577, 40 * 2 ** 20]) {
    const representation = Buffer.alloc(bytes, 'abc')
    const tag = entityTagOf(representation)
    let isMade = false
    let turns = 0
    const made = (async (): Promise<string> => {
      const known = await tag
      isMade = true
      return known
    })()
    while (!isMade) {
      turns++
      await nextTurn()
    }
    expect(await made).toBe(`"${createHash('sha1').update(representation).digest('base64url')}"`)
    expect(tag instanceof Promise).toBe(bytes > 1_048_576)
    if (bytes > 30 * 2 ** 20) expect(turns).toBeGreaterThan(3)
  }
})
