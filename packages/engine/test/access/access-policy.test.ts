/** Policies: what is read from JSON, what is refused, and which are the same. */
import { describe, expect, it } from 'vitest'
import {
  type AccessPolicy,
  accessActions,
  isUnrestricted,
  policyId,
  readAccessGrants,
  readAccessPolicy,
} from '../../src/access/access-policy.ts'
import { checkRule } from '../../src/access/object-rules.ts'
import { AshlarError } from '../../src/errors.ts'

const user = { name: 'bob', roles: ['team'], claims: { sub: 'b', org: 'o' } }
const grant = {
  on: { kind: 'class', className: 'A' },
  actions: ['read', 'update'],
  hidden: ['x', 'y'],
  rules: { read: 'a = 1' },
}

describe('a policy', () => {
  it('is what its JSON says', () => {
    expect(readAccessPolicy({ user, grants: [grant] })).toEqual({ user, grants: [grant] })
    expect(readAccessPolicy({ grants: [] })).toEqual({ user: null, grants: [] })
  })

  const refused: Readonly<Record<string, unknown>> = {
    'no object': [],
    'no grants': {},
    'an unknown field': { grants: [], roles: [] },
    'an unknown action': { grants: [{ on: { kind: 'all' }, actions: ['drop'] }] },
    'an unknown scope': { grants: [{ on: { kind: 'some' }, actions: [] }] },
    'a scope with too much': { grants: [{ on: { kind: 'all', className: 'A' }, actions: [] }] },
    'a rule of no action': { grants: [{ on: { kind: 'all' }, actions: [], rules: { define: 'TRUE' } }] },
    'a rule that is no text': { grants: [{ on: { kind: 'all' }, actions: [], rules: { read: true } }] },
    'a claim that is no text': { user: { name: 'a', claims: { a: 1 } }, grants: [] },
    'a name that is no text': { user: { name: 1 }, grants: [] },
  }
  for (const [what, json] of Object.entries(refused)) {
    it(`is refused with ${what}`, () => {
      expect(() => readAccessPolicy(json)).toThrow(AshlarError)
    })
  }

  it('is refused with the place of what is wrong', () => {
    const rules = { read: 'x'.repeat(10_001) }
    const grants = [grant, { on: { kind: 'all' }, actions: ['read'], rules }]
    const place = ['grants', 1, 'rules', 'read']
    const message = 'Grant 2: rules.read can have at most 10000 characters.'
    expect(() => readAccessGrants(grants)).toThrow(
      expect.objectContaining({ type: 'LimitExceeded', message, errors: [{ place, message }] }),
    )
    expect(() => readAccessGrants([{ ...grant, actions: ['read', 'drop'] }])).toThrow(
      /^Grant 1: action 2 \('\w+'\) must be one of read,/,
    )
    expect(() => readAccessGrants([{ ...grant, on: { kind: 'class' } }])).toThrow(
      /^Grant 1: on must be \{"kind":"all"\}, /,
    )
    expect(() => readAccessPolicy([])).toThrow(/^The policy must be an object\.$/)
  })

  it('has rules that are predicates', () => {
    expect(() => checkRule('owner = $$USER.name OR $$USER.name IN team.members.name')).not.toThrow()
    for (const text of ['', 'owner = ', 'a = 1; DELETE FROM A', 'FROM A RETURN *']) {
      expect(() => checkRule(text)).toThrow(AshlarError)
    }
  })

  it('tells the names that are shown from none, which shows everything', () => {
    const [none, some, turned, empty] = [{}, { shown: ['b', 'a'] }, { shown: ['a', 'b'] }, { shown: [] }].map((more) =>
      readAccessPolicy({ grants: [{ ...grant, ...more }] }),
    )
    expect(some?.grants).toEqual([{ ...grant, shown: ['b', 'a'] }])
    expect(new Set([none, some, turned, empty].map((each) => policyId(each as AccessPolicy))).size).toBe(3)
    expect(() => readAccessGrants([{ ...grant, shown: 'a' }])).toThrow(/^Grant 1: shown must be an array of texts\.$/)
  })

  it('is the same as one that says the same in another order, and no other', () => {
    const one = readAccessPolicy({ user, grants: [grant, { on: { kind: 'all' }, actions: ['read'] }] })
    const turned = { ...grant, actions: ['update', 'read'], hidden: ['y', 'x'] }
    const claims = { org: 'o', sub: 'b' }
    const same = readAccessPolicy({
      user: { ...user, claims },
      grants: [{ on: { kind: 'all' }, actions: ['read'] }, turned],
    })
    expect(policyId(same)).toBe(policyId(one))
    const others = [
      { user: null, grants: one.grants },
      { user: { ...user, name: 'eve' }, grants: one.grants },
      { user, grants: one.grants.slice(1) },
      { user, grants: [{ ...one.grants[0], readOnly: ['x'] }, ...one.grants.slice(1)] },
      { user, grants: [{ ...one.grants[0], rules: { update: 'a = 1' } }, ...one.grants.slice(1)] },
    ]
    for (const other of others) expect(policyId(readAccessPolicy(other))).not.toBe(policyId(one))
  })

  it('keeps nothing from a caller with every action on all classes', () => {
    const all = { on: { kind: 'all' }, actions: accessActions } as const
    expect(isUnrestricted({ user, grants: [all] })).toBe(true)
    expect(isUnrestricted({ user, grants: [{ ...all, actions: ['read'] }] })).toBe(false)
    expect(isUnrestricted({ user, grants: [{ ...all, hidden: ['x'] }] })).toBe(false)
    expect(isUnrestricted({ user, grants: [{ ...all, shown: [] }] })).toBe(false)
    expect(isUnrestricted({ user, grants: [{ ...all, rules: { delete: 'FALSE' } }] })).toBe(false)
    expect(isUnrestricted({ user, grants: [] })).toBe(false)
  })
})
