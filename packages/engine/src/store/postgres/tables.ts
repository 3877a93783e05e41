/**
 * The tables of one store. On a distributed store, the first placement has a separate table, which stays on the coordinator: it is read by every
 * request, and must not depend on any other node.
 */
import type { KeyPlacement } from '../key-placement.ts'

export interface Tables {
  readonly schema: string
  readonly hasRoot: boolean
  readonly keys: KeyPlacement
}

export const rootPlacement = 0

/** The table with the rows of a placement. */
export function tableOf({ schema, hasRoot }: Tables, placement: number, name: 'kv' | 'slot' = 'kv'): string {
  return `${schema}.${name}${hasRoot && placement === rootPlacement ? '_root' : ''}`
}

/** Within the commit function: applies the statement to the tables `{kv}` and `{slot}` with the rows of the placement `expression`. */
export function onTableOf({ schema, hasRoot }: Tables, expression: string, statement: string): string {
  const named = (end: string): string => statement.replaceAll(/\{(kv|slot)\}/g, (_, name) => `${schema}.${name}${end}`)
  if (!hasRoot) return `${named('')};`
  return `IF ${expression} = ${rootPlacement} THEN
          ${named('_root')};
        ELSE
          ${named('')};
        END IF;`
}

/** Within the commit function: the name of the table with the rows of the placement, as an expression. */
export function nameOfTable({ schema, hasRoot }: Tables, expression: string): string {
  if (!hasRoot) return `'${schema}.kv'`
  return `CASE ${expression} WHEN ${rootPlacement} THEN '${schema}.kv_root' ELSE '${schema}.kv' END`
}
