/** Remembers verified leaf pages by a fingerprint of their bytes, so that an unchanged page is not verified again. */

/** A power of two; each slot takes eight bytes. With pages of 4 KiB, they cover 4 GiB. */
const slotsMax = 2 ** 20

/** Two words, which depend on all bytes, unlike the checksums of entries. */
export interface Fingerprint {
  one: number
  other: number
}

export class VerifiedPages {
  /** By page number modulo the number of slots; two zeros if empty. Untouched memory is never allocated. */
  private readonly fingerprints = new Int32Array(2 * slotsMax)

  has(page: number, { one, other }: Fingerprint): boolean {
    const { fingerprints } = this
    const at = slotOf(page)
    return fingerprints[at] === one && fingerprints[at + 1] === other && (one | other) !== 0
  }

  add(page: number, { one, other }: Fingerprint): void {
    const at = slotOf(page)
    this.fingerprints[at] = one
    this.fingerprints[at + 1] = other
  }
}

function slotOf(page: number): number {
  return 2 * (page % slotsMax)
}

/**
 * Each word is mixed into one of four sums by invertible steps: pages that differ in one word never have the same fingerprint, other pages only by
 * chance. The words include the page number. Four sums, for parallel execution.
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
