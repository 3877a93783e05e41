/** Reads the JSON of rows and objects as a client does, according to its options. */
import { parseExactly, reviveDates } from '@ashlar/client/in-process'

export interface ReadOptions {
  readonly dates?: boolean
  readonly integers?: 'number' | 'bigint'
}

export class JsonReader {
  private readonly parseText: (text: string) => unknown
  private readonly hasDates: boolean

  constructor({ dates, integers }: ReadOptions) {
    this.parseText = integers === 'bigint' ? parseExactly : JSON.parse
    this.hasDates = dates === true
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

  /** In place. */
  revive<T>(value: T): T {
    return this.hasDates ? (reviveDates(value) as T) : value
  }
}
