/** XXH64 of bytes that come in parts: the checksum of zstd. https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md */

const prime1 = 0x9e3779b185ebca87n
const prime2 = 0xc2b2ae3d27d4eb4fn
const prime3 = 0x165667b19e3779f9n
const prime4 = 0x85ebca77c2b2ae63n
const prime5 = 0x27d4eb2f165667c5n

const stripeBytes = 32

export class XxHash64 {
  /** Low and high half of each of the four: bigints would take twenty times as long. */
  private readonly accumulators = Int32Array.from(
    [prime1 + prime2, prime2, 0n, -prime1].flatMap((accumulator) => [
      Number(accumulator & 0xffffffffn),
      Number((accumulator >> 32n) & 0xffffffffn),
    ]),
  )
  private readonly rest = Buffer.alloc(stripeBytes)
  private restBytes = 0
  private total = 0

  update(bytes: Buffer): void {
    this.total += bytes.length
    let from = 0
    if (this.restBytes > 0) {
      from = bytes.copy(this.rest, this.restBytes)
      this.restBytes += from
      if (this.restBytes < stripeBytes) return
      this.addStripe(this.rest, 0)
      this.restBytes = 0
    }
    for (; from + stripeBytes <= bytes.length; from += stripeBytes) this.addStripe(bytes, from)
    this.restBytes = bytes.copy(this.rest, 0, from)
  }

  digest(): bigint {
    let hash = this.total < stripeBytes ? prime5 : this.merged()
    hash = u64(hash + BigInt(this.total))
    const rest = this.rest.subarray(0, this.restBytes)
    let at = 0
    for (; at + 8 <= rest.length; at += 8)
      hash = u64(rotated(hash ^ round(0n, rest.readBigUInt64LE(at)), 27n) * prime1 + prime4)
    for (; at + 4 <= rest.length; at += 4)
      hash = u64(rotated(hash ^ u64(BigInt(rest.readUInt32LE(at)) * prime1), 23n) * prime2 + prime3)
    for (const byte of rest.subarray(at)) hash = u64(rotated(hash ^ u64(BigInt(byte) * prime5), 11n) * prime1)
    hash = u64((hash ^ (hash >> 33n)) * prime2)
    hash = u64((hash ^ (hash >> 29n)) * prime3)
    return hash ^ (hash >> 32n)
  }

  private merged(): bigint {
    const accumulators = [0, 2, 4, 6].map((at) => {
      const [low = 0, high = 0] = this.accumulators.subarray(at, at + 2)
      return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
    })
    const turns = [1n, 7n, 12n, 18n]
    const sum = accumulators.reduce((before, accumulator, at) => before + rotated(accumulator, turns[at] ?? 0n), 0n)
    return accumulators.reduce((hash, accumulator) => u64((hash ^ round(0n, accumulator)) * prime1 + prime4), u64(sum))
  }

  private addStripe(bytes: Buffer, from: number): void {
    const { accumulators } = this
    for (let accumulator = 0; accumulator < 8; accumulator += 2) {
      const at = from + 4 * accumulator
      multiply(bytes.readInt32LE(at), bytes.readInt32LE(at + 4), prime2Low, prime2High)
      const low = (accumulators[accumulator] as number) >>> 0
      const sum = low + (productLow >>> 0)
      const high = ((accumulators[accumulator + 1] as number) + productHigh + (sum > 0xffffffff ? 1 : 0)) | 0
      // By 31 bits to the left.
      multiply((sum << 31) | (high >>> 1), (high << 31) | ((sum | 0) >>> 1), prime1Low, prime1High)
      accumulators[accumulator] = productLow
      accumulators[accumulator + 1] = productHigh
    }
  }
}

const [prime1Low, prime1High] = [0x85ebca87 | 0, 0x9e3779b1 | 0]
const [prime2Low, prime2High] = [0x27d4eb4f, 0xc2b2ae3d | 0]

/** What `multiply` leaves: an object for each product would take as long as all else. */
let productLow = 0
let productHigh = 0

/** Modulo 2^64, by halves of 32 bits. */
function multiply(low: number, high: number, otherLow: number, otherHigh: number): void {
  const [a, b, c, d] = [low & 0xffff, low >>> 16, otherLow & 0xffff, otherLow >>> 16]
  const least = a * c
  const across = b * c
  const middle = a * d + (least >>> 16) + (across & 0xffff)
  productLow = (middle << 16) | (least & 0xffff)
  const carried = b * d + (across >>> 16) + Math.floor(middle / 0x10000)
  productHigh = (carried + Math.imul(high, otherLow) + Math.imul(low, otherHigh)) | 0
}

function round(accumulated: bigint, input: bigint): bigint {
  return u64(rotated(u64(accumulated + input * prime2), 31n) * prime1)
}

/** To the left. */
function rotated(value: bigint, bits: bigint): bigint {
  return u64(value << bits) | (u64(value) >> (64n - bits))
}

function u64(value: bigint): bigint {
  return BigInt.asUintN(64, value)
}
