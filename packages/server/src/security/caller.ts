/** The caller of a request, and its permissions (contract 9.1). */
import { type AccessPolicy, AshlarError, grantText, type User } from '@ashlar/engine'
import { policyOf, userOf } from './policy-of.ts'
import {
  actions,
  actionsOf,
  type CustomRoles,
  type Need,
  noCustomRoles,
  type PermittedAction,
  type RoleGrant,
} from './roles.ts'

/** `password`, `jwt`, `certificate`: the ID is the user name, the subject of the token, or the subject of the certificate. */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'token' | 'session' | 'password' | 'jwt' | 'certificate'; readonly id: string }

const noCredential: Credential = { kind: 'none' }

export function credentialText(credential: Credential): string {
  return credential.kind === 'none' ? credential.kind : `${credential.kind}:${credential.id}`
}

/** How the caller was identified. `everyone`: authentication is off. `nobody` (with authentication): no credential. */
export type CallerKind = 'everyone' | 'nobody' | 'user' | 'token' | 'jwt' | 'certificate'

export interface CallerFacts {
  readonly kind: CallerKind
  /** The name in rules and logs; null if unknown. */
  readonly name: string | null
  /** A unique identity across requests, for example for Idempotency-Keys. Empty if unknown. */
  readonly identity: string
  readonly grants: readonly RoleGrant[]
  /** Grants of the owner of a token, beyond which the token allows nothing. */
  readonly bounds?: readonly RoleGrant[] | undefined
  /** Definitions of the custom roles among the grants. */
  readonly customRoles?: CustomRoles
  readonly claims: Readonly<Record<string, string>>
  readonly credential: Credential
  /** The end of validity in clock time; infinite if there is none. */
  readonly expiresAtMs: number
}

export interface Caller extends CallerFacts {
  /** Whether the caller has the permission on an entire federated database; without `alias`, on the server, by a role for all of them. */
  may(need: Need, alias: string | undefined): boolean
  /** Returns the grants on parts of a federated database; undefined if the caller has no role with such grants. Throws Forbidden. */
  policyOn(alias: string): AccessPolicy | undefined
  /** Whether the caller has any permission on it. */
  mayAnything(alias: string): boolean
  /** The value of `$$USER` there. */
  userOn(alias: string): User | null
}

const bits = Object.fromEntries(actions.map((action, position) => [action, 1 << position])) as Record<
  PermittedAction,
  number
>
const noBits = 0
const allBits = (1 << actions.length) - 1

export function makeCaller(facts: CallerFacts): Caller {
  const { kind, grants, bounds, customRoles = noCustomRoles } = facts
  const allowed = (alias: string | undefined): number => {
    const bound = bounds === undefined ? allBits : actionBits(bounds, alias, customRoles)
    return actionBits(grants, alias, customRoles) & bound
  }
  const everywhere = kind === 'everyone' ? allBits : allowed(undefined)
  const aliases = new Set([...grants, ...(bounds ?? [])].flatMap((grant) => grant.aliases ?? []))
  /** Includes roles for all federated databases. */
  const byAlias = new Map([...aliases].map((alias) => [alias, allowed(alias)]))
  const bitsFor = (alias: string | undefined): number =>
    (alias === undefined ? undefined : byAlias.get(alias)) ?? everywhere
  /** Policies by alias, or the error for too many grants, which takes as long to compute. */
  const policies = new Map<string, AccessPolicy | AshlarError | undefined>()
  const users = new Map<string, User | null>()
  const caller: Caller = {
    ...facts,
    customRoles,
    may(need, alias) {
      if (need === 'nothing') return true
      if (need === 'identify') return kind !== 'nobody'
      return (bitsFor(alias) & bits[need]) !== 0
    },
    mayAnything: (alias) => bitsFor(alias) !== 0 || caller.policyOn(alias) !== undefined,
    policyOn(alias) {
      if (!policies.has(alias)) policies.set(alias, policyOrRefusal(facts, alias, customRoles))
      const policy = policies.get(alias)
      if (policy instanceof AshlarError) throw policy
      return policy
    },
    userOn(alias) {
      let user = users.get(alias)
      if (user === undefined) {
        user = userOf(facts, alias)
        users.set(alias, user)
      }
      return user
    },
  }
  return caller
}

function policyOrRefusal(
  facts: CallerFacts,
  alias: string,
  customRoles: CustomRoles,
): AccessPolicy | AshlarError | undefined {
  try {
    return policyOf(facts, alias, customRoles)
  } catch (error) {
    if (error instanceof AshlarError) return error
    throw error
  }
}

/** Returns the actions of the grants for all federated databases and, with an alias, of those for that one. */
function actionBits(grants: readonly RoleGrant[], alias: string | undefined, customRoles: CustomRoles): number {
  let all = noBits
  for (const { role, aliases } of grants) {
    if (aliases !== undefined && (alias === undefined || !aliases.includes(alias))) continue
    for (const action of actionsOf(role, customRoles)) all |= bits[action]
  }
  return all
}

/** Whether a caller still has all permissions on the federated database that it had before. Throws Forbidden. */
export function mayStill(now: Caller, before: Caller, alias: string): boolean {
  if (!actions.every((action) => !before.may(action, alias) || now.may(action, alias))) return false
  const policy = before.policyOn(alias)
  if (policy === undefined) return true
  // Access rules may refer to attributes of the user that have changed.
  const isSameUser = JSON.stringify(now.userOn(alias)) === JSON.stringify(before.userOn(alias))
  return isSameUser && allowsAll(now.policyOn(alias), policy)
}

function allowsAll(now: AccessPolicy | undefined, { grants }: AccessPolicy): boolean {
  const texts = new Set(now?.grants.map(grantText))
  return grants.every((grant) => texts.has(grantText(grant)))
}

export function withRoles(caller: CallerFacts, customRoles: CustomRoles): Caller {
  return makeCaller({ ...caller, customRoles })
}

const unknown = { name: null, identity: '', grants: [], claims: {}, expiresAtMs: Number.POSITIVE_INFINITY } as const

/** The caller on a server without authentication, who may do everything. */
export const everyone: Caller = makeCaller({ ...unknown, kind: 'everyone', credential: noCredential })

export const nobody: Caller = makeCaller({ ...unknown, kind: 'nobody', credential: noCredential })
