/** OIDs as text and as bytes. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonWriter } from '../../src/bytes/json-writer.ts'
import { compareOids, noOid, type Oid, oidBytes, oidFromBytes, parseOid, writeOidJson } from '../../src/types/oid.ts'
import { runs } from '../bytes/property-runs.ts'

const part = fc.integer({ min: 0, max: 65_535 })
const oid = fc
  .tuple(part, fc.integer({ min: 0, max: 32_767 }), part, part)
  .map((parts) => ({ parts, text: parts.join('-') as Oid }))

describe('OIDs', () => {
  it.each([['0-0-0-0'], ['3-3-1-1'], ['65535-32767-65535-65535'], ['10-100-1000-10000']])('%s is one', (text) => {
    expect(parseOid(text)).toBe(text)
  })

  it.each([
    [''],
    ['3-3-1'],
    ['3-3-1-1-1'],
    ['3-3-1-'],
    ['-3-3-1-1'],
    ['3--3-1'],
    ['03-3-1-1'],
    ['3-3-1-00'],
    ['65536-3-1-1'],
    ['3-32768-1-1'],
    ['3-3-65536-1'],
    ['3-3-1-65536'],
    ['3-3-1-99999999999999999999'],
    ['3-3-1-1 '],
    [' 3-3-1-1'],
    ['3-3-1-1\n'],
    ['3-3-1-x'],
    ['#3-3-1-1'],
    ['3.3.1.1'],
    ['٣-3-1-1'],
    ['3-3-1-+1'],
  ])('%j is none', (text) => {
    expect(parseOid(text)).toBeUndefined()
  })

  it('take eight bytes, big-endian, and come back from them', () => {
    fc.assert(
      fc.property(oid, ({ parts, text }) => {
        const expected = Buffer.alloc(8)
        for (const [at, value] of parts.entries()) expected.writeUInt16BE(value, at * 2)
        expect(parseOid(text)).toBe(text)
        expect(oidBytes(text)).toEqual(expected)
        const amid = Buffer.concat([Buffer.of(9, 9, 9), expected, Buffer.of(9)])
        expect(oidFromBytes(amid, 3)).toBe(text)
        const json = new JsonWriter()
        writeOidJson(json, amid, 3)
        expect(json.to.copy().toString()).toBe(`"${text}"`)
      }),
      runs(1_000),
    )
  })

  it('are ordered by number, part after part', () => {
    const near = fc
      .tuple(fc.nat(2), fc.nat(11), fc.nat(101), fc.nat(12))
      .map((parts) => ({ parts, text: parts.join('-') as Oid }))
    fc.assert(
      fc.property(fc.oneof(oid, near), near, (one, other) => {
        const at = one.parts.findIndex((value, index) => value !== other.parts[index])
        const expected = at < 0 ? 0 : Math.sign((one.parts[at] as number) - (other.parts[at] as number))
        expect(Math.sign(compareOids(one.text, other.text))).toBe(expected)
        expect(Buffer.compare(oidBytes(one.text), oidBytes(other.text))).toBe(expected)
      }),
      runs(1_000),
    )
  })

  it('nothing is all zeros', () => {
    expect(oidBytes(noOid)).toEqual(Buffer.alloc(8))
  })
})
