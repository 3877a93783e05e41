/** What two sets of grants allow both: as grants, each of which allows what one of either set does together (contract 9.3). */
import { accessGrantsMax, accessPairsMax } from '../limits.ts'
import { type Grant, grantText, type RuledAction, scopeText } from './access-policy.ts'

/**
 * Undefined where that takes too many grants, or too long to find out. Exactly what both allow, but for two grants on different classes or namespaces that both have a rule
 * for an action: as the names in a rule mean the attributes of its own class, these two allow nothing together there.
 */
export function intersectGrants(one: readonly Grant[], other: readonly Grant[]): readonly Grant[] | undefined {
  if (Math.max(one.length, other.length) > accessGrantsMax) return undefined
  const [mine, theirs] = [byText(one), byText(other)]
  // A grant of both allows more than it does together with any other.
  const both = new Map([...mine].filter(([text]) => theirs.has(text)))
  const pairs = (mine.size - both.size) * (theirs.size - both.size)
  if (pairs > accessPairsMax) return undefined
  const made = new Map(both)
  for (const [text, a] of mine) {
    if (both.has(text)) continue
    for (const [otherText, b] of theirs) {
      if (both.has(otherText)) continue
      for (const grant of allowedByBoth(a, b)) made.set(grantText(grant), grant)
      if (made.size > accessGrantsMax) return undefined
    }
  }
  return [...made.values()]
}

function byText(grants: readonly Grant[]): ReadonlyMap<string, Grant> {
  return new Map(grants.map((grant) => [grantText(grant), grant]))
}

function allowedByBoth(a: Grant, b: Grant): Grant[] {
  const actions = a.actions.filter((action) => b.actions.includes(action))
  const isSameScope = isPlainScope(a) && isPlainScope(b) && scopeText(a.on) === scopeText(b.on)
  const [ofA, ofB]: [typeof actions, typeof actions] = [[], []]
  for (const action of actions) {
    const rules = [a, b].map((grant) => grant.rules?.[action as RuledAction])
    if (rules[1] === undefined || (isSameScope && rules[0] !== undefined)) ofA.push(action)
    else if (rules[0] === undefined) ofB.push(action)
  }
  return [...together(a, b, ofA, isSameScope), ...together(b, a, ofB, isSameScope)]
}

function isPlainScope({ within = [] }: Grant): boolean {
  return within.length === 0
}

/** With the scope of the first, whose class the rules mean. */
function together(a: Grant, b: Grant, actions: Grant['actions'], isSameScope: boolean): Grant[] {
  if (actions.length === 0) return []
  const within = isSameScope
    ? []
    : [...(a.within ?? []), b.on, ...(b.within ?? [])].filter(({ kind }) => kind !== 'all')
  const shown = a.shown === undefined || b.shown === undefined ? (a.shown ?? b.shown) : sharedBy(a.shown, b.shown)
  const hidden = [...new Set([...(a.hidden ?? []), ...(b.hidden ?? [])])]
  const readOnly = [...new Set([...(a.readOnly ?? []), ...(b.readOnly ?? [])])]
  const rules = actions.flatMap((action) => {
    const texts = [a, b].flatMap((grant) => grant.rules?.[action as RuledAction] ?? [])
    // A comment may be at the end of each.
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

/** Also where that is none: no list at all would show everything. */
function sharedBy(some: readonly string[], others: readonly string[]): string[] {
  const names = new Set(others)
  return some.filter((name) => names.has(name))
}
