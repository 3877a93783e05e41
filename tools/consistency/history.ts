/**
 * Histories of transactions: what each of them did and saw, and when. Every value is written at most once in a history, so each read names the write that
 * it has seen.
 */

export type Outcome = 'ok' | 'failed' | 'unknown'

export interface Transaction {
  /** In milliseconds of a clock that is the same for all of them. */
  readonly invoked: number
  readonly completed: number
  /** `unknown`: it may have happened, or may happen still. It has no results, only writes. */
  readonly outcome: Outcome
  /** In the order in which they were carried out. */
  readonly steps: readonly Step[]
  /** Reads everything once nothing else happens any more: what it does not see is lost. */
  readonly isFinal?: boolean
  /** How it was sent, for reports. */
  readonly form?: string
}

export type History = readonly Transaction[]

export type Step = Append | ReadList | WriteRegister | ReadRegister | PlaceItem | ReadItem | FindItems

export interface Append {
  readonly kind: 'append'
  readonly list: number
  readonly value: number
}

export interface ReadList {
  readonly kind: 'readList'
  readonly list: number
  readonly values: readonly number[]
}

export interface WriteRegister {
  readonly kind: 'write'
  readonly register: number
  /** Not 0, the value of registers that nobody has written. */
  readonly value: number
}

export interface ReadRegister {
  readonly kind: 'read'
  readonly register: number
  readonly value: number
}

/**
 * Creates an item, moves it to another place, or deletes it (place 0). An item is written at most once for each version: version 1 creates it, each
 * later one changes the one before it.
 */
export interface PlaceItem {
  readonly kind: 'place'
  readonly item: number
  readonly version: number
  readonly place: number
}

/** Version 0 is an item that does not exist. */
export interface ReadItem {
  readonly kind: 'readItem'
  readonly item: number
  readonly version: number
}

/** A predicate read: the items whose place is between two, both included; or only that there are some. */
export interface FindItems {
  readonly kind: 'find'
  readonly from: number
  readonly to: number
  readonly items: readonly number[] | 'some'
}

/** What a text of a transaction in a report looks like. */
export function describeTransaction(transaction: Transaction, nth: number): string {
  const { invoked, completed, outcome, form, steps } = transaction
  const shown = steps.map(describeStep).join('; ')
  const how = form === undefined ? '' : ` ${form}`
  return `T${nth}${how} ${outcome} ${invoked.toFixed(2)}–${completed.toFixed(2)} ms: ${shown}`
}

function describeStep(step: Step): string {
  switch (step.kind) {
    case 'append':
      return `append ${step.value} to list ${step.list}`
    case 'readList':
      return `list ${step.list} is [${step.values.length > 12 ? `… ${step.values.slice(-12)}` : step.values}]`
    case 'write':
      return `register ${step.register} := ${step.value}`
    case 'read':
      return `register ${step.register} is ${step.value}`
    case 'place':
      return step.place === 0 ? `delete item ${step.item}` : `put item ${step.item} in place ${step.place}`
    case 'readItem':
      return step.version === 0 ? `there is no item ${step.item}` : `item ${step.item} is of version ${step.version}`
    case 'find': {
      const range = step.from === step.to ? `place ${step.from}` : `places ${step.from} to ${step.to}`
      return `${range}: ${step.items === 'some' ? 'some items' : `{${step.items}}`}`
    }
  }
}
