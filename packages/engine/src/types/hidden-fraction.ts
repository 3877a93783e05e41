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

/** Of a number with a point or an exponent: true where its nearest double is whole, and it is not. */
export function isHiddenFraction(number: string): boolean {
  return Number.isInteger(Number(number)) && hasFraction(number)
}

/** Whether a digit other than 0 stands behind the point, were the number written out. */
function hasFraction(number: string): boolean {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = `${whole}${fraction}`
  let last = digits.length - 1
  while (digits[last] === '0') last--
  return last >= 0 && last >= whole.length + Number(exponent)
}
