/** Objects that references in records name, found by the bytes of their OIDs: no text is made of these. Open addressing, since entries never leave alone. */
import type { ObjectView } from '../evaluate/object-view.ts'

/** Powers of two: places to begin with, and by how many times more there are once half of them are taken. */
const placesMin = 64
const growth = 4

interface Target {
  /** The halves of its OID. */
  readonly high: number
  readonly low: number
  readonly view: ObjectView
}

/** How many objects are kept at most, and bytes of their records. */
export interface Room {
  readonly objects: number
  readonly bytes: number
}

export class TargetObjects {
  count = 0
  private places: (Target | undefined)[] = []
  private bytes = 0
  private readonly room: Room | undefined

  /** Without `room`, whoever adds to it sees to how many there are. */
  constructor(room?: Room) {
    this.room = room
  }

  hasRoomFor({ record }: ObjectView): boolean {
    const { room } = this
    return room === undefined || (this.count < room.objects && this.bytes + record.length <= room.bytes)
  }

  get(high: number, low: number): ObjectView | undefined {
    return this.count === 0 ? undefined : this.places[this.placeOf(high, low)]?.view
  }

  /** Of an object that is not there yet. */
  add(high: number, low: number, view: ObjectView): void {
    if (this.count * 2 >= this.places.length) this.grow()
    this.places[this.placeOf(high, low)] = { high, low, view }
    this.count++
    this.bytes += view.record.length
  }

  /** Where it is, or is to be. */
  private placeOf(high: number, low: number): number {
    const { places } = this
    const mask = places.length - 1
    let place = (low ^ (low >>> 16) ^ high) & mask
    for (;;) {
      const one = places[place]
      if (one === undefined || (one.high === high && one.low === low)) return place
      place = (place + 1) & mask
    }
  }

  private grow(): void {
    const former = this.places
    this.places = new Array(Math.max(placesMin, former.length * growth))
    for (let i = 0; i < former.length; i++) {
      const one = former[i]
      if (one !== undefined) this.places[this.placeOf(one.high, one.low)] = one
    }
  }
}
