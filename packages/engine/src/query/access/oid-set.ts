/** A set of OIDs stored as two integers each, in insertion order, which avoids creating strings. */

const placesMin = 1_024
const halvesMin = 1_024

export class OidSet {
  count = 0
  /** Two per OID. */
  private halves = new Int32Array(halvesMin)
  /** Open addressing: the ordinal of the OID, starting at 1. */
  private places = new Int32Array(placesMin)

  static readonly bytesOfOne = 32

  highAt(number: number): number {
    return this.halves[2 * number] as number
  }

  lowAt(number: number): number {
    return this.halves[2 * number + 1] as number
  }

  has(high: number, low: number): boolean {
    return this.places[this.placeOf(high, low)] !== 0
  }

  /** Returns false if the OID is already present. */
  add(high: number, low: number): boolean {
    if (this.count * 2 >= this.places.length) this.grow()
    const place = this.placeOf(high, low)
    if (this.places[place] !== 0) return false
    const at = 2 * this.count
    if (at === this.halves.length) {
      const halves = new Int32Array(2 * at)
      halves.set(this.halves)
      this.halves = halves
    }
    this.halves[at] = high
    this.halves[at + 1] = low
    this.places[place] = ++this.count
    return true
  }

  private placeOf(high: number, low: number): number {
    const { places, halves } = this
    const mask = places.length - 1
    let place = (Math.imul(low, 0x9e37_79b1) ^ Math.imul(high, 0x85eb_ca6b)) & mask
    for (;;) {
      const number = places[place] as number
      if (number === 0 || (halves[2 * number - 2] === high && halves[2 * number - 1] === low)) return place
      place = (place + 1) & mask
    }
  }

  private grow(): void {
    this.places = new Int32Array(this.places.length * 2)
    for (let number = 1; number <= this.count; number++) {
      this.places[this.placeOf(this.highAt(number - 1), this.lowAt(number - 1))] = number
    }
  }
}
