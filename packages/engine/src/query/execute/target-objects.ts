/** Hash table of referenced objects, keyed by the bytes of their OIDs so that no OID text is built. Open addressing: entries are never removed. */
import type { ObjectView } from '../evaluate/object-view.ts'

/** Powers of two: the initial capacity, and the growth factor once half of the slots are used. */
const slotsMin = 64
const growth = 4

interface Target {
  /** The halves of its OID. */
  readonly high: number
  readonly low: number
  readonly view: ObjectView
}

/** Limits on the number of objects and on the bytes of their records. */
export interface Room {
  readonly objects: number
  readonly bytes: number
}

export class TargetObjects {
  count = 0
  private slots: (Target | undefined)[] = []
  private bytes = 0
  private readonly room: Room | undefined

  /** Without `room`, the caller limits the number of objects. */
  constructor(room?: Room) {
    this.room = room
  }

  hasRoomFor({ record }: ObjectView): boolean {
    const { room } = this
    return room === undefined || (this.count < room.objects && this.bytes + record.length <= room.bytes)
  }

  get(high: number, low: number): ObjectView | undefined {
    return this.count === 0 ? undefined : this.slots[this.slotOf(high, low)]?.view
  }

  /** The object must not be in the table yet. */
  add(high: number, low: number, view: ObjectView): void {
    if (this.count * 2 >= this.slots.length) this.grow()
    this.slots[this.slotOf(high, low)] = { high, low, view }
    this.count++
    this.bytes += view.record.length
  }

  /** Index of the entry, or of the free slot where it belongs. */
  private slotOf(high: number, low: number): number {
    const { slots } = this
    const mask = slots.length - 1
    let slot = (low ^ (low >>> 16) ^ high) & mask
    for (;;) {
      const entry = slots[slot]
      if (entry === undefined || (entry.high === high && entry.low === low)) return slot
      slot = (slot + 1) & mask
    }
  }

  private grow(): void {
    const previous = this.slots
    this.slots = new Array(Math.max(slotsMin, previous.length * growth))
    for (let i = 0; i < previous.length; i++) {
      const entry = previous[i]
      if (entry !== undefined) this.slots[this.slotOf(entry.high, entry.low)] = entry
    }
  }
}
