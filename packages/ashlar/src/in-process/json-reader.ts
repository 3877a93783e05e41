/** Reads the JSON of rows and objects as a client does, according to its options. */
import { noReference, parseExactly, reviveDates } from '@ashlar/client/in-process'

export interface ReadOptions {
  readonly dates?: boolean
  readonly integers?: 'number' | 'bigint'
}

export class JsonReader {
  private readonly parseText: (text: string) => unknown
  private readonly hasDates: boolean
  private readonly hasBigints: boolean

  constructor({ dates, integers }: ReadOptions) {
    this.parseText = integers === 'bigint' ? parseExactly : JSON.parse
    this.hasDates = dates === true
    this.hasBigints = integers === 'bigint'
  }

  read<T>(json: Buffer): T {
    return this.revive(this.parse(json) as T)
  }

  readText<T>(json: string): T {
    return this.revive(this.parseText(json) as T)
  }

  parse(json: Buffer): unknown {
    return this.parseText(json.toString())
  }

  /** Changes the scalars of a row, in place, to what would be read of its text: numbers, dates, and null for a reference to nothing. */
  adapt(row: object): object {
    const values = row as Record<string, unknown>
    for (const name in values) {
      const value = values[name]
      if (value === noReference) values[name] = null
      else if (typeof value === 'bigint') {
        const number = Number(value)
        values[name] = this.hasBigints && !Number.isSafeInteger(number) ? value : number
      }
    }
    return this.revive(row)
  }

  /** In place. */
  revive<T>(value: T): T {
    return this.hasDates ? (reviveDates(value) as T) : value
  }
}
