/** A key of packed rows, borrowed until the next one is asked for: a view of each of very many would cost more than their bytes. */
import { packedLengthAt, packedLengthBytes } from '../packed-rows.ts'

/** Up to here a loop beats a call into the runtime. */
const loopedBytes = 48

export class BorrowedKey {
  private readonly room: Buffer
  /** Of the room, by length. */
  private readonly views: (Buffer | undefined)[]

  constructor(keyBytesMost: number) {
    this.room = Buffer.allocUnsafeSlow(keyBytesMost)
    this.views = new Array<Buffer | undefined>(keyBytesMost + 1).fill(undefined)
  }

  /** The key whose length is at that place of packed keys. */
  at(keys: Buffer, place: number): Buffer {
    const length = packedLengthAt(keys, place)
    const from = place + packedLengthBytes
    const { room } = this
    if (length > loopedBytes) keys.copy(room, 0, from, from + length)
    else for (let i = 0; i < length; i++) room[i] = keys[from + i] as number
    let view = this.views[length]
    if (view === undefined) {
      view = room.subarray(0, length)
      this.views[length] = view
    }
    return view
  }
}
