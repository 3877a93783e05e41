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
import { actionsOf, type CustomRoles, grantsOf, type Need, type RoleGrant } from './roles.ts'

/** Actions on classes that correspond to actions on an entire federated database. */
const classActions: Readonly<Partial<Record<Need, readonly AccessAction[]>>> = {
  read: ['read', 'query'],
  write: ['create', 'update', 'delete'],
  define: ['define', 'index'],
}

interface GrantedCaller {
  readonly name: string | null
  readonly grants: readonly RoleGrant[]
  /** Grants of the owner of a token. */
  readonly bounds?: readonly RoleGrant[] | undefined
  readonly claims: User['claims']
}

/** The grants that apply to the federated database. */
function grantsFor(grants: readonly RoleGrant[], alias: string): readonly RoleGrant[] {
  return grants.filter(({ aliases }) => aliases === undefined || aliases.includes(alias))
}

/** `$$USER`: a user's token only has roles that the user has too, or a rule might hold for the token but not for the user. */
export function userOf({ name, grants, bounds, claims }: GrantedCaller, alias: string): User | null {
  if (name === null) return null
  const [roles, ownerRoles] = [grants, bounds ?? grants].map((all) => grantsFor(all, alias).map(({ role }) => role))
  return { name, roles: [...new Set(roles)].filter((role) => ownerRoles?.includes(role)), claims }
}

/** Returns undefined if no role restricts the caller, or no grant is left. Throws Forbidden for too many grants. */
export function policyOf(caller: GrantedCaller, alias: string, customRoles: CustomRoles): AccessPolicy | undefined {
  const { bounds } = caller
  const isByClass = ({ role }: RoleGrant): boolean => grantsOf(role, customRoles).length > 0
  const [callerGrants, ownerGrants] = [grantsFor(caller.grants, alias), grantsFor(bounds ?? [], alias)]
  if (!callerGrants.some(isByClass) && !ownerGrants.some(isByClass)) return undefined
  const access = accessGrants(callerGrants, customRoles)
  const grants = bounds === undefined ? access : intersectGrants(access, accessGrants(ownerGrants, customRoles))
  if (grants === undefined || grants.length > accessGrantsMax) {
    throw new AshlarError(
      'Forbidden',
      `The roles of the caller have too many grants on the federated database ${alias} together: there may be ${accessGrantsMax}, and fewer where a token and its owner have others.`,
    )
  }
  return grants.length === 0 ? undefined : { user: userOf(caller, alias), grants }
}

/** Includes the actions on the entire federated database. */
function accessGrants(granted: readonly RoleGrant[], customRoles: CustomRoles): readonly AccessGrant[] {
  const roles = [...new Set(granted.map(({ role }) => role))]
  const actions = new Set(
    roles.flatMap((role) => actionsOf(role, customRoles)).flatMap((action) => classActions[action] ?? []),
  )
  const onAll: AccessGrant[] = actions.size === 0 ? [] : [{ on: { kind: 'all' }, actions: [...actions] }]
  return [...onAll, ...roles.flatMap((role) => grantsOf(role, customRoles))]
}

/** Whether the policy may suffice for an operation with that need; the engine decides for which classes and objects. */
export function mayServe({ grants }: AccessPolicy, need: Need): boolean {
  const sufficient = classActions[need]
  return sufficient !== undefined && grants.some(({ actions }) => actions.some((action) => sufficient.includes(action)))
}
