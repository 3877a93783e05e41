/** A buffer for one page and its borrowed entry at fixed offsets, so that views can be cached. */
import type { Bytes } from '../store.ts'

/** The page, a key that outlives it, and the borrowed entry, whose key directly precedes the value. */
const parts = 4
/** Unused buffers; each snapshot that reads many entries takes one until it is released. */
const freeMax = 8
const free: LeafBuffer[] = []

export class LeafBuffer {
  readonly pageBytes: number
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly page: Uint8Array
  readonly words: Int32Array
  readonly keyCopyAt: number
  readonly valueAt: number
  private readonly keys: (Buffer | undefined)[] = []
  private readonly values: (Buffer | undefined)[] = []

  constructor(pageBytes: number) {
    this.pageBytes = pageBytes
    const memory = new ArrayBuffer(parts * pageBytes)
    this.bytes = new Uint8Array(memory)
    this.view = new DataView(memory)
    this.page = new Uint8Array(memory, 0, pageBytes)
    this.words = new Int32Array(memory)
    this.keyCopyAt = pageBytes
    this.valueAt = (parts - 1) * pageBytes
  }

  /** Cached views as Buffers, for which most consumers are compiled. */
  key(length: number): Buffer {
    return this.keys[length] ?? this.newView(this.keys, this.valueAt - length, length)
  }

  value(length: number): Buffer {
    return this.values[length] ?? this.newView(this.values, this.valueAt, length)
  }

  /** Copies the key at `at`, directly followed by its value, to the location of the borrowed entry. */
  expose(at: number, keyLength: number, valueLength: number): void {
    const { view, bytes, valueAt } = this
    const end = at + keyLength + valueLength
    const shift = valueAt - keyLength - at
    let from = at
    // Faster than a native call.
    for (; from + 4 <= end; from += 4) view.setInt32(from + shift, view.getInt32(from, true), true)
    for (; from < end; from++) bytes[from + shift] = bytes[from] as number
  }

  /** Copies a key within the buffer to where it outlives the page. */
  keep(at: number, length: number): void {
    if (at !== this.keyCopyAt) this.bytes.copyWithin(this.keyCopyAt, at, at + length)
  }

  keepBytes(key: Bytes): void {
    this.bytes.set(key, this.keyCopyAt)
  }

  private newView(views: (Buffer | undefined)[], at: number, length: number): Buffer {
    const view = Buffer.from(this.view.buffer as ArrayBuffer, at, length)
    while (views.length <= length) views.push(undefined)
    views[length] = view
    return view
  }
}

export function takeLeafBuffer(pageBytes: number): LeafBuffer {
  const found = free.pop()
  return found?.pageBytes === pageBytes ? found : new LeafBuffer(pageBytes)
}

export function giveBack(buffer: LeafBuffer): void {
  if (free.length < freeMax) free.push(buffer)
}
