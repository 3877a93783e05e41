/** Random changes of the objects of `access-world.ts`, policies that allow some of them, and what is expected of each. */
import fc from 'fast-check'
import type { AccessPolicy, Grant, RuledAction } from '../../src/access/access-policy.ts'
import { pairs } from '../model/model-schema.ts'
import {
  coveringGrants,
  droppedAttributes,
  few,
  hubHidden,
  hubRules,
  isHiddenOid,
  itemHidden,
  itemRules,
  policy,
  showsName,
  withoutHidden,
} from './access-world.ts'
import { mayTipsHide, originsOf } from './list-model.ts'

export type Row = Record<string, unknown>
type Cls = 'Item' | 'SubItem' | 'Hub'

/** `kind`: of a collection; `value`: with OIDs. */
interface Change {
  readonly name: string
  readonly kind: 'set' | 'merge' | 'add' | 'remove'
  readonly value: unknown
}
export interface Command {
  readonly kind: 'create' | 'update' | 'delete'
  /** Of a creation. */
  readonly cls: Cls
  /** Of the others; among all objects. */
  readonly at: number
  readonly changes: readonly Change[]
}

const place = fc.nat(20)
/** Stands for an object until it is known which there are. */
const item = place.map((nth) => ({ $item: nth }))
const hub = place.map((nth) => ({ $hub: nth }))
const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | '0-0-0-0'> =>
  fc.oneof({ weight: 3, arbitrary: one }, { weight: 1, arbitrary: fc.constant('0-0-0-0' as const) })
const text = fc.constantFrom('', 'a', 'abcd', 'new')
const number = fc.option(fc.integer({ min: -1, max: 3 }), { freq: 5 })
const many = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.uniqueArray(one, { maxLength: 4, selector: (each) => JSON.stringify(each) })

type Value = fc.Arbitrary<Pick<Change, 'kind' | 'value'>>
const set = (value: fc.Arbitrary<unknown>): Value => value.map((one) => ({ kind: 'set', value: one }))
const elements = (one: fc.Arbitrary<unknown>): Value =>
  fc.record({ kind: fc.constantFrom('set', 'add', 'remove'), value: many(one) })
const entries = (key: fc.Arbitrary<unknown>, value: fc.Arbitrary<unknown>): Value =>
  fc.record({
    kind: fc.constantFrom('set', 'add', 'remove'),
    value: fc.uniqueArray(fc.record({ key, value }), { maxLength: 3, selector: ({ key }) => JSON.stringify(key) }),
  })
const fields = (all: Record<string, fc.Arbitrary<unknown>>): Value =>
  fc.record({ kind: fc.constantFrom('set', 'merge'), value: fc.record(all, { requiredKeys: [] }) })
const tip = { to: maybe(item), hub: maybe(hub), more: many(item) }

const ofItem: Record<string, Value> = {
  name: set(text),
  n: set(number),
  part: fields({ a: number, b: text }),
  uni: set(maybe(item)),
  plain: elements(item),
  bag: elements(item),
  seq: elements(item),
  byName: entries(fc.constantFrom('a', 'b', 'c'), maybe(item)),
  left: set(maybe(item)),
  right: set(maybe(item)),
  spouse: set(maybe(item)),
  owner: set(maybe(hub)),
  group: set(maybe(hub)),
  tags: elements(hub),
  liked: elements(hub),
  tip: fields(tip),
  tips: fc.record({ kind: fc.constantFrom('set', 'add', 'remove'), value: fc.array(fc.record(tip), { maxLength: 3 }) }),
  any: set(maybe(fc.oneof(item, hub))),
  byItem: entries(item, maybe(hub)),
}
const ofHub: Record<string, Value> = {
  title: set(text),
  items: elements(item),
  members: elements(item),
  tagged: elements(item),
  likers: elements(item),
}

const changesOf = (values: Record<string, Value>): fc.Arbitrary<Change[]> =>
  fc
    .uniqueArray(fc.oneof(...Object.entries(values).map(([name, value]) => value.map((one) => ({ name, ...one })))), {
      minLength: 1,
      maxLength: 3,
      // Of two that set the same link from both its ends the second would decide.
      selector: ({ name }) => (name === 'right' ? 'left' : name),
    })
    .map((changes) => changes as Change[])

export const command: fc.Arbitrary<Command> = fc
  .record({
    kind: fc.constantFrom(
      'create' as const,
      'update' as const,
      'update' as const,
      'update' as const,
      'delete' as const,
    ),
    cls: fc.constantFrom<Cls>('Item', 'Item', 'SubItem', 'Hub'),
    at: fc.nat(40),
    changes: fc.constant([]),
  })
  .chain((base) => fc.record({ ofItem: changesOf(ofItem), ofHub: changesOf(ofHub) }).map((both) => ({ ...base, both })))
  .map(({ both, ...base }) => ({ ...base, changes: [...both.ofItem, ...both.ofHub] }))

const ruled = <T>(rules: readonly T[]): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constantFrom(...rules), { nil: undefined, freq: 2 })
const writing = (rules: readonly string[], names: readonly string[]) =>
  fc.record({
    actions: fc.subarray<RuledAction>(['create', 'update', 'delete'], { minLength: 2 }),
    readOnly: few(names),
    create: ruled(rules),
    update: ruled(rules),
    delete: ruled(rules),
  })

/** Of these policies of callers that read, some grants change as well. */
export const changePolicy: fc.Arbitrary<AccessPolicy> = fc
  .record({
    read: policy,
    items: fc.array(writing(itemRules, [...itemHidden, 'right', 'group', 'liked', 'any']), {
      minLength: 4,
      maxLength: 4,
    }),
    hubs: writing(hubRules, [...hubHidden, 'items', 'tagged']),
  })
  .map(({ read, items, hubs }) => ({
    ...read,
    grants: read.grants.map((grant, i): Grant => {
      if (grant.on.kind !== 'class' || grant.on.className === 'Part' || grant.on.className === 'Tip') return grant
      const { actions, readOnly, ...rules } = grant.on.className === 'Hub' ? hubs : (items[i] as typeof hubs)
      const own = Object.fromEntries(Object.entries(rules).filter(([, rule]) => rule !== undefined))
      return { ...grant, actions: ['read', ...actions], readOnly, rules: { ...grant.rules, ...own } }
    }),
  }))

/** The same as far as it reads, which changes all that it sees. */
export function changingAll(policy: AccessPolicy): AccessPolicy {
  return {
    ...policy,
    grants: policy.grants.map(({ on, shown, hidden = [], rules }) => ({
      on,
      ...(shown === undefined ? { hidden } : { shown }),
      actions: ['read', 'create', 'update', 'delete'],
      ...(rules?.read === undefined ? {} : { rules: { read: rules.read } }),
    })),
  }
}

/** With OIDs in the place of what stands for objects. */
export function resolved(value: unknown, items: readonly string[], hubs: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => resolved(one, items, hubs))
  if (typeof value !== 'object' || value === null) return value
  const { $item, $hub } = value as { $item?: number; $hub?: number }
  if ($item !== undefined) return items[$item % items.length]
  if ($hub !== undefined) return hubs[$hub % hubs.length]
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolved(one, items, hubs)]))
}

const base = (cls: Cls): 'Item' | 'Hub' => (cls === 'Hub' ? 'Hub' : 'Item')

/** Those that the class has for the caller, each element once. */
export function changesFor(all: readonly Change[], cls: Cls, policy: AccessPolicy): Change[] {
  const dropped = droppedAttributes(policy)
  const known = Object.keys(base(cls) === 'Hub' ? ofHub : ofItem).filter((name) => !dropped[base(cls)].includes(name))
  const withoutFields = (value: unknown, hidden: readonly string[]): unknown =>
    Array.isArray(value)
      ? value.map((one) => withoutFields(one, hidden))
      : Object.fromEntries(Object.entries(value as Row).filter(([name]) => !hidden.includes(name)))
  return all
    .filter(({ name }) => known.includes(name))
    .map((change) => {
      const { name, value } = change
      if (name === 'part') return { ...change, value: withoutFields(value, dropped.Part) }
      if (name === 'tip' || name === 'tips') return { ...change, value: withoutFields(value, dropped.Tip) }
      return isSequence(name) ? { ...change, value: distinct(value as unknown[]) } : change
    })
}

function isSequence(name: string): boolean {
  return ['plain', 'bag', 'seq', 'byItem', 'tags', 'liked', 'items', 'members', 'tagged', 'likers'].includes(name)
}

/** By the key, where they are pairs. */
function distinct(values: readonly unknown[]): unknown[] {
  const byText = values.map((value): [string, unknown] => {
    return [String(typeof value === 'object' && value !== null ? (value as Row).key : value), value]
  })
  return [...new Map(byText).values()]
}

/** As the body of a request. */
export function bodyOf(changes: readonly Change[]): Row {
  return Object.fromEntries(changes.map((change) => [change.name, jsonOf(change)]))
}

function jsonOf({ name, kind, value }: Change): unknown {
  if (name === 'byName' || name === 'byItem') {
    return { action: kind === 'set' ? 'override' : kind, pairs: kind === 'remove' ? keysOf(value) : value }
  }
  if (name === 'part' || name === 'tip') return kind === 'set' ? { action: 'override', ...(value as Row) } : value
  return kind === 'set' ? value : { action: kind, elements: value }
}

function keysOf(value: unknown): unknown[] {
  return (value as { key: unknown }[]).map(({ key }) => key)
}

/** Where a change takes the partner of another object: that one. */
export function takenBy(change: Change, oid: string | undefined, objects: ReadonlyMap<string, Row>): string[] {
  const pair = pairs[change.name]
  if (pair === undefined || change.kind === 'remove' || pairs[pair.inverse]?.side !== 'one') return []
  const targets = (Array.isArray(change.value) ? change.value : [change.value]) as string[]
  return targets.flatMap((target) => {
    const taken = objects.get(target)?.[pair.inverse] as string | undefined
    if (taken === undefined || taken === '0-0-0-0' || taken === oid) return []
    return change.name === 'spouse' && target === oid ? [] : [taken]
  })
}

/** What kinds of errors a command has to end with, one of them, and those it may end with, as far as that depends on what is hidden. */
export interface Refusals {
  readonly must: Set<string>
  readonly may: Set<string>
}

export function refusalsByHidden(
  changes: readonly Change[],
  oid: string | undefined,
  objects: ReadonlyMap<string, Row>,
  visible: ReadonlySet<string>,
  policy: AccessPolicy,
): Refusals {
  const refusals: Refusals = { must: new Set(), may: new Set() }
  const before = oid === undefined ? {} : (objects.get(oid) as Row)
  const isHidden = (value: unknown): boolean => isHiddenOid(value, visible)
  for (const change of changes) {
    const { name, kind, value } = change
    if (kind !== 'remove' && oidsIn(value).some(isHidden)) refusals.must.add('InvalidReference')
    if (takenBy(change, oid, objects).some(isHidden)) refusals.must.add('Forbidden')
    const old = before[name]
    if (typeof value === 'string' && value !== '0-0-0-0' && isHidden(old)) refusals.must.add('Forbidden')
    if (name === 'tip') {
      for (const [field, given] of Object.entries(value as Row)) {
        if (given !== '0-0-0-0' && isHidden((old as Row | undefined)?.[field])) refusals.must.add('Forbidden')
      }
    }
    if (name === 'tips') {
      if (oidsIn(old).some(isHidden)) refusals.may.add('Forbidden')
      const { tips } = seenOf({ __class__: before.__class__, tips: old ?? [] }, visible, policy)
      const given = kind === 'set' ? originsOf(looksOf(tips), looksOf(tipsOf(value, policy))) : undefined
      if (given === 'unclear' && mayTipsHide(policy)) refusals.must.add('Forbidden')
    }
    if ((name === 'byName' || name === 'byItem') && kind !== 'remove') {
      const given = new Set(keysOf(value))
      const isHeld = Object.entries((old ?? {}) as Row).some(([key, one]) => given.has(key) && isHidden(one))
      if (isHeld) refusals.must.add('Forbidden')
    }
  }
  return refusals
}

/** With what a body leaves out. */
function tipsOf(value: unknown, policy: AccessPolicy): Row[] {
  const dropped = droppedAttributes(policy).Tip
  const whole = { to: '0-0-0-0', hub: '0-0-0-0', more: [] }
  const known = Object.entries(whole).filter(([name]) => !dropped.includes(name))
  return (value as Row[]).map((one) => Object.fromEntries(known.map(([name, none]) => [name, one[name] ?? none])))
}

/** Of each element. */
export function looksOf(list: unknown): string[] {
  return (list as unknown[]).map((one) => JSON.stringify(one))
}

function oidsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(oidsIn)
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(oidsIn)
  return [value]
}

/** The names that one of the grants with the action lets be changed. */
export function isWritable(policy: AccessPolicy, cls: Cls, action: RuledAction, name: string): boolean {
  return coveringGrants(policy, cls).some(
    (grant) => grant.actions.includes(action) && showsName(grant, name) && grant.readOnly?.includes(name) !== true,
  )
}

/** What of an object the caller does not see: hidden attributes, and what names hidden objects. */
export function hiddenOf(
  object: Row,
  visible: ReadonlySet<string>,
  policy: AccessPolicy,
  gone: string | undefined,
): Row {
  const dropped = droppedAttributes(policy)
  const names = dropped[base(object.__class__ as Cls)]
  const isHidden = (value: unknown): boolean => isHiddenOid(value, visible)
  const within = (value: unknown, embedded: readonly string[]): unknown => {
    if (Array.isArray(value)) {
      return value.filter((one) => typeof one !== 'string' || isHidden(one)).map((one) => within(one, embedded))
    }
    if (typeof value !== 'object' || value === null) return isHidden(value) ? value : null
    return Object.entries(value).map(([name, one]) => [name, embedded.includes(name) ? one : within(one, embedded)])
  }
  const pairsIn = (value: unknown): unknown => {
    return Object.entries(value as Row).filter(([key, one]) => isHidden(key) || isHidden(one))
  }
  const hidden = Object.entries(object).map(([name, value]) => {
    if (names.includes(name)) return [name, Object.hasOwn(pairs, name) ? without(value, gone) : value]
    if (name === 'byName' || name === 'byItem') return [name, pairsIn(value)]
    return [name, within(value, name === 'part' ? dropped.Part : name.startsWith('tip') ? dropped.Tip : [])]
  })
  return Object.fromEntries(hidden) as Row
}

/** What the caller sees of it. */
export function seenOf(object: Row, visible: ReadonlySet<string>, policy: AccessPolicy): Row {
  const dropped = droppedAttributes(policy)
  const names = dropped[base(object.__class__ as Cls)]
  const without = (value: unknown, hidden: readonly string[]): unknown =>
    Array.isArray(value)
      ? value.map((one) => without(one, hidden))
      : Object.fromEntries(Object.entries(value as Row).filter(([name]) => !hidden.includes(name)))
  const shown = Object.entries(object)
    .filter(([name]) => !names.includes(name))
    .map(([name, value]) => {
      if (name === 'part') return [name, without(value, dropped.Part)]
      if (name === 'tip' || name === 'tips') return [name, without(value, dropped.Tip)]
      if (name !== 'byName' && name !== 'byItem') return [name, value]
      return [name, Object.fromEntries(Object.entries(value as Row).filter(([, one]) => !isHiddenOid(one, visible)))]
    })
  return withoutHidden(Object.fromEntries(shown), visible) as Row
}

/** A link to an object that is deleted ends. */
export function without(value: unknown, gone: string | undefined): unknown {
  if (Array.isArray(value)) return value.filter((one) => one !== gone)
  return value === gone ? '0-0-0-0' : value
}
