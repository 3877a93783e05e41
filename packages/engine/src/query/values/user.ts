/** `$$USER`: the authenticated user as queries see it. */
import { type RecordType, stringType } from './value-type.ts'

export interface User {
  readonly name: string
  readonly roles: readonly string[]
  readonly claims: Readonly<Record<string, string>>
}

export const userType: RecordType = {
  kind: 'record',
  fields: [
    { name: 'name', type: stringType },
    { name: 'roles', type: { kind: 'collection', form: 'list', element: stringType } },
    { name: 'claims', type: { kind: 'map', key: stringType, element: stringType } },
  ],
}

/** A value of `userType`; null if there is no authenticated user. */
export type UserValue = readonly unknown[] | null

export function userValue(user: User | null): UserValue {
  if (user === null) return null
  const claims = Object.entries(user.claims).map(([key, value]) => ({ key, value }))
  const byKey = (one: { key: string }, other: { key: string }): number => {
    return Buffer.compare(Buffer.from(one.key), Buffer.from(other.key))
  }
  return [user.name, user.roles, claims.sort(byKey)]
}
