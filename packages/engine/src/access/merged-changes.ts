/** What the changes that a caller asks for come to where part of the value is hidden from it: that part stays (decision 0026). */
import { readAndRequireLinkEntries } from '../links/attribute-links.ts'
import { mapEntryKey, readMapEntries } from '../links/map-entries.ts'
import { applyChange } from '../records/apply-change.ts'
import type { MapPair, ValueChange } from '../records/attribute-change.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { targetOfKey } from '../records/link-keys.ts'
import { recordFormats } from '../records/record-formats.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import { isSameValue } from '../records/same-value.ts'
import type { Awaitable, Bytes, Entry } from '../store/store.ts'
import { inTurnsIfLong, openTimeSlice } from '../store/time-slice.ts'
import { noOid, type Oid, oidFromBytes } from '../types/oid.ts'
import type { TypeSpec } from '../types/type-spec.ts'
import type { ChangeGuard, GuardedWork } from '../write/change-guard.ts'
import { noSuchTarget } from '../write/reference-error.ts'
import type { ObjectState } from '../write/working-set.ts'
import type { CatalogAccess } from './catalog-access.ts'
import { attributeDenied } from './denied.ts'
import { holdsKeyOf, isPairHidden, type Putting, putElements, SeenValues } from './seen-values.ts'
import { type IsVisible, targetsIn } from './value-references.ts'

/** An attribute of an object that is changed. */
interface Changed {
  readonly state: ObjectState
  /** In the whole catalog, and as the caller knows it. */
  readonly attribute: AttributeFormat
  readonly known: AttributeFormat
}

export class MergedChanges {
  private readonly access: CatalogAccess
  private readonly work: GuardedWork
  private readonly guard: Pick<ChangeGuard, 'hiddenAmong' | 'isSeen'>
  private readonly values: SeenValues

  constructor(access: CatalogAccess, work: GuardedWork, guard: Pick<ChangeGuard, 'hiddenAmong' | 'isSeen'>) {
    this.access = access
    this.work = work
    this.guard = guard
    this.values = new SeenValues(access.classes, work.objects.formats, recordFormats(access.restricted))
  }

  /** See `ChangeGuard.changeFor`. */
  changeFor(changed: Changed, change: ValueChange): Awaitable<ValueChange | undefined> {
    const { state, attribute, known } = changed
    if (attribute.linkStorage !== undefined) return this.linkChange(changed, change)
    const { spec } = attribute.attribute
    const before = state.values[attribute.index]
    if (mayHoldReferences(spec)) return this.mergedChange(changed, before, change)
    const after = applyChange(known, before, change)
    if (isSameValue(known.codec, before, after)) return undefined
    this.refuseUnlessWritable(changed)
    return { kind: 'set', value: after }
  }

  /** See `ChangeGuard.seen`. */
  async seen(state: ObjectState, { attribute }: AttributeFormat, value: unknown): Promise<unknown> {
    const { spec } = state.format.attribute(attribute.number).attribute
    if (!mayHoldReferences(spec)) return value
    const { seen } = await this.seenIn(spec, value)
    return inTurnsIfLong(this.values.known(spec, seen), openTimeSlice())
  }

  private async seenIn(spec: TypeSpec, value: unknown): Promise<{ seen: unknown; isVisible: IsVisible }> {
    const targets = await this.targets(spec, value)
    const hidden = await this.guard.hiddenAmong(targets)
    const isVisible = (oid: Oid): boolean => !hidden.has(oid)
    return { seen: await inTurnsIfLong(this.values.seen(spec, value, isVisible), openTimeSlice()), isVisible }
  }

  private async targets(spec: TypeSpec, value: unknown): Promise<Iterable<Oid>> {
    const targets = new Map<Oid, undefined | Bytes>()
    await inTurnsIfLong(targetsIn(spec, value, this.work.objects.formats, targets), openTimeSlice())
    return targets.keys()
  }

  /** Of a value that is kept in the record and may have hidden parts. */
  private async mergedChange(changed: Changed, before: unknown, change: ValueChange): Promise<ValueChange | undefined> {
    const { state, attribute } = changed
    const { spec } = attribute.attribute
    const { seen, isVisible } = await this.seenIn(spec, before)
    const after = applyChange(
      attribute,
      seen,
      await inTurnsIfLong(this.values.changeOf(attribute, change), openTimeSlice()),
    )
    if (isSameValue(attribute.codec, seen, after)) return undefined
    this.refuseUnlessWritable(changed)
    await this.refuseHidden(changed, await this.targets(spec, after))
    const action = actionOf(state)
    const putting: Putting = {
      isVisible,
      action,
      refuse: (refused: AttributeFormat, { cls }: ClassFormat): never => {
        throw attributeDenied(action, refused.attribute.name, cls.name)
      },
    }
    const merging = this.values.putBack(state.format, attribute, before, after, putting)
    return { kind: 'set', value: await inTurnsIfLong(merging, openTimeSlice()) }
  }

  /** Of a collection that is kept as links. */
  private async linkChange(changed: Changed, change: ValueChange): Promise<ValueChange | undefined> {
    const { attribute, known } = changed
    const isMap = attribute.linkStorage === 'map'
    if (change.kind === 'set') {
      const held = isMap ? await this.heldPairs(changed) : await this.heldTargets(changed)
      const after = known.codec.accept(change.value)
      if (isSameValue(known.codec, known.codec.accept(held.seen), after)) return undefined
      this.refuseUnlessWritable(changed)
      await this.refuseHidden(changed, isMap ? namedBy(known, after as readonly MapPair[]) : (after as readonly Oid[]))
      if (held.hidden.length === 0) return change
      return { kind: 'set', value: this.withHidden(changed, held, after) }
    }
    if (isEmpty(change)) return undefined
    this.refuseUnlessWritable(changed)
    switch (change.kind) {
      case 'add':
        await this.refuseHidden(changed, change.elements as readonly Oid[])
        return change
      case 'remove': {
        const hidden = await this.guard.hiddenAmong((change.elements as readonly Oid[]).filter((oid) => oid !== noOid))
        return { kind: 'remove', elements: change.elements.filter((oid) => !hidden.has(oid as Oid)) }
      }
      case 'putPairs': {
        await this.refuseHidden(changed, namedBy(known, change.pairs))
        const { hidden } = await this.heldAt(
          changed,
          change.pairs.map(({ key }) => key),
        )
        if (hidden.length > 0) this.refuse(changed)
        return change
      }
      case 'removeKeys': {
        const { hidden } = await this.heldAt(changed, change.keys)
        const kept = new Set(hidden.map(({ key }) => key))
        return { kind: 'removeKeys', keys: change.keys.filter((key) => !kept.has(key)) }
      }
      default:
        return change
    }
  }

  private withHidden(changed: Changed, { all, hidden }: Held<unknown>, after: unknown): unknown {
    const { linkStorage } = changed.attribute
    if (linkStorage === 'map') {
      if (holdsKeyOf(after as readonly MapPair[], hidden as readonly MapPair[])) this.refuse(changed)
      return [...(after as readonly MapPair[]), ...hidden]
    }
    if (linkStorage === 'set') return [...(after as readonly Oid[]), ...hidden]
    const hiddenOids = new Set(hidden)
    return putElements(all as readonly Oid[], after as readonly Oid[], (oid) => !hiddenOids.has(oid))
  }

  private async heldTargets(changed: Changed): Promise<Held<Oid>> {
    const isSet = changed.attribute.linkStorage === 'set'
    const entries = await this.entries(changed)
    const all = entries.map(({ key, value }) => (isSet ? targetOfKey(key) : oidFromBytes(value, 0)))
    const hidden = await this.guard.hiddenAmong(all.filter((oid) => oid !== noOid))
    return {
      all,
      seen: all.filter((oid) => !hidden.has(oid)),
      hidden: all.filter((oid) => hidden.has(oid)),
    }
  }

  private async heldPairs(changed: Changed): Promise<Held<MapPair>> {
    return this.pairsOf(changed, await this.entries(changed))
  }

  /** The pairs with these keys. */
  private async heldAt(changed: Changed, keys: readonly unknown[]): Promise<Held<MapPair>> {
    const { state, attribute } = changed
    if (state.stored === undefined) return { all: [], seen: [], hidden: [] }
    const entryKeys = keys.map((key) => mapEntryKey(state.oid, attribute, key))
    const values = await this.work.transaction.readAndRequire(entryKeys)
    const entries = entryKeys.flatMap((key, i): Entry[] => {
      const value = values[i]
      return value === undefined ? [] : [{ key, value }]
    })
    return this.pairsOf(changed, entries)
  }

  private async pairsOf({ attribute }: Changed, entries: readonly Entry[]): Promise<Held<MapPair>> {
    const { spec } = attribute.attribute
    const all = readMapEntries(attribute, entries).map(({ key, target }): MapPair => ({ key, value: target }))
    const hidden = await this.guard.hiddenAmong(namedBy(attribute, all))
    const isHidden = (pair: MapPair): boolean => {
      return spec.logicalType === 'map' && isPairHidden(spec, pair, (oid) => !hidden.has(oid))
    }
    return { all, seen: all.filter((pair) => !isHidden(pair)), hidden: all.filter(isHidden) }
  }

  /** Required to be the same at the commit; a new object has none. */
  private async entries({ state, attribute }: Changed): Promise<readonly Entry[]> {
    if (state.stored === undefined) return []
    return readAndRequireLinkEntries(this.work.transaction, state.oid, attribute)
  }

  /** As if they were not there. */
  private async refuseHidden({ state, attribute }: Changed, targets: Iterable<Oid>): Promise<void> {
    const named = [...targets].filter((oid) => oid !== noOid)
    const hidden = await this.guard.hiddenAmong(named)
    const first = named.find((oid) => hidden.has(oid))
    if (first === undefined) return
    // For its time alone.
    await this.guard.isSeen(first)
    throw noSuchTarget(first, { className: state.format.cls.name, attributeName: attribute.attribute.name })
  }

  private refuseUnlessWritable(changed: Changed): void {
    const { state, attribute } = changed
    const writable = this.access.classes.writableIn(state.format.cls, actionOf(state))
    if (!writable.has(attribute.attribute.number)) this.refuse(changed)
  }

  private refuse({ state, attribute }: Changed): never {
    throw attributeDenied(actionOf(state), attribute.attribute.name, state.format.cls.name)
  }
}

/** What a collection holds. */
interface Held<T> {
  readonly all: readonly T[]
  readonly seen: readonly T[]
  readonly hidden: readonly T[]
}

function actionOf({ stored }: ObjectState): 'create' | 'update' {
  return stored === undefined ? 'create' : 'update'
}

function isEmpty(change: Exclude<ValueChange, { kind: 'set' }>): boolean {
  switch (change.kind) {
    case 'putPairs':
      return change.pairs.length === 0
    case 'removeKeys':
      return change.keys.length === 0
    case 'merge':
      return change.fields.length === 0
    default:
      return change.elements.length === 0
  }
}

/** The objects that pairs name. */
function namedBy({ attribute: { spec } }: AttributeFormat, pairs: readonly MapPair[]): Oid[] {
  const isByReference = spec.logicalType === 'map' && spec.key.logicalType === 'reference'
  const named = pairs.flatMap(({ key, value }) => (isByReference ? [key as Oid, value as Oid] : [value as Oid]))
  return named.filter((oid) => oid !== noOid)
}
