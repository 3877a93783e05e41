/** Groups by the values of their keys, so that the key of a row whose values were met before need not be written. */
import { elementBytes, valueBytes } from '../evaluate/value-bytes.ts'

/** Values that are remembered in all: of more, the keys are written. */
const valuesMax = 8_192
/** Of more keys, the values of each row would take a map for each key. */
const keysMax = 16
const mapBytes = 200

type Level<G> = Map<unknown, Level<G> | G>

/** Equal values have equal keys, whatever these are; values that are not equal may have the same, and are remembered each. */
export class GroupsByValues<G extends object> {
  private readonly hold: (bytes: number) => void
  private readonly root: Level<G> = new Map()
  /** The one that was found last, and its values: the next row often has the same. */
  private last: G | undefined
  private readonly lastValues: unknown[] = []
  private remembered = 0

  /** `hold`: is charged with what is remembered. */
  constructor(hold: (bytes: number) => void) {
    this.hold = hold
  }

  find(values: readonly unknown[]): G | undefined {
    if (this.last !== undefined && this.areLast(values)) return this.last
    let level: Level<G> | G | undefined = this.root
    for (let i = 0; i < values.length && level !== undefined; i++) level = (level as Level<G>).get(values[i])
    const found = values.length === 0 ? undefined : (level as G | undefined)
    if (found !== undefined) this.keepLast(values, found)
    return found
  }

  private areLast(values: readonly unknown[]): boolean {
    const { lastValues } = this
    for (let i = 0; i < values.length; i++) if (values[i] !== lastValues[i]) return false
    return true
  }

  private keepLast(values: readonly unknown[], group: G): void {
    for (let i = 0; i < values.length; i++) this.lastValues[i] = values[i]
    this.last = group
  }

  add(values: readonly unknown[], group: G): void {
    if (values.length === 0) this.keepLast(values, group)
    if (values.length === 0 || values.length > keysMax || this.remembered >= valuesMax) return
    if (!values.every(isRemembered)) return
    this.remembered++
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

/** Not 0, whose two signs a map takes for one. */
function isRemembered(value: unknown): boolean {
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
