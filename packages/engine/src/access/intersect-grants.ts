/** Intersects two sets of grants: each resulting grant is the intersection of a pair (contract 9.3). */
import { accessGrantsMax, accessPairsMax } from '../limits.ts'
import { type Grant, grantText, type RuledAction, scopeText } from './access-policy.ts'

/**
 * Undefined where that takes too many grants or pairs. Exact, except for two grants on different classes or namespaces that both have a rule for
 * an action: as names in a rule refer to attributes of the class of that rule, these allow nothing together.
 */
export function intersectGrants(one: readonly Grant[], other: readonly Grant[]): readonly Grant[] | undefined {
  if (Math.max(one.length, other.length) > accessGrantsMax) return undefined
  const [left, right] = [byText(one), byText(other)]
  // A grant in both sets allows at least as much as its intersection with any other.
  const both = new Map([...left].filter(([text]) => right.has(text)))
  const pairs = (left.size - both.size) * (right.size - both.size)
  if (pairs > accessPairsMax) return undefined
  const result = new Map(both)
  for (const [text, a] of left) {
    if (both.has(text)) continue
    for (const [otherText, b] of right) {
      if (both.has(otherText)) continue
      for (const grant of allowedByBoth(a, b)) result.set(grantText(grant), grant)
      if (result.size > accessGrantsMax) return undefined
    }
  }
  return [...result.values()]
}

function byText(grants: readonly Grant[]): ReadonlyMap<string, Grant> {
  return new Map(grants.map((grant) => [grantText(grant), grant]))
}

function allowedByBoth(a: Grant, b: Grant): Grant[] {
  const actions = a.actions.filter((action) => b.actions.includes(action))
  const isSameScope = isPlainScope(a) && isPlainScope(b) && scopeText(a.on) === scopeText(b.on)
  const [underA, underB]: [typeof actions, typeof actions] = [[], []]
  for (const action of actions) {
    const rules = [a, b].map((grant) => grant.rules?.[action as RuledAction])
    if (rules[1] === undefined || (isSameScope && rules[0] !== undefined)) underA.push(action)
    else if (rules[0] === undefined) underB.push(action)
  }
  return [...combined(a, b, underA, isSameScope), ...combined(b, a, underB, isSameScope)]
}

function isPlainScope({ within = [] }: Grant): boolean {
  return within.length === 0
}

/** With the scope of the first grant, to whose class the rules refer. */
function combined(a: Grant, b: Grant, actions: Grant['actions'], isSameScope: boolean): Grant[] {
  if (actions.length === 0) return []
  const within = isSameScope
    ? []
    : [...(a.within ?? []), b.on, ...(b.within ?? [])].filter(({ kind }) => kind !== 'all')
  const shown = a.shown === undefined || b.shown === undefined ? (a.shown ?? b.shown) : sharedBy(a.shown, b.shown)
  const hidden = [...new Set([...(a.hidden ?? []), ...(b.hidden ?? [])])]
  const readOnly = [...new Set([...(a.readOnly ?? []), ...(b.readOnly ?? [])])]
  const rules = actions.flatMap((action) => {
    const texts = [a, b].flatMap((grant) => grant.rules?.[action as RuledAction] ?? [])
    // Each rule may end with a comment, hence the line breaks.
    const [first, second] = [...new Set(texts)]
    if (first === undefined) return []
    return [[action, second === undefined ? first : `(${first}\n) AND (${second}\n)`] as const]
  })
  const grant: Grant = {
    on: a.on,
    actions,
    ...(within.length > 0 && { within }),
    ...(shown !== undefined && { shown }),
    ...(hidden.length > 0 && { hidden }),
    ...(readOnly.length > 0 && { readOnly }),
    ...(rules.length > 0 && { rules: Object.fromEntries(rules) }),
  }
  return [grant]
}

/** May be empty: a missing list would show everything. */
function sharedBy(left: readonly string[], right: readonly string[]): string[] {
  const names = new Set(right)
  return left.filter((name) => names.has(name))
}
