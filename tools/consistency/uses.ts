/** The writes and reads of a history, by what they are of; reads without what their transaction itself has written before. */
import type { Findings } from './findings.ts'
import {
  describeTransaction,
  type FindItems,
  type History,
  type PlaceItem,
  type ReadList,
  type Step,
} from './history.ts'

export interface Write {
  readonly transaction: number
  readonly step: number
}

export interface ListRead {
  readonly transaction: number
  /** As others have left it. */
  readonly values: readonly number[]
}

export interface ListUses {
  readonly writes: Map<number, Write>
  readonly reads: ListRead[]
}

export interface RegisterUses {
  readonly writes: Map<number, Write>
  readonly reads: { readonly transaction: number; readonly value: number }[]
}

export interface ItemUses {
  readonly writes: (Write & Pick<PlaceItem, 'version' | 'place'>)[]
  readonly reads: { readonly transaction: number; readonly version: number }[]
}

export interface Uses {
  readonly lists: Map<number, ListUses>
  readonly registers: Map<number, RegisterUses>
  readonly items: Map<number, ItemUses>
  readonly finds: (Write & FindItems)[]
}

export function usesOf(history: History, findings: Findings): Uses {
  const uses: Uses = { lists: new Map(), registers: new Map(), items: new Map(), finds: [] }
  for (const [nth, transaction] of history.entries()) {
    const within: Within = { lists: new Map(), registers: new Map(), places: new Map() }
    const fault = (what: string): void => {
      findings.add('internal', () => `${what}:\n  ${describeTransaction(transaction, nth)}`)
    }
    for (const [step, done] of transaction.steps.entries()) {
      const at = { transaction: nth, step }
      if (done.kind === 'append' || done.kind === 'write' || done.kind === 'place') noteWrite(uses, at, done, within)
      else if (transaction.outcome === 'ok') noteRead(uses, at, done, within, fault)
    }
  }
  return uses
}

/** What a transaction has done so far. */
interface Within {
  readonly lists: Map<number, { readonly own: number[]; seen?: readonly number[] }>
  readonly registers: Map<number, { readonly value: number; readonly isOwn: boolean }>
  readonly places: Map<number, number>
}

type Fault = (what: string) => void

function noteWrite(
  uses: Uses,
  write: Write,
  step: Extract<Step, { kind: 'append' | 'write' | 'place' }>,
  within: Within,
): void {
  if (step.kind === 'append') {
    listOf(uses, step.list).writes.set(step.value, write)
    entryOf(within.lists, step.list, () => ({ own: [] })).own.push(step.value)
  } else if (step.kind === 'write') {
    registerOf(uses, step.register).writes.set(step.value, write)
    within.registers.set(step.register, { value: step.value, isOwn: true })
  } else {
    itemOf(uses, step.item).writes.push({ ...write, version: step.version, place: step.place })
    within.places.set(step.item, step.place)
  }
}

function noteRead(
  uses: Uses,
  at: Write,
  step: Exclude<Step, { kind: 'append' | 'write' | 'place' }>,
  within: Within,
  fault: Fault,
): void {
  switch (step.kind) {
    case 'readList':
      noteListRead(uses, at, step, within, fault)
      break
    case 'read': {
      const { register, value } = step
      const known = within.registers.get(register)
      if (known !== undefined && known.value !== value)
        fault(
          known.isOwn
            ? `register ${register} is not as the transaction has left it`
            : `register ${register} changes within a transaction`,
        )
      if (known?.isOwn === true) break
      within.registers.set(register, { value, isOwn: false })
      registerOf(uses, register).reads.push({ transaction: at.transaction, value })
      break
    }
    case 'readItem':
      // Whoever has placed it knows it.
      if (!within.places.has(step.item))
        itemOf(uses, step.item).reads.push({ transaction: at.transaction, version: step.version })
      break
    case 'find':
      uses.finds.push({ ...step, ...at })
      for (const [item, place] of within.places) {
        const isWithin = place >= step.from && place <= step.to
        if (step.items !== 'some' && step.items.includes(item) !== isWithin)
          fault(`item ${item} is not found where the transaction has left it`)
      }
  }
}

function noteListRead(uses: Uses, at: Write, { list, values }: ReadList, within: Within, fault: Fault): void {
  const known = entryOf(within.lists, list, () => ({ own: [] }))
  const length = values.length - known.own.length
  if (!known.own.every((value, i) => values[length + i] === value)) {
    fault(`list ${list} does not end with what the transaction has appended`)
    return
  }
  const external = known.own.length === 0 ? values : values.slice(0, length)
  if (known.seen !== undefined && !isSame(known.seen, external)) fault(`list ${list} changes within a transaction`)
  known.seen = external
  listOf(uses, list).reads.push({ transaction: at.transaction, values: external })
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((value, i) => value === other[i])
}

function listOf({ lists }: Uses, list: number): ListUses {
  return entryOf(lists, list, () => ({ writes: new Map(), reads: [] }))
}

function registerOf({ registers }: Uses, register: number): RegisterUses {
  return entryOf(registers, register, () => ({ writes: new Map(), reads: [] }))
}

function itemOf({ items }: Uses, item: number): ItemUses {
  return entryOf(items, item, () => ({ writes: [], reads: [] }))
}

export function entryOf<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = create()
    map.set(key, value)
  }
  return value
}
