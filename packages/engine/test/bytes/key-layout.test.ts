/** The table of key parts: no two share a key, and sources take the numbers from it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { catalogPart, isCopied, keyLayout, storePart } from '../../src/bytes/key-layout.ts'
import { keySpace } from '../../src/bytes/key-space.ts'

const sources = fileURLToPath(new URL('../../src', import.meta.url))

describe('the table of key parts', () => {
  it('gives each part bytes of its own: no prefix begins with another', () => {
    const prefixes = keyLayout.map(({ prefix }) => Buffer.from(prefix).toString('hex'))
    for (const one of prefixes) expect(prefixes.filter((other) => other.startsWith(one))).toEqual([one])
  })

  it('is in key order and has every number there is', () => {
    const prefixes = keyLayout.map(({ prefix }) => Buffer.from(prefix))
    expect([...prefixes].sort(Buffer.compare)).toEqual(prefixes)
    const parts = (space: number, numbers: object): number[][] => Object.values(numbers).map((part) => [space, part])
    const all = [
      ...parts(keySpace.store, storePart),
      ...parts(keySpace.catalog, catalogPart),
      ...[keySpace.container, keySpace.object, keySpace.link, keySpace.index, keySpace.receipt].map((space) => [space]),
      [keySpace.log, 0],
      [keySpace.log, 1],
      [keySpace.log, 2],
      [keySpace.log, 3],
      [keySpace.sequence],
    ]
    expect(keyLayout.map(({ prefix }) => [...prefix])).toEqual(all)
  })

  it('is what the page on the storage format tells', () => {
    const page = readFileSync(new URL('../../../../docs/storage-format.md', import.meta.url), 'utf8')
    const rows = page.split('\n').filter((line) => /^\| `0\d.*\| (yes|no) \|$/.test(line))
    const told = rows.map((row) => {
      const prefix = (row.split('`')[1] as string).split(' ').map((digits) => Number.parseInt(digits, 16))
      return { prefix, isCopied: row.endsWith('| yes |') }
    })
    // Some parts have several rows there: by what follows the prefix.
    for (const { prefix, isCopied: copied } of keyLayout) {
      const own = told.filter((row) => prefix.every((byte, i) => row.prefix[i] === byte))
      expect(own.length, Buffer.from(prefix).toString('hex')).toBeGreaterThan(0)
      expect(new Set(own.map((row) => row.isCopied))).toEqual(new Set([copied]))
    }
    for (const { prefix } of told) {
      expect(keyLayout.some((part) => part.prefix.every((byte, i) => prefix[i] === byte))).toBe(true)
    }
  })

  it('is the only place that has numbers of parts', () => {
    const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
    const guilty = files.filter((file) => {
      return /keySpace\.(store|catalog), *(0x|\d)/.test(readFileSync(join(sources, file), 'utf8'))
    })
    expect(guilty).toEqual(['bytes/key-space.ts'])
  })

  it.each([
    [[0x00, 0x00], true],
    [[0x00, 0x01], true],
    [[0x00, 0x02], false],
    [[0x00, 0x03, 0, 0, 7], false],
    [[0x00, 0x04], false],
    [[0x00, 0x7f], true],
    [[0x01, 0x02, 0, 0, 0, 1], true],
    [[0x02], true],
    [[0x03, 0x03, 0, 0], true],
  ])('tells whether a copy takes %j along: %j', (key, expected) => {
    expect(isCopied(Uint8Array.from(key))).toBe(expected)
  })
})
