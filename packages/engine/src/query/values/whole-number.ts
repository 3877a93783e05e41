/** Arithmetic of whole numbers from -2^63 to 2^64-1: JavaScript numbers while they are exact, bigints beyond. */

export type Integer = number | bigint

const min = -(2n ** 63n)
const max = 2n ** 64n - 1n

/** A number if that is exact. Undefined outside the range of 64-bit integers. */
export function toInteger(value: bigint): Integer | undefined {
  if (value < min || value > max) return undefined
  const isSafe = value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER
  return isSafe ? Number(value) : value
}

type Operation = 'plus' | 'minus' | 'multiply'

/** Undefined on overflow. */
export function calculateInteger(operation: Operation, one: Integer, other: Integer): Integer | undefined {
  if (typeof one === 'number' && typeof other === 'number') {
    const result = operation === 'plus' ? one + other : operation === 'minus' ? one - other : one * other
    if (Number.isSafeInteger(result)) return result === 0 ? 0 : result
  }
  const [a, b] = [BigInt(one), BigInt(other)]
  return toInteger(operation === 'plus' ? a + b : operation === 'minus' ? a - b : a * b)
}

/** Truncated towards zero; null for a division by zero, undefined on overflow. */
export function divideIntegers(one: Integer, other: Integer): Integer | null | undefined {
  if (Number(other) === 0) return null
  if (typeof one === 'number' && typeof other === 'number') return Math.trunc(one / other) + 0
  return toInteger(BigInt(one) / BigInt(other))
}

/** The result has the sign of the dividend; null for a division by zero. */
export function moduloIntegers(one: Integer, other: Integer): Integer | null {
  if (Number(other) === 0) return null
  if (typeof one === 'number' && typeof other === 'number') return (one % other) + 0
  return toInteger(BigInt(one) % BigInt(other)) ?? null
}

export type BitOperation = 'bitAnd' | 'bitOr' | 'bitXor' | 'shiftLeft' | 'shiftRight'

const shiftMax = 64

/** In two's complement of unlimited width; undefined on overflow, and for a shift by less than 0 or more than 64. */
export function calculateBits(operation: BitOperation, one: Integer, other: Integer): Integer | undefined {
  const [a, b] = [BigInt(one), BigInt(other)]
  switch (operation) {
    case 'bitAnd':
      return toInteger(a & b)
    case 'bitOr':
      return toInteger(a | b)
    case 'bitXor':
      return toInteger(a ^ b)
    case 'shiftLeft':
      return b < 0n || b > shiftMax ? undefined : toInteger(a << b)
    case 'shiftRight':
      return b < 0n || b > shiftMax ? undefined : toInteger(a >> b)
  }
}
