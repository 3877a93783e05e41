/** Maps of texts of any length: V8 does not hash very long ones, so a `Map` would compare all texts of equal length. */

import { isLongText, textDigest } from '../bytes/text-digest.ts'

export class TextMap<V> {
  private readonly short = new Map<string, V>()
  private long: Map<string, { readonly key: string; readonly value: V }> | undefined

  get size(): number {
    return this.short.size + (this.long?.size ?? 0)
  }

  *keys(): Generator<string> {
    yield* this.short.keys()
    for (const { key } of this.long?.values() ?? []) yield key
  }

  get(key: string): V | undefined {
    return isLongText(key) ? this.long?.get(textDigest(key))?.value : this.short.get(key)
  }

  has(key: string): boolean {
    return isLongText(key) ? this.long?.has(textDigest(key)) === true : this.short.has(key)
  }

  set(key: string, value: V): void {
    if (!isLongText(key)) {
      this.short.set(key, value)
      return
    }
    this.long ??= new Map()
    this.long.set(textDigest(key), { key, value })
  }
}
