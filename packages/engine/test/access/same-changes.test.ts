/** What a restricted caller changes is what everybody would change of a database in which there is nothing to hide, and what is hidden stays (contract 9.4). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AccessPolicy } from '../../src/access/access-policy.ts'
import { keySpace } from '../../src/bytes/key-space.ts'
import type { Database } from '../../src/database-operations.ts'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { runs } from '../bytes/property-runs.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { sometimesLater } from '../store/wrappers/sometimes-later.ts'
import { allowedOids, fill, isHiddenOid, withoutWhatIsHidden, world } from './access-world.ts'
import {
  bodyOf,
  type Command,
  changePolicy,
  changesFor,
  changingAll,
  command,
  hiddenOf,
  isWritable,
  looksOf,
  type Row,
  refusalsByHidden,
  resolved,
  seenOf,
  takenBy,
  without,
} from './changes-world.ts'
import { mayTipsHide, originsOf } from './list-model.ts'

type Objects = ReadonlyMap<string, Row>
type Outcome = { readonly created?: string | undefined; readonly type?: string; readonly error?: string }
/** As it is carried out. */
interface Act extends Command {
  readonly oid: string | undefined
  readonly body: Row
}

const created = 'created'

async function opened(store: Store): Promise<FederatedDatabase> {
  const copy = await openMemoryStore()
  await copyStore(store, copy)
  return FederatedDatabase.open({ alias: 'copy', store: copy })
}

async function carryOut(database: Database, { kind, cls, oid, body }: Act): Promise<Outcome> {
  try {
    if (kind === 'create') return { created: await database.createObject(cls, body) }
    if (kind === 'update') await database.updateObject(oid as string, body)
    else await database.deleteObject(oid as string)
    return {}
  } catch (error) {
    if (!(error instanceof AshlarError) || error.kind === 'fault') throw error
    return { type: error.type, error: JSON.stringify([error.type, error.message, error.errors]) }
  }
}

async function objectsOf(fd: Database, oids: Iterable<string>, made: string | undefined): Promise<Objects> {
  const objects = new Map<string, Row>()
  for (const oid of oids) {
    try {
      const text = (await fd.readObject(oid)).toString()
      const name = oid === made ? created : oid
      objects.set(name, JSON.parse(made === undefined ? text : text.replaceAll(made, created)) as Row)
    } catch (error) {
      if ((error as AshlarError).type !== 'ObjectNotFound') throw error
    }
  }
  return objects
}

async function dump(store: Store): Promise<string[]> {
  const entries: string[] = []
  const snapshot = await store.snapshot()
  const spaces: readonly (number | undefined)[] = [keySpace.object, keySpace.link, keySpace.index]
  const text = (key: Uint8Array, value: Uint8Array): string[] =>
    spaces.includes(key[0]) ? [`${Buffer.from(key).toString('hex')} ${Buffer.from(value).toString('hex')}`] : []
  for await (const batch of snapshot.scan({}, text)) entries.push(...batch.flat())
  snapshot.release()
  return entries
}

/** As `hiddenOf` has it. */
const hiddenInNewTip = (policy: AccessPolicy): unknown => {
  const tips = [{ to: '0-0-0-0', hub: '0-0-0-0', more: [] }]
  return (hiddenOf({ __class__: 'Item', tips }, new Set(), policy, undefined).tips as unknown[])[0]
}

/** Everything the caller sees may be changed by it: what comes of the command, and of what is hidden. */
async function withoutRights(fd: FederatedDatabase, act: Act, policy: AccessPolicy, oids: readonly string[]) {
  const all = changingAll(policy)
  const visible = await allowedOids(fd, policy)
  const before = await objectsOf(fd, oids, undefined)
  const own = await opened(fd.store)
  const outcome = await carryOut(own.as(all), act)
  const isKnown = act.oid === undefined || visible.has(act.oid)
  const refusals =
    isKnown && act.kind !== 'delete' ? refusalsByHidden(act.changes, act.oid, before, visible, policy) : undefined
  if (!isKnown) expect(outcome.type).toBe('ObjectNotFound')
  else if (outcome.type !== undefined)
    expect([...(refusals?.must ?? []), ...(refusals?.may ?? [])]).toContain(outcome.type)
  else expect([...(refusals?.must ?? [])]).toEqual([])
  if (outcome.type !== undefined) {
    expect(await dump(own.store)).toEqual(await dump(fd.store))
    return { own, outcome, before, visible, after: before }
  }
  const made = outcome.created
  const after = await objectsOf(own, made === undefined ? oids : [...oids, made], made)
  const gone = act.kind === 'delete' ? act.oid : undefined
  for (const [oid, object] of before) {
    if (oid === gone) continue
    if (visible.has(oid)) {
      const hidden = hiddenOf(object, visible, policy, gone)
      const kept = hiddenOf(after.get(oid) as Row, visible, policy, gone)
      if (hidden.tips !== undefined) {
        const [was, is] = [object, after.get(oid) as Row].map((one) => looksOf(seenOf(one, visible, policy).tips))
        const origins = originsOf(was as string[], is as string[])
        expect(origins).not.toBe(mayTipsHide(policy) ? 'unclear' : '')
        // Of other elements it does not matter which is which.
        if (origins === 'unclear') delete hidden.tips
        else hidden.tips = origins.map((from) => (hidden.tips as unknown[])[from ?? -1] ?? hiddenInNewTip(policy))
      }
      expect({ oid, ...kept, ...(hidden.tips === undefined ? { tips: undefined } : {}) }).toEqual({ oid, ...hidden })
    } else {
      const left = Object.entries(object).map(([name, value]) => [
        name,
        gone === undefined ? value : without(value, gone),
      ])
      const stays = Object.entries(after.get(oid) as Row).map(([name, value]) => [name, without(value, gone)])
      expect(stays).toEqual(left)
    }
  }
  const copy = await withoutWhatIsHidden(fd, oids, policy)
  const expected = await carryOut(copy, act)
  expect(expected.error).toBeUndefined()
  const shown = await objectsOf(
    copy,
    [...visible, ...(expected.created === undefined ? [] : [expected.created])],
    expected.created,
  )
  const seenOids = new Set([...visible, created])
  for (const [oid, object] of shown) {
    expect({ oid, ...seenOf(after.get(oid) as Row, seenOids, policy) }).toEqual({ oid, ...object })
  }
  await copy.close()
  return { own, outcome, before, visible, after }
}

/** Whether the policy lets that be done: decided by queries that nothing is kept from. */
async function isAllowed(
  fd: FederatedDatabase,
  act: Act,
  policy: AccessPolicy,
  { own, before, after, visible, outcome }: Awaited<ReturnType<typeof withoutRights>>,
): Promise<boolean> {
  const { kind, changes, oid } = act
  if (kind === 'delete') return (await allowedOids(fd, policy, 'delete')).has(oid as string)
  const made = outcome.created
  const cls = kind === 'create' ? act.cls : ((before.get(oid as string) as Row).__class__ as Command['cls'])
  if (kind === 'update' && !(await allowedOids(fd, policy, 'update')).has(oid as string)) return false
  const holdsAfter = await allowedOids(own, policy, kind)
  if (!holdsAfter.has(made ?? (oid as string))) return false
  const updatable = [await allowedOids(fd, policy, 'update'), await allowedOids(own, policy, 'update')]
  for (const change of changes) {
    const taken = takenBy(change, oid, before)
    if (taken.some((one) => updatable.some((allowed) => !allowed.has(one)))) return false
    if (isWritable(policy, cls, kind, change.name)) continue
    if (change.kind !== 'set' && change.kind !== 'merge' && Array.isArray(change.value)) {
      const isInRecord = change.name === 'plain' || change.name === 'tips'
      if (!isInRecord && change.value.length > 0) return false
    }
    const [old] = kind === 'create' ? [await defaultsOf(own, cls)] : [before.get(oid as string) as Row]
    const one = seenOf(old, visible, policy)[change.name]
    const other = seenOf(after.get(made === undefined ? (oid as string) : created) as Row, visible, policy)[change.name]
    if (JSON.stringify(one) !== JSON.stringify(other)) return false
  }
  return true
}

async function defaultsOf(own: FederatedDatabase, cls: string): Promise<Row> {
  const copy = await opened(own.store)
  const oid = await copy.createObject(cls, {})
  const object = JSON.parse((await copy.readObject(oid)).toString()) as Row
  await copy.close()
  return object
}

/** The same with objects that there are not in the place of those that are hidden. */
function withMissing(
  act: Act,
  visible: ReadonlySet<string>,
): { readonly act: Act; readonly texts: Map<string, string> } {
  const texts = new Map<string, string>()
  const text = JSON.stringify(act).replace(/\d+-\d+-\d+-\d+/g, (oid) => {
    if (!isHiddenOid(oid, visible)) return oid
    // In the same order.
    const missing = oid.replace(/\d+$/, (slot) => `${50_000 + Number(slot)}`)
    texts.set(oid, missing)
    return missing
  })
  return { act: JSON.parse(text) as Act, texts }
}

async function check(
  fd: FederatedDatabase,
  made: Command,
  policy: AccessPolicy,
  oids: readonly string[],
): Promise<void> {
  const objects = await objectsOf(fd, oids, undefined)
  const [hubs, items] = [true, false].map((isHub) =>
    oids.filter((oid) => (objects.get(oid)?.__class__ === 'Hub') === isHub),
  )
  const oid = made.kind === 'create' ? undefined : (oids[made.at % oids.length] as string)
  const cls = oid === undefined ? made.cls : (objects.get(oid)?.__class__ as Command['cls'])
  const asked = resolved(made.changes, items as string[], hubs as string[]) as Command['changes']
  const changes = made.kind === 'delete' ? [] : changesFor(asked, cls, policy)
  const act: Act = { ...made, cls, oid, changes, body: bodyOf(changes) }
  const free = await withoutRights(fd, act, policy, oids)
  const [copy, other] = [await opened(fd.store), await opened(fd.store)]
  const outcome = await carryOut(copy.as(policy), act)
  if (free.outcome.type !== undefined) {
    expect([free.outcome.type, 'Forbidden']).toContain(outcome.type)
    if (free.outcome.type === 'ObjectNotFound') expect(outcome.type).toBe('ObjectNotFound')
  } else if (await isAllowed(fd, act, policy, free)) {
    expect(outcome.error).toBeUndefined()
    const done = outcome.created
    expect(await objectsOf(copy, done === undefined ? oids : [...oids, done], done)).toEqual(free.after)
  } else expect(outcome.type).toBe('Forbidden')
  if (outcome.type !== undefined) expect(await dump(copy.store)).toEqual(await dump(fd.store))
  const { act: asMissing, texts } = withMissing(act, free.visible)
  const told = await carryOut(other.as(policy), asMissing)
  // Of several that are hidden the first by its OID is told of: pairs of a map come in the order of their keys.
  const masked = (error: string | undefined, hidden: ReadonlySet<string>): string | undefined =>
    error?.replace(/\d+-\d+-\d+-\d+/g, (one) => (hidden.has(one) ? 'hidden' : one))
  expect(masked(told.error, new Set(texts.values()))).toBe(masked(outcome.error, new Set(texts.keys())))
  await Promise.all([copy.close(), other.close(), free.own.close()])
}

describe('what a restricted caller changes', () => {
  const kinds: [string, (store: Store) => Store][] = [
    ['', (store) => store],
    [' (in a store that answers later)', (store) => sometimesLater(store, 7)],
  ]
  for (const [suffix, wrap] of isOnPostgres ? kinds.slice(0, 1) : kinds) {
    it(`leaves what is hidden, and is what everybody would change without it${suffix}`, async () => {
      const cases = fc.array(fc.tuple(changePolicy, command), { minLength: 8, maxLength: 12, size: 'max' })
      await fc.assert(
        fc.asyncProperty(world, cases, async (made, all) => {
          const { fd, oids } = await fill(wrap(await openStoreOfRun()), made)
          for (const [policy, one] of all) await check(fd, one, policy, oids)
          await fd.close()
        }),
        runs(isOnPostgres ? 2 : 10),
      )
    })
  }

  it('is nothing where what it has read is sent back', async () => {
    await fc.assert(
      fc.asyncProperty(world, fc.array(changePolicy, { minLength: 3, maxLength: 4 }), async (made, policies) => {
        const { fd, oids } = await fill(await openStoreOfRun(), made)
        const before = await dump(fd.store)
        for (const each of policies) {
          const grants = each.grants.map((grant) => ({
            ...grant,
            actions: ['read', 'update'] as const,
            rules: grant.rules?.read === undefined ? {} : { read: grant.rules.read },
          }))
          const database = fd.as({ ...each, grants })
          for (const oid of oids) {
            const object = (await objectsOf(database, [oid], undefined)).get(oid)
            if (object !== undefined) await database.updateObject(oid, object)
          }
        }
        expect(await dump(fd.store)).toEqual(before)
        await fd.close()
      }),
      runs(isOnPostgres ? 3 : 15),
    )
  })
})
