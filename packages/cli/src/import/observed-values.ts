/** Collects statistics for inferring the type of an attribute, in constant memory for any number of values. */

import { invalidInput } from '../errors/command-error.ts'
import { inferredAttributesMax, inferredDepthMax } from '../limits.ts'
import { hasLeadingZero, kindBits, kindsOfNumber, kindsOfText, looksLikeNumber, numberBits } from './cell-kinds.ts'
import { attributeNameOf, ColumnNames } from './column-names.ts'
import type { Definition } from './file-record.ts'

/** A column is of type string if texts without another type outnumber the rest by this many. */
const otherTextsMax = 20

/** Types with a common notation. */
const families = [
  { bits: numberBits, noun: 'number' },
  { bits: kindBits.date | kindBits.datetime, noun: 'date' },
  { bits: kindBits.instant, noun: 'datetime with an offset' },
  { bits: kindBits.time, noun: 'time' },
  { bits: kindBits.boolean, noun: 'boolean' },
  { bits: kindBits.guid, noun: 'GUID' },
] as const

export type FamilyNoun = (typeof families)[number]['noun']

/** Kinds of texts without a type: texts that look like numbers, and the rest. */
type TextKind = FamilyNoun | 'near number' | 'other'

/** A text that prevents the type of most values in its column. */
export interface OtherText {
  readonly text: string
  readonly line: number
  /** The type that the text does not have. */
  readonly noun: FamilyNoun
}

interface SeenTexts {
  count: number
  readonly first: { readonly text: string; readonly line: number }
}

export interface AttributeCount {
  count: number
}

export class ObservedValues {
  /** The column name in the file, for the mapping; undefined in embedded objects. */
  column: string | undefined
  /** The type from the mapping or the file; then values are not examined. */
  definition: Definition | undefined
  /** Bits of the types that can represent all scalars. */
  kinds = -1
  scalars = 0
  arrays = 0
  objects = 0
  /** Whether there are arrays of nulls or arrays, which no list can represent. */
  hasOddArrays = false
  element: ObservedValues | undefined
  attributes: ObservedAttributes | undefined
  private readonly texts = new Map<TextKind, SeenTexts>()
  private readonly count: AttributeCount
  private readonly depth: number

  constructor(count: AttributeCount, depth: number) {
    this.count = count
    this.depth = depth
  }

  /** `isTyped`: numbers and booleans are distinct from strings, as in JSON. */
  see(value: unknown, line: number, isTyped: boolean): void {
    if (value === null || value === undefined || this.definition !== undefined) return
    if (typeof value === 'string') this.seeText(value, line, isTyped)
    else if (typeof value !== 'object') {
      this.scalars++
      this.kinds &= kindsOfTyped(value)
    } else if (Array.isArray(value)) this.seeArray(value, line, isTyped)
    else this.seeObject(value as Readonly<Record<string, unknown>>, line)
  }

  private seeText(text: string, line: number, isTyped: boolean): void {
    this.scalars++
    if (this.kinds === 0 && 2 * this.countOf('other') > this.scalars + otherTextsMax) return
    const kinds = kindsOfText(text, isTyped)
    this.kinds &= kinds
    const kind = textKind(text, kinds)
    const seen = this.texts.get(kind)
    if (seen === undefined) this.texts.set(kind, { count: 1, first: { text, line } })
    else seen.count++
  }

  private countOf(kind: TextKind): number {
    return this.texts.get(kind)?.count ?? 0
  }

  private seeArray(values: readonly unknown[], line: number, isTyped: boolean): void {
    this.arrays++
    this.element ??= new ObservedValues(this.count, this.checkedDepth())
    for (const value of values) {
      if (value === null || Array.isArray(value)) this.hasOddArrays = true
      else this.element.see(value, line, isTyped)
    }
  }

  private seeObject(value: Readonly<Record<string, unknown>>, line: number): void {
    const attributes = this.inner()
    for (const name of Object.keys(value)) attributes.named(name)?.see(value[name], line, true)
  }

  /** Returns the attributes of an embedded object, and counts the object. */
  inner(): ObservedAttributes {
    this.objects++
    this.attributes ??= new ObservedAttributes(this.count, this.checkedDepth())
    return this.attributes
  }

  private checkedDepth(): number {
    if (this.depth < inferredDepthMax) return this.depth + 1
    throw invalidInput(
      `The records have objects or arrays more than ${inferredDepthMax} deep, for which no class can be made.`,
    )
  }

  /** Returns the first text without the type of most values; undefined without such a type, and for codes with leading zeros. */
  exception(): OtherText | undefined {
    if (this.kinds !== 0) return undefined
    const family = families.find(({ noun }) => 2 * this.countOfFamily(noun) > this.scalars)
    if (family === undefined) return undefined
    const { noun } = family
    // A map lists kinds in the order in which they were first seen.
    const other = [...this.texts].find(([kind]) => kind !== noun)?.[1].first
    return other === undefined || (noun === 'number' && hasLeadingZero(other.text)) ? undefined : { ...other, noun }
  }

  private countOfFamily(noun: FamilyNoun): number {
    return this.countOf(noun) + (noun === 'number' ? this.countOf('near number') : 0)
  }
}

function textKind(text: string, kinds: number): TextKind {
  if (kinds === 0) return looksLikeNumber(text) ? 'near number' : 'other'
  return families.find(({ bits }) => (kinds & bits) !== 0)?.noun ?? 'other'
}

/** Values from JSON or Parquet. */
function kindsOfTyped(value: unknown): number {
  if (typeof value === 'boolean') return kindBits.boolean
  if (typeof value === 'number' && !Number.isInteger(value)) return kindBits.real
  return kindsOfNumber(String(value))
}

export class ObservedAttributes {
  readonly byName = new Map<string, ObservedValues>()
  private readonly count: AttributeCount
  private readonly depth: number
  private readonly names: ColumnNames
  private readonly byColumn = new Map<string, ObservedValues | undefined>()

  constructor(count: AttributeCount, depth: number) {
    this.count = count
    this.depth = depth
    this.names = new ColumnNames()
  }

  /** Returns the attribute for a name in an embedded object; undefined if it is skipped. Throws CommandError if two names become one. */
  named(column: string): ObservedValues | undefined {
    const cached = this.byColumn.get(column)
    if (cached !== undefined || this.byColumn.has(column)) return cached
    const name = attributeNameOf(column)
    this.names.add(column, name)
    const values = this.attribute(name)
    this.byColumn.set(column, values)
    return values
  }

  attribute(name: string): ObservedValues {
    let values = this.byName.get(name)
    if (values === undefined) {
      if (++this.count.count > inferredAttributesMax)
        throw invalidInput(
          `The records have more than ${inferredAttributesMax} different attributes, such as '${name}': names that differ from record to record cannot be attributes.`,
        )
      values = new ObservedValues(this.count, this.depth)
      this.byName.set(name, values)
    }
    return values
  }
}
