/** Short texts that were met before are not decoded again, and are the same as those that are. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shortText } from '../../src/bytes/short-texts.ts'

describe('a short text', () => {
  it('is that of its bytes, whatever was read before', () => {
    const few = fc.constantFrom('', 'a', 'AA', 'AB', 'BA', 'carrier', '0123456789abcdef')
    const any = fc.string({ unit: 'binary-ascii', maxLength: 16 })
    fc.assert(
      fc.property(fc.array(fc.oneof(few, any), { minLength: 1, maxLength: 200 }), fc.nat(9), (texts, before) => {
        for (const text of texts) {
          const bytes = Buffer.concat([Buffer.alloc(before, 0x41), Buffer.from(text, 'latin1'), Buffer.of(0x41)])
          const read = shortText(bytes, before, before + text.length)
          expect(read).toBe(text.includes('\0') ? undefined : text)
        }
      }),
    )
  })

  it('is left to others where it is longer, not ASCII, or has a NUL', () => {
    for (const text of ['0123456789abcdefg', 'Zürich', 'a\0b']) {
      const bytes = Buffer.from(text)
      for (let times = 0; times < 2; times++) expect(shortText(bytes, 0, bytes.length), text).toBeUndefined()
    }
  })
})
