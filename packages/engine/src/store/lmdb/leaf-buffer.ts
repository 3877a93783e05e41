/** Memory for one page at a time, and for its borrowed entry: at the same place each time, so that views of it are made once. */
import type { Bytes } from '../store.ts'

/** The page; a key that outlives it; and what is borrowed, the key right before the value. */
const parts = 4
/** Buffers that wait to be used again; each snapshot that reads many entries takes one for as long as it is open. */
const freeMax = 8
const free: LeafBuffer[] = []

export class LeafBuffer {
  readonly pageBytes: number
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly page: Uint8Array
  readonly words: Int32Array
  readonly keptAt: number
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
    this.keptAt = pageBytes
    this.valueAt = (parts - 1) * pageBytes
  }

  /** Views of so many bytes, as Buffers: most of what reads them is compiled for those. */
  key(length: number): Buffer {
    return this.keys[length] ?? this.newView(this.keys, this.valueAt - length, length)
  }

  value(length: number): Buffer {
    return this.values[length] ?? this.newView(this.values, this.valueAt, length)
  }

  /** Copies the key at `at`, behind which its value stands, to where both are borrowed from. */
  expose(at: number, keyLength: number, valueLength: number): void {
    const { view, bytes, valueAt } = this
    const end = at + keyLength + valueLength
    const shift = valueAt - keyLength - at
    let from = at
    // A loop beats a call into the runtime.
    for (; from + 4 <= end; from += 4) view.setInt32(from + shift, view.getInt32(from, true), true)
    for (; from < end; from++) bytes[from + shift] = bytes[from] as number
  }

  /** Copies a key that is in the buffer to where it outlives the page. */
  keep(at: number, length: number): void {
    if (at !== this.keptAt) this.bytes.copyWithin(this.keptAt, at, at + length)
  }

  keepBytes(key: Bytes): void {
    this.bytes.set(key, this.keptAt)
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
