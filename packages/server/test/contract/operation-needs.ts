/** What each operation needs, and so what a caller with some rights gets for it (contract 9.3). */
import { expect } from 'vitest'
import type { Operation } from '../../src/dispatch/operation.ts'
import type { Need } from '../../src/security/roles.ts'

/** A caller of the federated databases `fleet` and `sales`, who asks for something of `fleet`. */
export interface MatrixCaller {
  /** Of one whose rights are for one federated database: `role@alias`. */
  readonly name: string
  readonly authorization: string | undefined
  readonly allows: readonly Need[]
  /** By grants for parts of it alone. */
  readonly isPartial?: true
}

/** By path, of operations whose needs depend on the request: what those that `bodyOf` makes need. */
const needsByPath: Readonly<Record<string, readonly Need[]>> = {
  '/v1/query': ['define'],
  '/v1/tool': ['operate', 'read'],
  '/v1/webhook/:name/dead-letter/:number': ['operate', 'read'],
}

/** What a request of the operation needs, with the body that `bodyOf` gives. */
export function needsOf({ needs, path }: Operation): readonly Need[] {
  if (typeof needs === 'string') return [needs]
  expect(needsByPath).toHaveProperty([path])
  return needsByPath[path] ?? []
}

/** Whether grants for parts of it may be enough for the operation at all. */
export function isByClass(operation: Operation): boolean {
  return operation.scope === 'fd' && operation.isFdWide !== true
}

/** The type of the refusal; `served`: neither of them. Operations on the callers themselves may refuse for reasons of their own: undefined. */
function outcomeOf(
  operation: Operation,
  { name, allows, isPartial: isOfPart }: MatrixCaller,
): 'Unauthenticated' | 'Forbidden' | 'FederatedDatabaseNotFound' | 'served' | undefined {
  const needs = needsOf(operation)
  const isOpen = needs.includes('identify') || needs.includes('nothing')
  if (!allows.includes('identify') && !needs.includes('nothing')) return 'Unauthenticated'
  if (name.endsWith('@sales') && operation.scope === 'fd') return 'FederatedDatabaseNotFound'
  // What concerns the server as a whole is not allowed by a role for one federated database.
  const isPartial = name.includes('@') && operation.scope === 'service' && !isOpen
  const isForWhole = isOfPart === true && !isOpen && !isByClass(operation)
  if (!needs.every((need) => allows.includes(need)) || isPartial || isForWhole) return 'Forbidden'
  return operation.path.startsWith('/v1/security/') ? undefined : 'served'
}

/** Throws where a reply is not the expected one. */
export function expectOutcome(
  operation: Operation,
  caller: MatrixCaller,
  { status, type }: { readonly status: number; readonly type: string | undefined },
): void {
  const outcome = outcomeOf(operation, caller)
  if (outcome === undefined) return
  const shown = [`${operation.method} ${operation.path}`, caller.name, status, type]
  const refusal = { Unauthenticated: 401, Forbidden: 403, FederatedDatabaseNotFound: 404 }
  if (outcome !== 'served') expect(shown).toEqual([...shown.slice(0, 2), refusal[outcome], outcome])
  else expect([...shown, type !== undefined && type in refusal]).toEqual([...shown, false])
}
