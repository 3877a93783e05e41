/** Authorization: each operation is checked here before it runs, alone or in a transaction (contract 9.3). */
import { type AccessPolicy, AshlarError, type FederatedDatabase } from '@ashlar/engine'
import { unauthenticated } from '../security/authenticator.ts'
import type { Caller } from '../security/caller.ts'
import { mayServe } from '../security/policy-of.ts'
import type { Need } from '../security/roles.ts'

export interface Demand {
  /** A query may have several needs, known only after parsing its text; callers without any permission are refused before (`mayAnything`). */
  readonly needs: Need | readonly Need[]
  /** The operation concerns the federated database as a whole, not single classes. */
  readonly isFdWide?: true | undefined
  /** The operation has steps, each of which is authorized separately. */
  readonly hasSteps?: true | undefined
}

/** Returns the policy to enforce if the permission does not cover the whole federated database. Throws Unauthenticated, Forbidden. */
export function authorize(
  caller: Caller,
  { needs, isFdWide, hasSteps }: Demand,
  fd: FederatedDatabase | undefined,
): AccessPolicy | undefined {
  if (caller.kind === 'everyone') return undefined
  const all = typeof needs === 'string' ? [needs] : needs
  if (typeof needs !== 'string' && fd !== undefined) requireAnything(caller, fd)
  const policy = fd === undefined || isFdWide === true ? undefined : caller.policyOn(fd.alias)
  if (policy === undefined || !all.every(isByClass)) {
    for (const need of all) {
      if (caller.may(need, fd?.alias)) continue
      if (fd !== undefined && isFdWide === true) refuseParts(caller, need, fd)
      refuse(caller, need, fd)
    }
    return undefined
  }
  // A caller who lacks `read` on the whole gets a policy, since changes read, too.
  const required = hasSteps === true ? byClass : new Set<Need>([...all, 'read'])
  if ([...required].every((one) => caller.may(one, fd?.alias))) return undefined
  // A change requires no permission to read: the policy hides the data it may not read.
  const changing = all.filter((need) => need !== 'read')
  for (const need of changing.length > 0 ? changing : all) if (!mayServe(policy, need)) refuse(caller, need, fd)
  return policy
}

/** Throws Unauthenticated, or Forbidden if the caller has no permission at all there. */
export function requireAnything(caller: Caller, fd: FederatedDatabase): void {
  if (!caller.mayAnything(fd.alias)) refuse(caller, 'use', fd)
}

/** Actions that policies can restrict. */
const byClass: ReadonlySet<Need> = new Set<Need>(['read', 'write', 'define'])

function isByClass(need: Need): boolean {
  return byClass.has(need)
}

/** Gives a caller with permission for parts of the database a message that says so. */
function refuseParts(caller: Caller, need: Need, { alias }: FederatedDatabase): void {
  if (caller.kind === 'nobody' || caller.policyOn(alias) === undefined) return
  throw new AshlarError(
    'Forbidden',
    `This is about the federated database ${alias} as a whole (${need}), and roles of the caller are for parts of it.`,
  )
}

const words: Readonly<Record<Exclude<Need, 'nothing'> | 'use', string>> = {
  use: 'use',
  read: 'read',
  write: 'change objects of',
  define: 'change classes and indexes of',
  operate: 'operate',
  administer: 'change users, tokens and roles of',
  identify: 'use',
}

function refuse(caller: Caller, action: Need | 'use', fd: FederatedDatabase | undefined): never {
  if (caller.kind === 'nobody' || action === 'nothing') throw unauthenticated({ headers: {} }, requiresCaller)
  const place = fd === undefined ? 'the server as a whole' : placeOf(caller, fd.alias)
  throw new AshlarError('Forbidden', `The caller may not ${words[action]} ${place} (${action}).`)
}

/** Hides the name of the default federated database from callers without permissions on it. */
function placeOf(caller: Caller, alias: string): string {
  return caller.mayAnything(alias) ? `the federated database ${alias}` : 'the default federated database'
}

export const requiresCaller = 'Authentication required: send a token, a user name with its password, or sign in.'
