/** The n-th least of many numbers, in time linear in how many there are (quickselect); others have their turns. */

const numbersAtOnce = 65_536
/** Of about 10 ns. */
const stepsOfNumbers = numbersAtOnce / 2

/** Undefined where one of them is not a number. */
export function* copied(values: readonly number[]): Generator<number, Float64Array | undefined> {
  const numbers = new Float64Array(values.length)
  for (let i = 0; i < values.length; i++) {
    const number = values[i] as number
    if (Number.isNaN(number)) return undefined
    numbers[i] = number
    if (i % numbersAtOnce === numbersAtOnce - 1) yield stepsOfNumbers
  }
  return numbers
}

/** Puts the n-th least, from 0, at its place: none before it is greater, and none behind it is less. */
export function* nthLeast(numbers: Float64Array, n: number): Generator<number, number> {
  let from = 0
  let to = numbers.length - 1
  let looked = 0
  while (from < to) {
    // At random, so that no order of the numbers makes it slow.
    const pivot = numbers[from + Math.floor(Math.random() * (to - from + 1))] as number
    let low = from
    let high = to
    while (low <= high) {
      while ((numbers[low] as number) < pivot) low++
      while ((numbers[high] as number) > pivot) high--
      if (low > high) break
      const other = numbers[low] as number
      numbers[low++] = numbers[high] as number
      numbers[high--] = other
      if (++looked % numbersAtOnce === 0) yield stepsOfNumbers
    }
    looked += to - from
    if (looked >= numbersAtOnce) {
      looked = 0
      yield stepsOfNumbers
    }
    if (n <= high) to = high
    else if (n >= low) from = low
    else break
  }
  return numbers[n] as number
}

/** From a place on. */
export function* leastFrom(numbers: Float64Array, from: number): Generator<number, number> {
  let least = numbers[from] as number
  for (let i = from + 1; i < numbers.length; i++) {
    if ((numbers[i] as number) < least) least = numbers[i] as number
    if (i % numbersAtOnce === numbersAtOnce - 1) yield stepsOfNumbers
  }
  return least
}
