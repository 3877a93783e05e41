/** What the changes that a caller asks for come to where part of the value is hidden from it: that part stays (decision 0026). */
import { readAndRequireLinkEntries } from '../links/attribute-links.ts'
import { mapEntryKey } from '../links/map-entries.ts'
import { applyChange } from '../records/apply-change.ts'
import type { ValueChange } from '../records/attribute-change.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import { isSameValue } from '../records/same-value.ts'
import type { Awaitable, Bytes, Entry } from '../store/store.ts'
import { inParts, inTurnsIfLong, openTimeSlice } from '../store/time-slice.ts'
import type { Pieces } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { TypeSpec } from '../types/type-spec.ts'
import type { ChangeGuard, GuardedWork } from '../write/change-guard.ts'
import { noSuchTarget } from '../write/reference-error.ts'
import type { ObjectState } from '../write/working-set.ts'
import type { CatalogAccess } from './catalog-access.ts'
import { attributeDenied, attributeReadOnly, elementsUnclear } from './denied.ts'
import { mayHide } from './hidden-within.ts'
import { areSame, type Element, elementsOf, type Held, holdsKeyOf, namedBy } from './link-elements.ts'
import { type Origins, type Putting, putElements, SeenValues } from './seen-values.ts'
import { type IsVisible, targetsIn } from './value-references.ts'

/** Entries of links whose objects are looked at in one go. */
const entriesAtOnce = 1_000

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
    if (isSameValue(attribute.codec, before, after)) return undefined
    this.refuseUnlessWritable(changed)
    return { kind: 'set', value: after }
  }

  /** See `ChangeGuard.seen`. */
  async seen(state: ObjectState, { attribute }: AttributeFormat, value: unknown): Promise<unknown> {
    const { spec } = state.format.attribute(attribute.number).attribute
    if (!mayHoldReferences(spec)) return value
    const { seen } = await this.seenIn(spec, value)
    return inTurns(this.values.known(spec, seen))
  }

  private async seenIn(spec: TypeSpec, value: unknown): Promise<{ seen: unknown; isVisible: IsVisible }> {
    const hidden = await this.guard.hiddenAmong(this.targets(spec, value))
    const isVisible = (oid: Oid): boolean => !hidden.has(oid)
    return { seen: await inTurns(this.values.seen(spec, value, isVisible)), isVisible }
  }

  private targets(spec: TypeSpec, value: unknown): Oid[] {
    const targets = new Map<Oid, undefined | Bytes>()
    targetsIn(spec, value, this.work.objects.formats, targets)
    return [...targets.keys()]
  }

  /** Of a value that is kept in the record and may have hidden parts. */
  private async mergedChange(changed: Changed, before: unknown, change: ValueChange): Promise<ValueChange | undefined> {
    const { state, attribute } = changed
    const { spec } = attribute.attribute
    const origins: Origins = new Map()
    const whole = await inTurns(this.values.changeOf(attribute, change, origins))
    if (whole.kind === 'add' && spec.logicalType === 'list') return this.addition(changed, whole)
    const { seen, isVisible } = await this.seenIn(spec, before)
    const after = applyChange(attribute, seen, whole)
    if (isSameValue(attribute.codec, seen, after)) return undefined
    this.refuseUnlessWritable(changed)
    await this.refuseHidden(changed, this.targets(spec, after))
    const merging = this.values.putBack(state.format, attribute, before, after, puttingOf(changed, isVisible, origins))
    return { kind: 'set', value: await inTurns(merging) }
  }

  /** To the end of a list that is kept in the record: whatever it holds already stays, seen or not, and so nothing of that is asked for. */
  private async addition(changed: Changed, change: Added): Promise<ValueChange | undefined> {
    if (isEmpty(change)) return undefined
    const { state, attribute } = changed
    this.refuseUnlessWritable(changed)
    await this.refuseHidden(changed, this.targets(attribute.attribute.spec, change.elements))
    const putting = puttingOf(changed, () => true, new Map())
    const elements = await inTurns(this.values.putBack(state.format, attribute, [], change.elements, putting))
    return { kind: 'add', elements: elements as readonly unknown[] }
  }

  /** Of a collection that is kept as links. */
  private async linkChange(changed: Changed, change: ValueChange): Promise<ValueChange | undefined> {
    const { known } = changed
    if (change.kind === 'set') return this.replacement(changed, change)
    if (isEmpty(change)) return undefined
    this.refuseUnlessWritable(changed)
    switch (change.kind) {
      case 'add':
        await this.refuseHidden(changed, change.elements as readonly Oid[])
        return change
      case 'remove': {
        const hidden = await this.guard.hiddenAmong(namedBy(known, change.elements as readonly Oid[]))
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
        const kept = new Set((hidden as readonly MapPair[]).map(({ key }) => key))
        return { kind: 'removeKeys', keys: change.keys.filter((key) => !kept.has(key)) }
      }
      default:
        return change
    }
  }

  /** Of the whole collection. */
  private async replacement(
    changed: Changed,
    change: ValueChange & { readonly kind: 'set' },
  ): Promise<ValueChange | undefined> {
    const { attribute, known } = changed
    const after = change.value as readonly Element[]
    if (!mayHide(attribute.attribute.spec, this.access.classes, ['reference']) && this.isWritable(changed)) {
      await this.refuseHidden(changed, namedBy(known, after))
      return change
    }
    const held = await this.held(changed, await this.entries(changed))
    if (areSame(attribute, held.seen, after)) return undefined
    this.refuseUnlessWritable(changed)
    await this.refuseHidden(changed, namedBy(known, after))
    if (held.hidden.length === 0) return change
    if (attribute.linkStorage !== 'list') {
      if (holdsKeyOf(after, held.hidden)) this.refuse(changed)
      return { kind: 'set', value: [...after, ...held.hidden] }
    }
    const hidden = new Set(held.hidden as readonly Oid[])
    return {
      kind: 'set',
      value: putElements(held.all as readonly Oid[], after as readonly Oid[], (oid) => !hidden.has(oid)),
    }
  }

  /** The pairs with these keys. */
  private async heldAt(changed: Changed, keys: readonly unknown[]): Promise<Held> {
    const { state, attribute } = changed
    if (state.stored === undefined) return this.held(changed, [])
    const entries: Entry[] = []
    await inParts(keys, entriesAtOnce, async (part) => {
      const entryKeys = part.map((key) => mapEntryKey(state.oid, attribute, key))
      const values = await this.work.transaction.readAndRequire(entryKeys)
      for (const [i, key] of entryKeys.entries()) {
        const value = values[i]
        if (value !== undefined) entries.push({ key, value })
      }
    })
    return this.held(changed, entries)
  }

  /** What entries stand for; a part at a time. */
  private async held({ attribute }: Changed, entries: readonly Entry[]): Promise<Held> {
    const held = { all: [] as Element[], seen: [] as Element[], hidden: [] as Element[] }
    await inParts(entries, entriesAtOnce, async (part) => {
      const elements = elementsOf(attribute, part)
      const hidden = await this.guard.hiddenAmong(namedBy(attribute, elements))
      for (const element of elements) {
        const isHidden = hidden.size > 0 && namedBy(attribute, [element]).some((oid) => hidden.has(oid))
        held.all.push(element)
        if (isHidden) held.hidden.push(element)
        else held.seen.push(element)
      }
    })
    return held
  }

  /** Required to be the same at the commit; a new object has none. */
  private async entries({ state, attribute }: Changed): Promise<readonly Entry[]> {
    if (state.stored === undefined) return []
    return readAndRequireLinkEntries(this.work.transaction, state.oid, attribute)
  }

  /** As if they were not there. */
  private async refuseHidden({ state, attribute }: Changed, targets: readonly Oid[]): Promise<void> {
    const named = targets.filter((oid) => oid !== noOid)
    const hidden = await this.guard.hiddenAmong(named)
    if (hidden.size === 0) return
    const first = named.find((oid) => hidden.has(oid))
    if (first === undefined) return
    // Takes as long as a missing object would.
    await this.guard.isSeen(first)
    throw noSuchTarget(first, { className: state.format.cls.name, attributeName: attribute.attribute.name })
  }

  private refuseUnlessWritable(changed: Changed): void {
    if (this.isWritable(changed)) return
    const { state, attribute } = changed
    throw attributeReadOnly(actionOf(state), attribute.attribute.name, state.format.cls.name)
  }

  private isWritable({ state, attribute }: Changed): boolean {
    return this.access.classes.writableIn(state.format.cls, actionOf(state)).has(attribute.attribute.number)
  }

  private refuse({ state, attribute }: Changed): never {
    throw attributeDenied(actionOf(state), attribute.attribute.name, state.format.cls.name)
  }
}

type Added = Extract<ValueChange, { kind: 'add' }>

function puttingOf({ state, attribute }: Changed, isVisible: IsVisible, origins: Origins): Putting {
  const action = actionOf(state)
  return {
    isVisible,
    action,
    refuse: (refused: AttributeFormat, { cls }: ClassFormat): never => {
      throw attributeDenied(action, refused.attribute.name, cls.name)
    },
    refuseReadOnly: (refused: AttributeFormat, { cls }: ClassFormat): never => {
      throw attributeReadOnly(action, refused.attribute.name, cls.name)
    },
    refuseUnclear: (): never => {
      throw elementsUnclear(attribute.attribute.name, state.format.cls.name)
    },
    originsOf: (list) => origins.get(list),
  }
}

/** At once where the work is short. */
function inTurns<T>(pieces: Pieces<T>): Awaitable<T> {
  return inTurnsIfLong(pieces, openTimeSlice())
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
