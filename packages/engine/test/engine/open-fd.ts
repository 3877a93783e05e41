/** A federated database for a test, verified before it is closed. */
import { expect } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { EngineLimits } from '../../src/limits.ts'
import type { Store } from '../../src/store/store.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

export async function withFd(
  classes: readonly object[],
  use: (fd: FederatedDatabase, store: Store) => Promise<void>,
  limits: Partial<EngineLimits> = {},
): Promise<void> {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store, limits })
  await fd.defineClasses(classes, 'create')
  await use(fd, store)
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
}

export function classOf(className: string, attributes: Record<string, string | object>, more: object = {}): object {
  const definitions = Object.entries(attributes).map(([attributeName, type]) => {
    return { attributeName, ...(typeof type === 'string' ? { logicalType: type } : type) }
  })
  return { className, isReferenceable: true, attributes: definitions, ...more }
}

export const toOne = (referencedClass: string, inverseAttribute?: string): object => ({
  logicalType: 'reference',
  referencedClass,
  ...(inverseAttribute === undefined ? {} : { inverseAttribute }),
})
export const toMany = (referencedClass: string, inverseAttribute?: string): object => ({
  logicalType: 'list',
  elementSpecification: toOne(referencedClass, inverseAttribute),
})

/** The type of the error, or ok. */
export async function outcome(act: Promise<unknown>): Promise<string> {
  try {
    await act
    return 'ok'
  } catch (error) {
    if (error instanceof AshlarError) return error.type
    throw error
  }
}

export async function read(fd: FederatedDatabase, oid: string): Promise<Record<string, unknown>> {
  return JSON.parse((await fd.readObject(oid)).toString()) as Record<string, unknown>
}

export function index(name: string, indexedClass: string, isUnique: boolean, ...attributes: string[]): object {
  return { name, indexedClass, isUnique, keyAttributes: attributes.map((attributeName) => ({ attributeName })) }
}
