/** Lines of a load that is one commit are what they were when they are carried out, wherever they are held until then. */
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { MemoryPool } from '../../src/budget/memory-pool.ts'
import type { BulkCommand, BulkCreate } from '../../src/bulk/bulk-command.ts'
import { BufferedLines } from '../../src/bulk/held-lines.ts'
import { defaultEngineLimits } from '../../src/limits.ts'
import { TemporarySpace } from '../../src/spill/temporary-space.ts'

const creation = (line: number, attributes: BulkCreate['attributes']): BulkCreate => {
  return { kind: 'create', line, at: ['body'], class: 'A', attributes, id: undefined, refersTo: undefined }
}

/** Short ones, long ones, and values that are not what they were when they were written as JSON and read again. */
function lines(): BulkCreate[] {
  const exact = [-0, 12345678901234567890n, Number.POSITIVE_INFINITY, [1, -0], { deep: [1n] }]
  return Array.from({ length: 1_500 }, (_, i) => {
    const value = i % 100 === 7 ? exact[((i / 100) | 0) % exact.length] : `${i} ü \ud800`
    const text = i % 10 === 0 ? 'x'.repeat(50_000) : i === 501 ? 'y'.repeat(100_000) : ''
    return creation(2 * i + 1, { value, text, __proto__: null })
  })
}

const bytesOf = ({ attributes }: BulkCreate): number => (attributes.text as string).length + 50

async function held(space: TemporarySpace, disk: number): Promise<BufferedLines> {
  const limits = { ...defaultEngineLimits, statementDiskBytesMax: disk }
  const all = new BufferedLines(limits, new MemoryPool(), space)
  for (const line of lines()) await all.add(line, bytesOf(line))
  await all.finish()
  return all
}

async function gathered(all: BufferedLines): Promise<BulkCommand[]> {
  const seen: BulkCommand[] = []
  for await (const part of all.creations()) seen.push(...part)
  return seen
}

it.each([
  ['on disk beyond some of them', 2 ** 30],
  ['in memory alone', 0],
])('%s', async (_what, disk) => {
  const space = new TemporarySpace(tmpdir())
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith('ashlar-spill'))
  const all = await held(space, disk)
  expect(space.bytes > 0).toBe(disk > 0)
  expect(all.count).toBe(1_500)
  expect(all.numberAt(1_499)).toBe(2_999)
  const expected = lines()
  expect(await gathered(all)).toEqual(expected)
  expect(await gathered(all)).toEqual(expected)
  expect(await all.all()).toEqual(expected)
  const positions = [0, 7, 501, 1_400, 1_499]
  expect(await all.some(positions)).toEqual(positions.map((position) => expected[position]))
  await all.close()
  expect(space.bytes).toBe(0)
  const after = readdirSync(tmpdir()).filter((name) => name.startsWith(`ashlar-spill-${process.pid}-`))
  expect(after.filter((name) => !before.includes(name))).toEqual([])
})

it('more lines than the limit are refused, by its name', async () => {
  const limits = { ...defaultEngineLimits, atomicLoadObjectsMax: 2 }
  const all = new BufferedLines(limits, new MemoryPool(), new TemporarySpace(tmpdir()))
  for (const line of [1, 2]) await all.add(creation(line, {}), 10)
  expect(() => all.add(creation(3, {}), 10)).toThrow(/2 lines \(atomicLoadObjectsMax\)/)
})
