/** Reads everything from a store as clients do, and tells how each reply compares with what it should be. */

import { AshlarError } from '../../src/errors.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { rowTexts } from '../row-texts.ts'
import { queries } from './harbour-store.ts'

/** Replies of the sound store: by OID, and rows by query. */
export interface Expected {
  readonly objects: Readonly<Record<string, string>>
  readonly rows: Readonly<Record<string, readonly string[]>>
}

/** How many objects and queries were answered in which way. */
export interface Served {
  readonly right: number
  /** Errors that say that the data is damaged. */
  readonly refused: number
  /** Objects that are said not to be there, and queries without some of their rows: hidden by a damaged page. */
  readonly missing: number
  /** Other errors. */
  readonly failed: readonly string[]
  /** Anything that was not stored. */
  readonly wrong: readonly string[]
}

export async function readAll(fd: FederatedDatabase, oids: readonly string[]): Promise<Expected> {
  const objects: Record<string, string> = {}
  for (const oid of oids) objects[oid] = await readOne(fd, oid)
  const rows: Record<string, readonly string[]> = {}
  for (const text of queries) rows[text] = await readRows(fd, text)
  return { objects, rows }
}

export async function compareAll(fd: FederatedDatabase, expected: Expected): Promise<Served> {
  const served = { right: 0, refused: 0, missing: 0, failed: [] as string[], wrong: [] as string[] }
  const caught = (what: string, error: unknown): void => {
    if (error instanceof AshlarError && error.type === 'DataCorruption') served.refused++
    else if (error instanceof AshlarError && error.type === 'ObjectNotFound') served.missing++
    else served.failed.push(`${what}: ${String(error)}`)
  }
  for (const [oid, wanted] of Object.entries(expected.objects)) {
    try {
      const found = await readOne(fd, oid)
      if (found === wanted) served.right++
      else if (isPartOf(found, wanted)) served.missing++
      else served.wrong.push(`${oid}: ${found} instead of ${wanted}`)
    } catch (error) {
      caught(oid, error)
    }
  }
  for (const [text, wanted] of Object.entries(expected.rows)) {
    try {
      const found = await readRows(fd, text)
      const strangers = without(found, wanted)
      if (strangers.length > 0) served.wrong.push(`${text}: ${strangers[0]}`)
      else if (found.length < wanted.length) served.missing++
      else if (found.join() !== wanted.join()) served.wrong.push(`${text}: in another order`)
      else served.right++
    } catch (error) {
      caught(text, error)
    }
  }
  return served
}

async function readOne(fd: FederatedDatabase, oid: string): Promise<string> {
  return (await fd.readObject(oid)).toString()
}

async function readRows(fd: FederatedDatabase, text: string): Promise<string[]> {
  return rowTexts(await fd.query({ text }))
}

/** An object that lacks elements of its collections, which are entries of their own, and is otherwise as it was. */
function isPartOf(found: string, wanted: string): boolean {
  const [one, other] = [JSON.parse(found), JSON.parse(wanted)] as Record<string, unknown>[]
  return Object.entries(other ?? {}).every(([name, value]) => {
    const given = one?.[name]
    if (Array.isArray(value) && Array.isArray(given)) return without(given.map(String), value.map(String)).length === 0
    return JSON.stringify(given) === JSON.stringify(value)
  })
}

/** Those of `some` that are not among `all`, each as often. */
function without(some: readonly string[], all: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const one of all) left.set(one, (left.get(one) ?? 0) + 1)
  return some.filter((one) => {
    const count = left.get(one) ?? 0
    left.set(one, count - 1)
    return count <= 0
  })
}
