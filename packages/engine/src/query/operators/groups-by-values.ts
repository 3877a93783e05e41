/** Index of groups by key values: rows with known values are assigned to groups without encoding their keys. */
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'

/** Combinations that are indexed; rows with other values are grouped by their encoded keys. */
const valuesMax = 8_192
/** Beyond this many keys, each row would need a map per key. */
const keysMax = 16
const mapBytes = 200

type Level<G> = Map<unknown, Level<G> | G>

/** Equal values always have equal keys. Different values may share a key; each of them is indexed. */
export class GroupsByValues<G extends object> {
  private readonly hold: (bytes: number) => void
  private readonly root: Level<G> = new Map()
  /** Last match and its values: the next row often has the same. */
  private last: G | undefined
  private readonly lastValues: unknown[] = []
  private indexed = 0

  /** Memory of the index is charged to `hold`. */
  constructor(hold: (bytes: number) => void) {
    this.hold = hold
  }

  find(values: readonly unknown[]): G | undefined {
    if (this.last !== undefined && this.matchesLast(values)) return this.last
    let level: Level<G> | G | undefined = this.root
    for (let i = 0; i < values.length && level !== undefined; i++) level = (level as Level<G>).get(values[i])
    const found = values.length === 0 ? undefined : (level as G | undefined)
    if (found !== undefined) this.setLast(values, found)
    return found
  }

  private matchesLast(values: readonly unknown[]): boolean {
    const { lastValues } = this
    for (let i = 0; i < values.length; i++) if (values[i] !== lastValues[i]) return false
    return true
  }

  private setLast(values: readonly unknown[], group: G): void {
    for (let i = 0; i < values.length; i++) this.lastValues[i] = values[i]
    this.last = group
  }

  add(values: readonly unknown[], group: G): void {
    if (values.length === 0) this.setLast(values, group)
    if (values.length === 0 || values.length > keysMax || this.indexed >= valuesMax) return
    if (!values.every(isIndexable)) return
    this.indexed++
    let bytes = 0
    let level = this.root
    for (let i = 0; i < values.length - 1; i++) {
      let next = level.get(values[i]) as Level<G> | undefined
      if (next === undefined) {
        next = new Map()
        level.set(values[i], next)
        bytes += mapBytes + valueBytes(values[i])
      }
      level = next
    }
    const last = values[values.length - 1]
    level.set(last, group)
    this.hold(bytes + elementBytes + valueBytes(last))
  }
}

const charactersMax = 256

/** Excludes 0: a map does not distinguish its signs. */
function isIndexable(value: unknown): boolean {
  switch (typeof value) {
    case 'number':
      return value !== 0
    case 'string':
      return value.length <= charactersMax
    case 'boolean':
      return true
    default:
      return value === null
  }
}
