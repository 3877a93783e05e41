/** Random objects, callers and queries, and the database that a caller's is to be like: one without what is hidden from it. */
import fc from 'fast-check'
import { type AccessPolicy, accessActions, type Grant, type RuledAction } from '../../src/access/access-policy.ts'
import type { Database } from '../../src/database-operations.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { modelSchema, pairs } from '../model/model-schema.ts'
import { rowTexts, rowValues } from '../row-texts.ts'

const reference = (referencedClass: string) => ({ logicalType: 'reference', referencedClass })
const tip = { logicalType: 'object', class: 'Tip' }

/** Comes when there are objects already: theirs are of an earlier shape. */
const laterSchema = [
  {
    className: 'Tip',
    isReferenceable: false,
    attributes: [
      { attributeName: 'to', ...reference('Item') },
      { attributeName: 'hub', ...reference('Hub') },
      { attributeName: 'more', logicalType: 'list', elementSpecification: reference('Item') },
    ],
  },
  {
    className: 'Item',
    attributes: [
      { attributeName: 'tip', ...tip },
      { attributeName: 'tips', logicalType: 'list', elementSpecification: tip },
      { attributeName: 'any', ...reference('ooObj') },
      {
        attributeName: 'byItem',
        logicalType: 'map',
        collectionTypeName: 'TreeMapOfReferences',
        keySpecification: reference('Item'),
        elementSpecification: reference('Hub'),
      },
    ],
  },
]

const indexes = [
  'CREATE INDEX i1 ON Item (n)',
  'CREATE INDEX i2 ON Item (name, n)',
  'CREATE INDEX i3 ON Item (owner)',
  'CREATE INDEX i4 ON Hub (title)',
  'CREATE INDEX i5 ON Item (uni, n)',
  'CREATE INDEX i6 ON Item (part.a)',
  'CREATE INDEX i7 ON SubItem (extra)',
]

/** The nth object of a class. */
const one = fc.nat(20)
const maybeOne = fc.option(one, { freq: 4 })
const some = fc.array(one, { maxLength: 4 })
const text = fc.constantFrom(null, '', 'a', 'abcd', 'abcdefgh1', 'abcdefgh2')
const number = fc.option(fc.integer({ min: -1, max: 3 }), { freq: 5 })

const item = fc.record({
  isSub: fc.boolean(),
  extra: number,
  name: text,
  n: number,
  part: fc.record({ a: number, b: text }),
  uni: maybeOne,
  plain: some,
  bag: some,
  seq: some,
  byName: fc.array(fc.tuple(fc.constantFrom('a', 'b', ''), one), { maxLength: 3 }),
  left: maybeOne,
  spouse: maybeOne,
  owner: maybeOne,
  group: maybeOne,
  tags: some,
  liked: some,
})
const tips = fc.record({ to: maybeOne, hub: maybeOne, more: some })
const laterItem = fc.record({
  tip: tips,
  tips: fc.array(tips, { maxLength: 3 }),
  any: maybeOne,
  byItem: fc.array(fc.tuple(one, one), { maxLength: 3 }),
})

export const world = fc.record({
  items: fc.array(item, { minLength: 3, maxLength: 9, size: 'max' }),
  hubs: fc.array(text, { minLength: 1, maxLength: 4, size: 'max' }),
  /** What objects get after attributes were added to their class; the others keep their shape. */
  later: fc.array(laterItem, { maxLength: 6, size: 'max' }),
  indexes: fc.subarray(indexes),
})
type World = typeof world extends fc.Arbitrary<infer T> ? T : never

const names = ['a', 'abcd', '']
const user = fc.record({
  name: fc.constantFrom(...names),
  roles: fc.subarray(['a', 'abcd']),
  claims: fc.record({ n: fc.constantFrom('1', '2') }),
})
export const itemRules = [
  'n > 0',
  'n = 1 OR n = 2 OR IS_NULL(n)',
  'NOT n = 2',
  "name != 'a'",
  'name = $$USER.name',
  'name IN $$USER.roles OR COUNT(tags) > 0',
  'IS_NULL(uni) OR uni.n >= 0',
  'plain ANY (n > 0)',
  'owner.title = $$USER.name OR COUNT(liked) > 0',
  "CAST($$USER.claims['n'] AS Integer) = n",
  'NOT IS_NULL(spouse.left)',
  'FALSE',
  '10 / n > 3',
]
export const hubRules = [
  'title = $$USER.name',
  'COUNT(items) > 0',
  'members ANY (n > 0)',
  'tagged.n ANY_EQUAL 1',
  'IS_NULL(title)',
  'FALSE',
  'TRUE',
]
const maybe = <T>(values: readonly T[]): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constantFrom(...values), { nil: undefined })
export const itemHidden = [
  'name',
  'n',
  'part',
  'uni',
  'plain',
  'bag',
  'seq',
  'byName',
  'left',
  'spouse',
  'owner',
  'tags',
  'tip',
  'byItem',
]
export const hubHidden = ['title', 'members', 'likers']
export const few = (values: readonly string[]): fc.Arbitrary<string[]> =>
  fc.oneof(fc.constant<string[]>([]), fc.subarray([...values], { maxLength: Math.min(3, values.length) }))

interface Described {
  readonly className: string
  readonly attributes: readonly { readonly attributeName: string }[]
}

/** Those of the subclass too, which a grant for the class covers. */
function namesOf(cls: string): string[] {
  const classes = cls === 'Item' ? ['Item', 'SubItem'] : [cls === 'SubItem' ? 'Item' : cls, cls]
  const described = [...modelSchema, ...laterSchema] as readonly Described[]
  return described
    .filter(({ className }) => classes.includes(className))
    .flatMap(({ attributes }) => attributes.map(({ attributeName }) => attributeName))
}

/** `isListed`: it says the same by the names of what is left. */
const grant = (className: string, hidden: readonly string[], rule: string | undefined, isListed: boolean): Grant => ({
  on: { kind: 'class', className },
  actions: ['read', 'query'],
  ...(isListed ? { shown: namesOf(className).filter((name) => !hidden.includes(name)) } : { hidden }),
  ...(rule === undefined ? {} : { rules: { read: rule } }),
})

/** Every class is granted: one without a grant is another schema. */
export const policy: fc.Arbitrary<AccessPolicy> = fc
  .record({
    user,
    hidden: few(itemHidden),
    otherHidden: few(itemHidden),
    ofHub: few(hubHidden),
    ofPart: few(['a', 'b']),
    ofTip: few(['to', 'hub', 'more']),
    first: maybe(itemRules),
    second: fc.option(fc.constantFrom(...itemRules), { freq: 2 }),
    ofSub: fc.option(fc.constantFrom(...itemRules), { freq: 2 }),
    hub: maybe(hubRules),
    listed: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
  })
  .map(({ user, hidden, otherHidden, ofHub, ofPart, ofTip, first, second, ofSub, hub, listed }) => ({
    user,
    grants: [
      grant('Item', hidden, first, listed[0] === true),
      ...(second === null ? [] : [grant('Item', otherHidden, second, listed[1] === true)]),
      // Of attributes it shows no more than the others: else subclasses would have attributes of their own.
      ...(ofSub === null
        ? []
        : [grant('SubItem', [...itemHidden, 'right', 'group', 'liked'], ofSub, listed[2] === true)]),
      grant('Hub', ofHub, hub, listed[3] === true),
      grant('Part', ofPart.slice(0, 1), undefined, listed[4] === true),
      grant('Tip', ofTip.slice(0, 2), undefined, listed[5] === true),
    ],
  }))

export async function fill(
  store: Store,
  { items, hubs, later, indexes }: World,
): Promise<{ fd: FederatedDatabase; oids: string[] }> {
  const fd = await FederatedDatabase.open({ alias: 'world', store, limits: { indexBuildBatchObjects: 3 } })
  await fd.defineClasses(modelSchema, 'createOrExtend')
  const [itemOids, hubOids]: [string[], string[]] = [[], []]
  const nth = (oids: readonly string[], place: number | null): string => {
    return place === null ? '0-0-0-0' : (oids[place % oids.length] as string)
  }
  for (const title of hubs) hubOids.push(await fd.createObject('Hub', { title }))
  for (const { isSub, extra, name, n, part } of items) {
    itemOids.push(await fd.createObject(isSub ? 'SubItem' : 'Item', { name, n, part, ...(isSub ? { extra } : {}) }))
  }
  const toItem = (place: number | null): string => nth(itemOids, place)
  const toHub = (place: number | null): string => nth(hubOids, place)
  for (const [i, { uni, plain, bag, seq, byName, left, spouse, owner, group, tags, liked }] of items.entries()) {
    await fd.updateObject(toItem(i), {
      ...{ uni: toItem(uni), plain: plain.map(toItem), bag: bag.map(toItem), seq: seq.map(toItem) },
      ...{ byName: Object.fromEntries(byName.map(([key, place]) => [key, toItem(place)])), spouse: toItem(spouse) },
      ...{
        left: toItem(left),
        owner: toHub(owner),
        group: toHub(group),
        tags: tags.map(toHub),
        liked: liked.map(toHub),
      },
    })
  }
  await fd.defineClasses(laterSchema, 'createOrExtend')
  const tipOf = ({ to, hub, more }: (typeof later)[number]['tip']): object => {
    return { to: toItem(to), hub: toHub(hub), more: more.map(toItem) }
  }
  for (const [i, { tip, tips, any, byItem }] of later.entries()) {
    await fd.updateObject(toItem(i), {
      ...{ tip: tipOf(tip), tips: tips.map(tipOf), any: i % 2 === 0 ? toItem(any) : toHub(any) },
      byItem: { pairs: byItem.map(([key, value]) => ({ key: toItem(key), value: toHub(value) })) },
    })
  }
  for (const text of indexes) await rowTexts(await fd.query({ text }))
  return { fd, oids: [...hubOids, ...itemOids] }
}

type Row = Record<string, unknown>

/** Nothing is kept from such a caller. */
export function everything(user: AccessPolicy['user']): AccessPolicy {
  return { user, grants: [{ on: { kind: 'all' }, actions: accessActions }] }
}

export function coveringGrants({ grants }: AccessPolicy, cls: string): readonly Grant[] {
  const names = cls === 'SubItem' ? ['SubItem', 'Item'] : [cls]
  return grants.filter(({ on }) => on.kind === 'class' && names.includes(on.className))
}

/** The objects that a caller sees, or to which it may do something, found by queries that nothing is kept from. */
export async function allowedOids(
  fd: FederatedDatabase,
  policy: AccessPolicy,
  action: RuledAction = 'read',
): Promise<Set<string>> {
  const all = fd.as(everything(policy.user))
  const visible = new Set<string>()
  for (const { on, rules, actions } of policy.grants) {
    if (!actions.includes(action)) continue
    if (on.kind !== 'class' || on.className === 'Part' || on.className === 'Tip') continue
    const where = rules?.[action] === undefined ? '' : `WHERE ${rules[action]}`
    const rows = await rowValues(await all.query({ text: `FROM ${on.className} ${where} RETURN $$ID AS id` }))
    for (const row of rows) visible.add((row as { id: string }).id)
  }
  return visible
}

function hiddenAttributes(policy: AccessPolicy, cls: string): Set<string> {
  const grants = coveringGrants(policy, cls)
  const names = grants.length === 0 ? [] : namesOf(cls)
  return new Set(names.filter((name) => grants.every((each) => !showsName(each, name))))
}

export function showsName({ shown, hidden = [] }: Grant, name: string): boolean {
  return shown?.includes(name) !== false && !hidden.includes(name)
}

/** The same with the partners of hidden ones. */
export function droppedAttributes(policy: AccessPolicy): Readonly<Record<'Item' | 'Hub' | 'Part' | 'Tip', string[]>> {
  const hidden = { Item: hiddenAttributes(policy, 'Item'), Hub: hiddenAttributes(policy, 'Hub') }
  for (const [name, { inverse, target }] of Object.entries(pairs)) {
    const own = target === 'Hub' ? 'Item' : name === 'left' || name === 'right' || name === 'spouse' ? 'Item' : 'Hub'
    if (hidden[target].has(inverse)) hidden[own].add(name)
  }
  const embedded = { Part: [...hiddenAttributes(policy, 'Part')], Tip: [...hiddenAttributes(policy, 'Tip')] }
  return { Item: [...hidden.Item], Hub: [...hidden.Hub], ...embedded }
}

/** Where an OID that is not visible stood: nothing, and in collections no element. */
export function withoutHidden(value: unknown, visible: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return isHiddenOid(value, visible) ? '0-0-0-0' : value
  if (Array.isArray(value)) {
    return value.filter((one) => !isHiddenOid(one, visible)).map((one) => withoutHidden(one, visible))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !isHiddenOid(key, visible))
      .map(([key, one]) => [key, withoutHidden(one, visible)]),
  )
}

const oidForm = /^\d+-\d+-\d+-\d+$/

export function isHiddenOid(value: unknown, visible: ReadonlySet<string>): boolean {
  return typeof value === 'string' && oidForm.test(value) && value !== '0-0-0-0' && !visible.has(value)
}

/** A copy in which what is hidden from the caller has been taken away by changes of an administrator. */
export async function withoutWhatIsHidden(
  fd: FederatedDatabase,
  oids: readonly string[],
  policy: AccessPolicy,
): Promise<FederatedDatabase> {
  const visible = await allowedOids(fd, policy)
  const store = await openMemoryStore()
  await copyStore(fd.store, store)
  const copy = await FederatedDatabase.open({ alias: 'copy', store })
  for (const oid of visible) {
    const object = JSON.parse((await copy.readObject(oid)).toString()) as Row
    await copy.updateObject(oid, changesOf(object, visible))
  }
  for (const oid of oids) if (!visible.has(oid)) await copy.deleteObject(oid)
  for (const index of await copy.listIndexes()) await copy.deleteIndex(index.name)
  const dropped = droppedAttributes(policy)
  for (const cls of ['Item', 'Hub', 'Part', 'Tip'] as const) {
    if (dropped[cls].length === 0) continue
    const left = await copy.readClass(cls)
    const attributesToDelete = dropped[cls].filter((name) =>
      left.attributes.some(({ attributeName }) => attributeName === name),
    )
    if (attributesToDelete.length > 0) await copy.alterClass(cls, { attributesToDelete }, { isCascading: true })
  }
  return copy
}

/** Links of both sides go with the objects that are deleted. */
function changesOf(object: Row, visible: ReadonlySet<string>): Row {
  const changes: Row = {}
  for (const [name, value] of Object.entries(object)) {
    if (name.startsWith('__') || Object.hasOwn(pairs, name)) continue
    const changed = withoutHidden(value, visible)
    if (JSON.stringify(changed) === JSON.stringify(value)) continue
    changes[name] = name === 'byName' || name === 'byItem' ? { pairs: pairsOf(changed as Row, value as Row) } : changed
  }
  return changes
}

/** Of a pair whose target is hidden nothing is left. */
function pairsOf(changed: Row, before: Row): object[] {
  return Object.entries(changed)
    .filter(([key, value]) => value !== '0-0-0-0' || before[key] === '0-0-0-0')
    .map(([key, value]) => ({ key, value }))
}

/** What a query answers, in comparable form. */
export async function answerOf(database: Database, text: string): Promise<unknown> {
  try {
    const rows = await rowTexts(await database.query({ text }))
    return text.includes('ORDER BY') ? rows : rows.sort()
  } catch (error) {
    const { type, message } = error as { type?: string; message: string }
    if (type === undefined) throw error
    return { type, message }
  }
}
