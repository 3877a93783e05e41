/** Naming rules for classes, attributes and indexes, and suggestions for misspelt names. */
import { AshlarError, type CommandPlace, truncateForMessage } from '../errors.ts'
import { classNameCharactersMax } from '../limits.ts'
import { rootClassName } from './root-class.ts'

const partForm = /^[A-Za-z_][A-Za-z0-9_]*$/
const indexNameForm = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/

/** Throws InvalidName (contract 1.3.1). */
export function checkClassName(name: string, place: CommandPlace): void {
  const parts = name.split('.')
  const isFormed = name.length <= classNameCharactersMax && parts.every((part) => partForm.test(part))
  if (!isFormed) {
    throw invalidName(
      `'${truncateForMessage(name)}' is not a class name: parts of letters, digits and _, joined by dots, at most ${classNameCharactersMax} characters.`,
      place,
    )
  }
  if (parts.some((part) => part.startsWith('__'))) {
    throw invalidName(`Class name '${truncateForMessage(name)}': names that begin with __ are reserved.`, place)
  }
  if (name === 'namespace') {
    throw invalidName('A class in the default namespace cannot be called namespace.', place)
  }
  if (name === rootClassName) {
    throw invalidName(`A class cannot be called ${name}, which is the root of all classes.`, place)
  }
}

/** Throws InvalidName. */
export function checkAttributeName(className: string, name: string, place: CommandPlace): void {
  if (name.length > classNameCharactersMax || !partForm.test(name)) {
    throw invalidName(
      `Class ${className}: '${truncateForMessage(name)}' is not an attribute name: letters, digits and _, not beginning with a digit.`,
      place,
    )
  }
  if (name.startsWith('__')) {
    throw invalidName(
      `Class ${className}: attribute name '${truncateForMessage(name)}' begins with __, which is reserved.`,
      place,
    )
  }
}

/** Throws InvalidName. */
export function checkIndexName(name: string): void {
  if (indexNameForm.test(name)) return
  throw invalidName(
    `'${truncateForMessage(name)}' is not an index name: letters, digits, _ . and -, beginning with a letter or _, at most 128.`,
    ['name'],
  )
}

/** The rules for names of indexes apply. Throws InvalidName. */
export function checkSequenceName(name: string): void {
  if (indexNameForm.test(name)) return
  throw invalidName(
    `'${truncateForMessage(name)}' is not a name of a sequence: letters, digits, _ . and -, beginning with a letter or _, at most 128.`,
    ['name'],
  )
}

/** The part before the last dot; null for the default namespace. */
export function namespaceOf(className: string): string | null {
  const dot = className.lastIndexOf('.')
  return dot < 0 ? null : className.slice(0, dot)
}

export function simpleNameOf(className: string): string {
  return className.slice(className.lastIndexOf('.') + 1)
}

const nearNamesMax = 3
const editsMax = 3

/** Up to three existing names similar to a misspelt one: ignoring case, without the namespace, or a few edits away. */
export function similarNames(unknownName: string, names: readonly string[]): string[] {
  if (unknownName.length > classNameCharactersMax) return []
  const lower = unknownName.toLowerCase()
  const max = Math.min(editsMax, Math.max(1, Math.floor(unknownName.length / 4)))
  const near: { name: string; distance: number }[] = []
  for (const name of names) {
    const candidate = name.toLowerCase()
    const isSimpleName = candidate.endsWith(`.${lower}`) || lower.endsWith(`.${candidate}`)
    const distance = isSimpleName ? 0 : editDistance(lower, candidate, max)
    if (distance <= max) near.push({ name, distance })
  }
  near.sort((one, other) => one.distance - other.distance)
  return near.slice(0, nearNamesMax).map(({ name }) => name)
}

/** ` Did you mean a or b?`, or nothing. */
export function didYouMean(unknownName: string, names: readonly string[]): string {
  const near = similarNames(unknownName, names)
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
}

const namesListedMax = 10

/** `a, b and c`. */
export function listOfNames(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/**
 * The end of a sentence that refuses a name: `. Did you mean a?` if one is similar, else `; its fields are a, b and
 * c.` with all names. `noun`: the kind of names, such as `field`.
 */
export function suggestNames(unknownName: string, names: readonly string[], noun: string): string {
  const lower = unknownName.toLowerCase()
  const longer = names.filter((name) => lower.length > 1 && name.toLowerCase().startsWith(lower))
  const near = didYouMean(unknownName, names) || didYouMean(longer[0] ?? '', longer.slice(0, 1))
  if (near !== '') return `.${near}`
  if (names.length === 0 || names.length > namesListedMax) return '.'
  return `; its ${names.length === 1 ? `${noun} is` : `${noun}s are`} ${listOfNames(names)}.`
}

/**
 * Edit distance, with a swap of neighbours as one edit; max + 1 beyond `max`. Only cells within `max` of the diagonal
 * are computed, so that thousands of long names cost little.
 */
function editDistance(one: string, other: string, max: number): number {
  if (Math.abs(one.length - other.length) > max) return max + 1
  const beyondMax = max + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, j) => Math.min(j, beyondMax))
  for (let i = 1; i <= one.length; i++) {
    const row = new Array<number>(other.length + 1).fill(beyondMax)
    row[0] = Math.min(i, beyondMax)
    let least = row[0]
    for (let j = Math.max(1, i - max); j <= Math.min(other.length, i + max); j++) {
      const replaced = (last[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const swapped = isSwap ? (beforeLast[j - 2] as number) + 1 : beyondMax
      row[j] = Math.min(replaced, swapped, (last[j] as number) + 1, (row[j - 1] as number) + 1, beyondMax)
      least = Math.min(least, row[j] as number)
    }
    if (least > max) return beyondMax
    beforeLast = last
    last = row
  }
  return last[other.length] as number
}

function invalidName(message: string, place: CommandPlace): AshlarError {
  return new AshlarError('InvalidName', message, [{ place, message: 'is not allowed' }])
}
