/** Histories of transactions that were carried out one after the other, in intervals that overlap: nothing in them is wrong. */
import type { Outcome, Step, Transaction } from '../consistency/history.ts'

export interface SerialOptions {
  readonly transactions: number
  /** Numbers from 0 to 1. */
  readonly random: () => number
  /** How many others a transaction overlaps, about. */
  readonly overlap: number
  /** How many lists, registers and places are in use at a time. */
  readonly width: number
  /** Writes of a list before another takes its place. */
  readonly listMax?: number
}

interface Item {
  readonly number: number
  version: number
  place: number
}

/** What the transactions have done so far. */
class Model {
  readonly lists = new Map<number, number[]>()
  readonly registers = new Map<number, number>()
  readonly items: Item[] = []
  readonly byPlace = new Map<number, Set<Item>>()
  value = 0

  put(item: Item, place: number): void {
    this.byPlace.get(item.place)?.delete(item)
    item.place = place
    item.version++
    if (place === 0) return
    const there = this.byPlace.get(place)
    if (there === undefined) this.byPlace.set(place, new Set([item]))
    else there.add(item)
  }

  find(from: number, to: number): number[] {
    const found: number[] = []
    for (let place = from; place <= to; place++)
      for (const item of this.byPlace.get(place) ?? []) found.push(item.number)
    return found
  }
}

export function serialHistory({ transactions, random, overlap, width, listMax = 20 }: SerialOptions): Transaction[] {
  const model = new Model()
  const history: Transaction[] = []
  const below = (n: number): number => Math.floor(random() * n)
  for (let nth = 0; nth < transactions; nth++) {
    const window = 1 + width * Math.floor(nth / (width * listMax))
    const steps: Step[] = []
    const isLate = random() < 0.05
    // What fails does nothing; of what is unknown, half is done.
    const outcome: Outcome = !isLate ? 'ok' : random() < 0.5 ? 'failed' : 'unknown'
    const isDone = outcome === 'ok' || (outcome === 'unknown' && random() < 0.5)
    const count = 1 + below(4)
    for (let i = 0; i < count; i++) {
      const step = randomStep(model, below, window, width, isDone)
      if (step !== undefined && (outcome === 'ok' || isWrite(step))) steps.push(step)
    }
    history.push({ invoked: nth - random() * overlap, completed: nth + random() * overlap, outcome, steps })
  }
  const after = transactions + overlap * 2
  history.push({ invoked: after, completed: after + 1, outcome: 'ok', isFinal: true, steps: finalSteps(model) })
  return history
}

function isWrite({ kind }: Step): boolean {
  return kind === 'append' || kind === 'write' || kind === 'place'
}

function randomStep(
  model: Model,
  below: (n: number) => number,
  window: number,
  width: number,
  isDone: boolean,
): Step | undefined {
  const key = window + below(width)
  switch (below(8)) {
    case 0:
    case 1: {
      const value = ++model.value
      if (isDone) model.lists.set(key, [...(model.lists.get(key) ?? []), value])
      return { kind: 'append', list: key, value }
    }
    case 2:
      return { kind: 'readList', list: key, values: model.lists.get(key) ?? [] }
    case 3: {
      const value = ++model.value
      if (isDone) model.registers.set(key, value)
      return { kind: 'write', register: key, value }
    }
    case 4:
      return { kind: 'read', register: key, value: model.registers.get(key) ?? 0 }
    case 5: {
      const item = { number: model.items.length + 1, version: 0, place: 0 }
      model.items.push(item)
      if (isDone) model.put(item, key)
      return { kind: 'place', item: item.number, version: 1, place: key }
    }
    case 6: {
      const item = model.items[model.items.length - 1 - below(width)]
      if (item === undefined || item.version !== 1 || !isDone) return undefined
      const place = below(2) === 0 ? 0 : key
      model.put(item, place)
      return { kind: 'place', item: item.number, version: 2, place }
    }
    default: {
      const to = Math.min(window + width - 1, key + below(3))
      return { kind: 'find', from: key, to, items: model.find(key, to) }
    }
  }
}

function finalSteps({ lists, registers, items }: Model): Step[] {
  return [
    ...[...lists].map(([list, values]): Step => ({ kind: 'readList', list, values })),
    ...[...registers].map(([register, value]): Step => ({ kind: 'read', register, value })),
    {
      kind: 'find',
      from: 1,
      to: Number.MAX_SAFE_INTEGER,
      items: items.filter(({ place }) => place > 0).map(({ number }) => number),
    },
  ]
}
