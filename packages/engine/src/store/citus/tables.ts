/**
 * The tables of a distributed store. The first placement has a separate table, which stays on the coordinator: it is read by every request, and must not
 * depend on any other node.
 */
import type { Tables } from '../postgres/tables.ts'

export interface CitusTables extends Tables {
  /** False for a store of an early version, which is only copied: the first placement was distributed like others. */
  readonly hasRoot: boolean
}

export const rootPlacement = 0

/** The table with the rows of a placement. */
export function tableOf({ schema, hasRoot }: CitusTables, placement: number, name: 'kv' | 'slot' = 'kv'): string {
  return `${schema}.${name}${hasRoot && placement === rootPlacement ? '_root' : ''}`
}
