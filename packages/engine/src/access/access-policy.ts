/** What a caller may see and do, as plain data that its roles add up to (decision 0026). */
import { createHash } from 'node:crypto'
import { AshlarError } from '../errors.ts'
import { accessGrantsMax, accessNamesMax, accessRuleCharactersMax } from '../limits.ts'
import type { User } from '../query/values/user.ts'

export const accessActions = ['read', 'create', 'update', 'delete', 'define', 'index'] as const
export type AccessAction = (typeof accessActions)[number]

const ruledActions = ['read', 'create', 'update', 'delete'] as const
/** Actions on single objects, which a predicate may decide. */
export type RuledAction = (typeof ruledActions)[number]

/** What a grant is about: all classes, those of a namespace, or one class; the subclasses of each with it. */
export type GrantScope =
  | { readonly kind: 'all' }
  /** null = the default namespace. */
  | { readonly kind: 'namespace'; readonly namespace: string | null }
  | { readonly kind: 'class'; readonly className: string }

export interface Grant {
  readonly on: GrantScope
  readonly actions: readonly AccessAction[]
  /** Attributes that it does not show, by name, in every class that it is about. */
  readonly hidden?: readonly string[]
  /** Attributes that it does not let be changed. */
  readonly readOnly?: readonly string[]
  /** DO predicates over the object and `$$USER`: what of the class the grant is about; without one, all of it. */
  readonly rules?: Partial<Readonly<Record<RuledAction, string>>>
}

/**
 * Several grants add up: what one of them allows is allowed, and what one of them shows is seen. Objects and attributes do so apart: an attribute that one grant for the
 * class shows is seen in all objects that any of them shows.
 */
export interface AccessPolicy {
  /** `$$USER`; null where nobody is known. */
  readonly user: User | null
  readonly grants: readonly Grant[]
}

/** Nothing is kept from a caller that has it. */
export function isUnrestricted({ grants }: AccessPolicy): boolean {
  return grants.some(({ on, actions, hidden = [], readOnly = [], rules = {} }) => {
    const isPlain = hidden.length === 0 && readOnly.length === 0 && Object.keys(rules).length === 0
    return on.kind === 'all' && isPlain && accessActions.every((action) => actions.includes(action))
  })
}

/** The same for policies that allow the same, whoever has them; what is kept for one is kept by it. */
export function grantsId({ grants }: AccessPolicy): string {
  const canonical = grants.map((grant) => {
    const { on, actions, hidden = [], readOnly = [], rules = {} } = grant
    const scope = on.kind === 'all' ? [] : [on.kind === 'namespace' ? on.namespace : on.className]
    const written = ruledActions.map((action) => rules[action] ?? null)
    return JSON.stringify([on.kind, scope, [...actions].sort(), [...hidden].sort(), [...readOnly].sort(), written])
  })
  return createHash('sha256')
    .update(JSON.stringify([...new Set(canonical)].sort()))
    .digest('base64url')
}

/** The same for the same policy. */
export function policyId(policy: AccessPolicy): string {
  const { user } = policy
  const claims = user && Object.entries(user.claims).sort(([one], [other]) => (one < other ? -1 : 1))
  const who = user && [user.name, user.roles, claims]
  return createHash('sha256')
    .update(JSON.stringify([who, grantsId(policy)]))
    .digest('base64url')
}

/** A policy from JSON. Throws MalformedRequest, and LimitExceeded for one that is too large. */
export function readAccessPolicy(json: unknown): AccessPolicy {
  const { user, grants } = fieldsOf(json, 'a policy', ['user', 'grants'])
  if (!Array.isArray(grants)) throw malformed('grants is an array')
  if (grants.length > accessGrantsMax) throw tooMuch(`a policy has at most ${accessGrantsMax} grants`)
  return { user: user === undefined || user === null ? null : readUser(user), grants: grants.map(readGrant) }
}

function readUser(json: unknown): User {
  const { name, roles = [], claims = {} } = fieldsOf(json, 'a user', ['name', 'roles', 'claims'])
  if (typeof name !== 'string') throw malformed('the name of a user is a text')
  const entries = Object.entries(fieldsOf(claims, 'claims'))
  for (const [, value] of entries) if (typeof value !== 'string') throw malformed('claims are texts')
  return { name, roles: textsOf(roles, 'roles'), claims: Object.fromEntries(entries) as Record<string, string> }
}

function readGrant(json: unknown): Grant {
  const fields = fieldsOf(json, 'a grant', ['on', 'actions', 'hidden', 'readOnly', 'rules'])
  const { on, actions, hidden, readOnly, rules } = fields
  const known = textsOf(actions, 'actions').map((word): AccessAction => {
    const action = accessActions.find((each) => each === word)
    if (action === undefined) throw malformed(`an action is ${accessActions.join(', ')}`)
    return action
  })
  return {
    on: readScope(on),
    actions: known,
    ...(hidden === undefined ? {} : { hidden: textsOf(hidden, 'hidden') }),
    ...(readOnly === undefined ? {} : { readOnly: textsOf(readOnly, 'readOnly') }),
    ...(rules === undefined ? {} : { rules: readRules(rules) }),
  }
}

function readScope(json: unknown): GrantScope {
  const { kind, namespace, className } = fieldsOf(json, 'on', ['kind', 'namespace', 'className'])
  if (kind === 'all' && namespace === undefined && className === undefined) return { kind }
  if (kind === 'class' && typeof className === 'string' && namespace === undefined) return { kind, className }
  const isNamespace = kind === 'namespace' && className === undefined
  if (isNamespace && (typeof namespace === 'string' || namespace === null)) return { kind, namespace }
  throw malformed('a grant is on {kind: all}, on {kind: namespace, namespace}, or on {kind: class, className}')
}

function readRules(json: unknown): NonNullable<Grant['rules']> {
  const rules = fieldsOf(json, 'rules', ruledActions)
  for (const text of Object.values(rules)) {
    if (typeof text !== 'string') throw malformed('a rule is a predicate, as a text')
    if (text.length > accessRuleCharactersMax) {
      throw tooMuch(`a rule has at most ${accessRuleCharactersMax} characters`)
    }
  }
  return rules as NonNullable<Grant['rules']>
}

/** `known`: the fields that there may be; without them, any. */
function fieldsOf(json: unknown, what: string, known?: readonly string[]): Record<string, unknown> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw malformed(`${what} is an object`)
  for (const name of Object.keys(json)) {
    if (known !== undefined && !known.includes(name)) throw malformed(`${what} has no field '${name.slice(0, 60)}'`)
  }
  return json as Record<string, unknown>
}

function textsOf(json: unknown, what: string): string[] {
  if (!Array.isArray(json) || json.some((one) => typeof one !== 'string'))
    throw malformed(`${what} is an array of texts`)
  if (json.length > accessNamesMax) throw tooMuch(`${what} has at most ${accessNamesMax} elements`)
  return json as string[]
}

function malformed(words: string): AshlarError {
  return new AshlarError('MalformedRequest', `What a caller may do: ${words}.`)
}

function tooMuch(words: string): AshlarError {
  return new AshlarError('LimitExceeded', `What a caller may do: ${words}.`)
}
