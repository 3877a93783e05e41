/** Remembers the leaves whose entries were verified, by a fingerprint of all their bytes: one that has the same bytes need not be verified again. */

/** A power of two, of which each takes eight bytes: with pages of 4 KiB, they are those of 4 GiB. */
const placesMax = 2 ** 20

/** Two words, to tell more of the bytes than the checksums of the entries do. */
export interface Fingerprint {
  one: number
  other: number
}

export class VerifiedPages {
  /** Of the page at the place of its number. Two zeros where there is none. Memory that is never written to is not taken. */
  private readonly fingerprints = new Int32Array(2 * placesMax)

  has(page: number, { one, other }: Fingerprint): boolean {
    const { fingerprints } = this
    const at = placeOf(page)
    return fingerprints[at] === one && fingerprints[at + 1] === other && (one | other) !== 0
  }

  add(page: number, { one, other }: Fingerprint): void {
    const at = placeOf(page)
    this.fingerprints[at] = one
    this.fingerprints[at + 1] = other
  }
}

function placeOf(page: number): number {
  return 2 * (page % placesMax)
}

/**
 * Each word goes into one of four sums by steps that can be undone, so that pages that differ in one word never have the same fingerprint, and others
 * only by chance. The number of the page is among its words. Four, so that the steps of one need not wait for those of another.
 */
export function fingerprint(words: Int32Array, count: number, to: Fingerprint): void {
  let a = 1
  let b = 2
  let c = 3
  let d = 4
  for (let at = 0; at < count; at += 4) {
    a ^= words[at] as number
    a = Math.imul((a << 15) | (a >>> 17), 0x9e37_79b1)
    b ^= words[at + 1] as number
    b = Math.imul((b << 15) | (b >>> 17), 0x85eb_ca77)
    c ^= words[at + 2] as number
    c = Math.imul((c << 15) | (c >>> 17), 0xc2b2_ae3d)
    d ^= words[at + 3] as number
    d = Math.imul((d << 15) | (d >>> 17), 0x27d4_eb2f)
  }
  to.one = a ^ ((b << 16) | (b >>> 16))
  to.other = c ^ ((d << 16) | (d >>> 16))
}
