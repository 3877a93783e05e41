/** The fingerprint of a page tells it from every other that differs in a few bits. */
import { describe, expect, it } from 'vitest'
import { fingerprint, VerifiedPages } from '../../src/store/lmdb/verified-pages.ts'

const words = 1_024

function printOf(page: Int32Array): { one: number; other: number } {
  const print = { one: 0, other: 0 }
  fingerprint(page, words, print)
  return print
}

describe('a page that was verified', () => {
  it('is known by its bytes, and by its number', () => {
    const page = Int32Array.from({ length: words }, (_, at) => Math.imul(at, 0x1234_5677))
    const pages = new VerifiedPages()
    expect(pages.has(7, printOf(page))).toBe(false)
    pages.add(7, printOf(page))
    expect(pages.has(7, printOf(page))).toBe(true)
    expect(pages.has(8, printOf(page))).toBe(false)
  })

  it('is not known after a bit has flipped, or the same bit of two words', () => {
    const page = Int32Array.from({ length: words }, (_, at) => at)
    const pages = new VerifiedPages()
    pages.add(7, printOf(page))
    let unseen = 0
    for (let at = 0; at < words; at++) {
      for (let bit = 0; bit < 32; bit++) {
        page[at] = (page[at] as number) ^ (1 << bit)
        if (pages.has(7, printOf(page))) unseen++
        const next = (at + 4) % words
        page[next] = (page[next] as number) ^ (1 << bit)
        if (pages.has(7, printOf(page))) unseen++
        page[at] = (page[at] as number) ^ (1 << bit)
        page[next] = (page[next] as number) ^ (1 << bit)
      }
    }
    expect(unseen).toBe(0)
    expect(pages.has(7, printOf(page))).toBe(true)
  })
})
