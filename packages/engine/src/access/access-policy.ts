/** Access policies: the permissions of a caller, as plain data combined from its roles (decision 0026). */
import { createHash } from 'node:crypto'
import { AshlarError, type ErrorDetail } from '../errors.ts'
import { accessGrantsMax, accessNamesMax, accessRuleCharactersMax } from '../limits.ts'
import type { User } from '../query/values/user.ts'

export const accessActions = ['read', 'create', 'update', 'delete', 'define', 'index', 'query'] as const
export type AccessAction = (typeof accessActions)[number]

const ruledActions = ['read', 'create', 'update', 'delete'] as const
/** Actions on single objects, which may depend on a predicate. */
export type RuledAction = (typeof ruledActions)[number]

/** Scope of a grant: all classes, a namespace or one class, each including subclasses. */
export type GrantScope =
  | { readonly kind: 'all' }
  /** null = the default namespace. */
  | { readonly kind: 'namespace'; readonly namespace: string | null }
  | { readonly kind: 'class'; readonly className: string }

export interface Grant {
  readonly on: GrantScope
  /** Further scopes: the grant applies only to classes within all of them. */
  readonly within?: readonly GrantScope[]
  readonly actions: readonly AccessAction[]
  /** Names of the only attributes that it shows, in every class of its scope; without it, all. A renamed attribute is not among them. */
  readonly shown?: readonly string[]
  /** Names of attributes that it hides, in every class of its scope. */
  readonly hidden?: readonly string[]
  /** Names of attributes that it does not allow to change. */
  readonly readOnly?: readonly string[]
  /** DO predicates over the object and `$$USER` that restrict the grant to matching objects; without one, it applies to all. */
  readonly rules?: Partial<Readonly<Record<RuledAction, string>>>
}

/** Grants combine by union, separately for objects and attributes: an attribute shown by one grant is visible in every visible object of its class. */
export interface AccessPolicy {
  /** `$$USER`; null for anonymous callers. */
  readonly user: User | null
  readonly grants: readonly Grant[]
}

/** Whether the policy hides nothing and allows everything. */
export function isUnrestricted({ grants }: AccessPolicy): boolean {
  return grants.some(
    (grant) => coversEverything(grant) && accessActions.every((action) => grant.actions.includes(action)),
  )
}

/** Whether its actions hold for all classes, and for everything of them. */
export function coversEverything({ on, within = [], shown, hidden = [], readOnly = [], rules = {} }: Grant): boolean {
  const isPlain =
    shown === undefined && [within, hidden, readOnly, Object.keys(rules)].every(({ length }) => length === 0)
  return on.kind === 'all' && isPlain
}

/** Equal for policies that allow the same, regardless of the user; used as a cache key. */
export function grantsId({ grants }: AccessPolicy): string {
  const canonical = [...new Set(grants.map(grantText))].sort()
  return createHash('sha256').update(JSON.stringify(canonical)).digest('base64url')
}

/** Equal for grants with the same meaning. */
export function grantText({ on, within = [], actions, shown, hidden = [], readOnly = [], rules = {} }: Grant): string {
  // The first scope is the one whose class the rules refer to, so it is not sorted.
  const scopes = [scopeText(on), ...[...new Set(within.map(scopeText))].sort()]
  const written = ruledActions.map((action) => rules[action] ?? null)
  const names = [shown, hidden, readOnly].map((list) => (list === undefined ? null : [...list].sort()))
  return JSON.stringify([scopes, [...actions].sort(), names, written])
}

export function scopeText(scope: GrantScope): string {
  if (scope.kind === 'all') return 'all'
  return JSON.stringify([scope.kind, scope.kind === 'namespace' ? scope.namespace : scope.className])
}

/** Equal for equal policies. */
export function policyId(policy: AccessPolicy): string {
  const { user } = policy
  const claims = user && Object.entries(user.claims).sort(([one], [other]) => (one < other ? -1 : 1))
  const who = user && [user.name, user.roles, claims]
  return createHash('sha256')
    .update(JSON.stringify([who, grantsId(policy)]))
    .digest('base64url')
}

/** Parses a policy from JSON. Throws MalformedRequest, and LimitExceeded for one that is too large. */
export function readAccessPolicy(json: unknown): AccessPolicy {
  const { user, grants } = fieldsOf(json, [], ['user', 'grants'])
  return { user: user === undefined || user === null ? null : readUser(user), grants: readAccessGrants(grants) }
}

/** Like `readAccessPolicy`; error locations begin with `grants`. */
export function readAccessGrants(json: unknown): readonly Grant[] {
  if (!Array.isArray(json)) throw malformed(['grants'], 'must be an array')
  if (json.length > accessGrantsMax) throw tooMuch(['grants'], `can have at most ${accessGrantsMax} elements`)
  return json.map((one, position) => readGrant(one, ['grants', position]))
}

type Place = ErrorDetail['place']

function readUser(json: unknown): User {
  const place = ['user']
  const { name, roles = [], claims = {} } = fieldsOf(json, place, ['name', 'roles', 'claims'])
  if (typeof name !== 'string') throw malformed([...place, 'name'], 'must be a text')
  const entries = Object.entries(fieldsOf(claims, [...place, 'claims']))
  for (const [claim, value] of entries) {
    if (typeof value !== 'string') throw malformed([...place, 'claims', claim], 'must be a text')
  }
  return {
    name,
    roles: textsOf(roles, [...place, 'roles']),
    claims: Object.fromEntries(entries) as Record<string, string>,
  }
}

function readGrant(json: unknown, place: Place): Grant {
  const fields = fieldsOf(json, place, ['on', 'actions', 'shown', 'hidden', 'readOnly', 'rules'])
  const { on, actions, shown, hidden, readOnly, rules } = fields
  const parsedActions = textsOf(actions, [...place, 'actions']).map((word, position): AccessAction => {
    const action = accessActions.find((each) => each === word)
    if (action !== undefined) return action
    throw malformed(
      [...place, 'actions', position],
      `('${word.slice(0, 60)}') must be one of ${accessActions.join(', ')}`,
    )
  })
  return {
    on: readScope(on, [...place, 'on']),
    actions: parsedActions,
    ...(shown === undefined ? {} : { shown: textsOf(shown, [...place, 'shown']) }),
    ...(hidden === undefined ? {} : { hidden: textsOf(hidden, [...place, 'hidden']) }),
    ...(readOnly === undefined ? {} : { readOnly: textsOf(readOnly, [...place, 'readOnly']) }),
    ...(rules === undefined ? {} : { rules: readRules(rules, [...place, 'rules']) }),
  }
}

function readScope(json: unknown, place: Place): GrantScope {
  const { kind, namespace, className } = fieldsOf(json, place, ['kind', 'namespace', 'className'])
  if (kind === 'all' && namespace === undefined && className === undefined) return { kind }
  if (kind === 'class' && typeof className === 'string' && namespace === undefined) return { kind, className }
  const isNamespace = kind === 'namespace' && className === undefined
  if (isNamespace && (typeof namespace === 'string' || namespace === null)) return { kind, namespace }
  const forms = ['{"kind":"all"}', '{"kind":"namespace","namespace":…}', '{"kind":"class","className":…}']
  throw malformed(place, `must be ${forms.slice(0, 2).join(', ')} or ${forms[2]}`)
}

function readRules(json: unknown, place: Place): NonNullable<Grant['rules']> {
  const rules = fieldsOf(json, place, ruledActions)
  for (const [action, text] of Object.entries(rules)) {
    if (typeof text !== 'string') throw malformed([...place, action], 'must be a predicate, as a text')
    if (text.length > accessRuleCharactersMax) {
      throw tooMuch([...place, action], `can have at most ${accessRuleCharactersMax} characters`)
    }
  }
  return rules as NonNullable<Grant['rules']>
}

/** `allowedFields`: permitted names; without it, any. */
function fieldsOf(json: unknown, place: Place, allowedFields?: readonly string[]): Record<string, unknown> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw malformed(place, 'must be an object')
  for (const name of Object.keys(json)) {
    if (allowedFields !== undefined && !allowedFields.includes(name)) {
      const last = allowedFields.length > 1 ? ` and ${allowedFields.at(-1)}` : ''
      const fields = `${allowedFields.slice(0, Math.max(1, allowedFields.length - 1)).join(', ')}${last}`
      throw malformed(place, `cannot have a field '${name.slice(0, 60)}': its fields are ${fields}`)
    }
  }
  return json as Record<string, unknown>
}

function textsOf(json: unknown, place: Place): string[] {
  if (!Array.isArray(json) || json.some((one) => typeof one !== 'string'))
    throw malformed(place, 'must be an array of texts')
  if (json.length > accessNamesMax) throw tooMuch(place, `can have at most ${accessNamesMax} elements`)
  return json as string[]
}

function malformed(place: Place, words: string): AshlarError {
  return refusal('MalformedRequest', place, words)
}

function tooMuch(place: Place, words: string): AshlarError {
  return refusal('LimitExceeded', place, words)
}

function refusal(type: 'MalformedRequest' | 'LimitExceeded', place: Place, words: string): AshlarError {
  const message = `${wordsOf(place)} ${words}.`
  return new AshlarError(type, message, [{ place, message }])
}

/** `Grant 2: rules.read`, `Grant 2: action 1`: one-based for human readers. */
function wordsOf([first, position, ...rest]: Place): string {
  if (first === undefined) return 'The policy'
  if (first !== 'grants' || typeof position !== 'number')
    return [first, position, ...rest].filter((one) => one !== undefined).join('.')
  const grant = `Grant ${position + 1}`
  const [field, nth] = rest
  if (field === undefined) return grant
  return field === 'actions' && typeof nth === 'number' ? `${grant}: action ${nth + 1}` : `${grant}: ${rest.join('.')}`
}
