/**
 * Numbers of a JSON text whose fraction is lost in a double, which then looks whole: 1e-400 is 0 there. They come as symbols, whose
 * description is the number as it was written, so that nothing takes one for a value of another kind.
 */

export function withHiddenFraction(digits: string): symbol {
  return Symbol(digits)
}

/** The nearest double. */
export function nearestDouble(number: symbol): number {
  return Number(number.description)
}
