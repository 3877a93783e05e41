/** Random actions on the objects of an epoch, close enough together that transactions meet. */
import {
  type Action,
  append,
  appendWhereNone,
  createItem,
  createWhereNone,
  find,
  moveItem,
  readCell,
  readRegister,
  type Spot,
  writeRegister,
} from './actions.ts'
import type { Epoch } from './world.ts'

/** Cells, places and owners at a time that transactions use; those of an epoch are used one after the other, so that lists stay short. */
const widthOfCells = 6
const widthOfPlaces = 4
const widthOfOwners = 2

export class RandomActions {
  private readonly epoch: Epoch
  private readonly random: () => number
  private readonly transactions: number
  private started = 0
  private value = 0
  private items = 0
  private moved = 0

  constructor(epoch: Epoch, random: () => number, transactions: number) {
    this.epoch = epoch
    this.random = random
    this.transactions = transactions
  }

  below(n: number): number {
    return Math.floor(this.random() * n)
  }

  /** Of one transaction; undefined once all have begun. */
  next(): Action[] | undefined {
    if (this.started === this.transactions) return undefined
    this.started++
    return Array.from({ length: 1 + this.below(4) }, () => this.action())
  }

  nextValue(): number {
    return ++this.value
  }

  /** Among those in use now. */
  private choose(all: readonly number[], width: number): number {
    const first = Math.floor(((all.length - width) * this.started) / this.transactions)
    return all[first + this.below(width)]!
  }

  key(): number {
    return this.choose(this.epoch.keys, widthOfCells)
  }

  private spot(): Spot {
    const isOwner = this.below(3) === 0
    return { isOwner, place: isOwner ? this.choose(this.epoch.owners, widthOfOwners) : this.place() }
  }

  place(): number {
    return this.choose(this.epoch.places, widthOfPlaces)
  }

  private item(): number {
    return this.epoch.firstItem + this.items++
  }

  private action(): Action {
    const key = this.key()
    const oid = this.epoch.oids.get(key)!
    switch (this.below(16)) {
      case 0:
      case 1:
        return append([key], this.nextValue(), 'each')
      case 2: {
        const keys = [key, key + 1].filter((one) => this.epoch.oids.has(one))
        return append(keys, this.nextValue(), this.below(2) === 0 ? 'each' : 'range')
      }
      case 3:
      case 4:
        return readCell(key, oid, this.below(2) === 0 ? 'from' : 'lookup')
      case 5:
        return writeRegister(key, oid, this.nextValue())
      case 6:
        return readRegister(key)
      case 7:
        return createItem(this.item(), this.spot())
      case 8:
        return createWhereNone(this.item(), this.spot())
      case 9:
      case 10:
        // Not the newest, which may not be there yet.
        return this.moved + 5 < this.items
          ? moveItem(this.epoch.firstItem + this.moved++, this.below(3) === 0 ? undefined : this.spot())
          : createItem(this.item(), this.spot())
      default:
        return this.search()
    }
  }

  private search(): Action {
    if (this.below(3) === 0) {
      const owner = this.choose(this.epoch.owners, widthOfOwners)
      return find(owner, owner, (['path', 'match', 'links'] as const)[this.below(3)]!)
    }
    const place = this.place()
    const to = Math.min(place + 1 + this.below(2), this.epoch.places.at(-1)!)
    const search = (['equal', 'range', 'collect', 'count'] as const)[this.below(4)]!
    return find(place, search === 'equal' || search === 'count' ? place : to, search)
  }

  /** A single statement that decides by others. */
  guarded(): Action {
    const style = this.below(2) === 0 ? 'exists' : 'count'
    return appendWhereNone(this.key(), this.nextValue(), this.place(), style)
  }
}
