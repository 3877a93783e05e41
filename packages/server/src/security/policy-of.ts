/** Combines the roles of a caller that do not cover a whole federated database into the policy for the engine (contract 9.3). */
import {
  type AccessAction,
  type Grant as AccessGrant,
  type AccessPolicy,
  AshlarError,
  accessGrantsMax,
  intersectGrants,
  type User,
} from '@ashlar/engine'
import { actionsOf, type CustomRoles, type Grant, grantsOf, type Need } from './roles.ts'

/** Actions on classes that correspond to actions on a whole federated database. */
const classActions: Readonly<Partial<Record<Need, readonly AccessAction[]>>> = {
  read: ['read', 'query'],
  write: ['create', 'update', 'delete'],
  define: ['define', 'index'],
}

/** A caller. */
interface Granted {
  readonly name: string | null
  readonly grants: readonly Grant[]
  /** Grants of the owner of a token. */
  readonly bounds?: readonly Grant[] | undefined
  readonly claims: User['claims']
}

/** The grants that hold for the federated database. */
function grantsFor(grants: readonly Grant[], alias: string): readonly Grant[] {
  return grants.filter(({ aliases }) => aliases === undefined || aliases.includes(alias))
}

/** `$$USER`: a token of a user has the roles alone that the user has as well, or a rule might hold for it that does not hold for the user. */
export function userOf({ name, grants, bounds, claims }: Granted, alias: string): User | null {
  if (name === null) return null
  const [own, ofOwner] = [grants, bounds ?? grants].map((all) => grantsFor(all, alias).map(({ role }) => role))
  return { name, roles: [...new Set(own)].filter((role) => ofOwner?.includes(role)), claims }
}

/** Returns undefined if no role restricts the caller, or no grant is left. Throws Forbidden for too many grants. */
export function policyOf(caller: Granted, alias: string, customRoles: CustomRoles): AccessPolicy | undefined {
  const { bounds } = caller
  const isByClass = ({ role }: Grant): boolean => grantsOf(role, customRoles).length > 0
  const [own, ofOwner] = [grantsFor(caller.grants, alias), grantsFor(bounds ?? [], alias)]
  if (!own.some(isByClass) && !ofOwner.some(isByClass)) return undefined
  const mine = accessGrants(own, customRoles)
  const grants = bounds === undefined ? mine : intersectGrants(mine, accessGrants(ofOwner, customRoles))
  if (grants === undefined || grants.length > accessGrantsMax) {
    throw new AshlarError(
      'Forbidden',
      `The roles of the caller have too many grants on the federated database ${alias} together: there may be ${accessGrantsMax}, and fewer where a token and its owner have others.`,
    )
  }
  return grants.length === 0 ? undefined : { user: userOf(caller, alias), grants }
}

/** With the actions on the whole of it. */
function accessGrants(granted: readonly Grant[], customRoles: CustomRoles): readonly AccessGrant[] {
  const roles = [...new Set(granted.map(({ role }) => role))]
  const whole = new Set(
    roles.flatMap((role) => actionsOf(role, customRoles)).flatMap((action) => classActions[action] ?? []),
  )
  const ofAll: AccessGrant[] = whole.size === 0 ? [] : [{ on: { kind: 'all' }, actions: [...whole] }]
  return [...ofAll, ...roles.flatMap((role) => grantsOf(role, customRoles))]
}

/** Whether the policy may be enough for an operation with that need: on which classes and objects, the engine decides. */
export function mayServe({ grants }: AccessPolicy, need: Need): boolean {
  const wanted = classActions[need]
  return wanted !== undefined && grants.some(({ actions }) => actions.some((action) => wanted.includes(action)))
}
