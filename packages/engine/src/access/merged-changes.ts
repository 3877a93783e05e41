/** Merges a caller's changes with the parts of a value that are hidden from it, which stay unchanged (decision 0026). */
import { readAndRequireLinkEntries } from '../links/attribute-links.ts'
import { mapEntryKey } from '../links/map-entries.ts'
import { applyChange } from '../records/apply-change.ts'
import type { ValueChange } from '../records/attribute-change.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import { isSameValue } from '../records/same-value.ts'
import type { Awaitable, Bytes, Entry } from '../store/store.ts'
import { inParts, openTimeSlice, runYieldingIfLong } from '../store/time-slice.ts'
import type { StepwiseWork } from '../types/logical-type.ts'
import type { MapPair } from '../types/map.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { TypeSpec } from '../types/type-spec.ts'
import type { ChangeGuard, GuardedWork } from '../write/change-guard.ts'
import { noSuchTarget } from '../write/reference-error.ts'
import type { ObjectState } from '../write/working-set.ts'
import type { CatalogAccess } from './catalog-access.ts'
import { attributeDenied, attributeReadOnly, elementsUnclear } from './denied.ts'
import { mayHide } from './hidden-within.ts'
import {
  areSame,
  type CollectionParts,
  type Element,
  holdsKeyOf,
  linkElementsOf,
  referencedBy,
} from './link-elements.ts'
import { type MergeContext, mergeElements, type OriginsByList, VisibleValues } from './seen-values.ts'
import { type IsVisible, targetsIn } from './value-references.ts'

/** Link entries whose objects are checked at a time. */
const entriesPerPart = 1_000

/** A changed attribute of an object. */
interface Changed {
  readonly state: ObjectState
  /** In the full catalog, and in the caller's. */
  readonly attribute: AttributeFormat
  readonly restricted: AttributeFormat
}

export class MergedChanges {
  private readonly access: CatalogAccess
  private readonly work: GuardedWork
  private readonly guard: Pick<ChangeGuard, 'hiddenAmong' | 'isSeen'>
  private readonly values: VisibleValues

  constructor(access: CatalogAccess, work: GuardedWork, guard: Pick<ChangeGuard, 'hiddenAmong' | 'isSeen'>) {
    this.access = access
    this.work = work
    this.guard = guard
    this.values = new VisibleValues(access.classes, work.objects.formats, recordFormats(access.restricted))
  }

  /** See `ChangeGuard.changeFor`. */
  changeFor(changed: Changed, change: ValueChange): Awaitable<ValueChange | undefined> {
    const { state, attribute, restricted } = changed
    if (attribute.linkStorage !== undefined) return this.linkChange(changed, change)
    const { spec } = attribute.attribute
    const before = state.values[attribute.index]
    if (mayHoldReferences(spec)) return this.mergedChange(changed, before, change)
    const after = applyChange(restricted, before, change)
    if (isSameValue(attribute.codec, before, after)) return undefined
    this.refuseUnlessWritable(changed)
    return { kind: 'set', value: after }
  }

  /** See `ChangeGuard.seen`. */
  async visible(state: ObjectState, { attribute }: AttributeFormat, value: unknown): Promise<unknown> {
    const { spec } = state.format.attribute(attribute.number).attribute
    if (!mayHoldReferences(spec)) return value
    const { visible } = await this.visibleIn(spec, value)
    return runPieces(this.values.toRestricted(spec, visible))
  }

  private async visibleIn(spec: TypeSpec, value: unknown): Promise<{ visible: unknown; isVisible: IsVisible }> {
    const hidden = await this.guard.hiddenAmong(this.targets(spec, value))
    const isVisible = (oid: Oid): boolean => !hidden.has(oid)
    return { visible: await runPieces(this.values.visible(spec, value, isVisible)), isVisible }
  }

  private targets(spec: TypeSpec, value: unknown): Oid[] {
    const targets = new Map<Oid, undefined | Bytes>()
    targetsIn(spec, value, this.work.objects.formats, targets)
    return [...targets.keys()]
  }

  /** Change of a value that is stored in the record and may have hidden parts. */
  private async mergedChange(changed: Changed, before: unknown, change: ValueChange): Promise<ValueChange | undefined> {
    const { state, attribute } = changed
    const { spec } = attribute.attribute
    const origins: OriginsByList = new Map()
    const fullChange = await runPieces(this.values.changeOf(attribute, change, origins))
    if (fullChange.kind === 'add' && spec.logicalType === 'list') return this.addition(changed, fullChange)
    const { visible, isVisible } = await this.visibleIn(spec, before)
    const after = applyChange(attribute, visible, fullChange)
    if (isSameValue(attribute.codec, visible, after)) return undefined
    this.refuseUnlessWritable(changed)
    await this.refuseHidden(changed, this.targets(spec, after))
    const merging = this.values.mergeHidden(
      state.format,
      attribute,
      before,
      after,
      mergeContext(changed, isVisible, origins),
    )
    return { kind: 'set', value: await runPieces(merging) }
  }

  /** Appends to a list that is stored in the record: existing elements stay, hidden or not, so that their visibility does not matter. */
  private async addition(changed: Changed, change: Added): Promise<ValueChange | undefined> {
    if (isEmpty(change)) return undefined
    const { state, attribute } = changed
    this.refuseUnlessWritable(changed)
    await this.refuseHidden(changed, this.targets(attribute.attribute.spec, change.elements))
    const context = mergeContext(changed, () => true, new Map())
    const elements = await runPieces(this.values.mergeHidden(state.format, attribute, [], change.elements, context))
    return { kind: 'add', elements: elements as readonly unknown[] }
  }

  /** Change of a collection that is stored as links. */
  private async linkChange(changed: Changed, change: ValueChange): Promise<ValueChange | undefined> {
    const { restricted } = changed
    if (change.kind === 'set') return this.replacement(changed, change)
    if (isEmpty(change)) return undefined
    this.refuseUnlessWritable(changed)
    switch (change.kind) {
      case 'add':
        await this.refuseHidden(changed, change.elements as readonly Oid[])
        return change
      case 'remove': {
        const hidden = await this.guard.hiddenAmong(referencedBy(restricted, change.elements as readonly Oid[]))
        return { kind: 'remove', elements: change.elements.filter((oid) => !hidden.has(oid as Oid)) }
      }
      case 'putPairs': {
        await this.refuseHidden(changed, referencedBy(restricted, change.pairs))
        const { hidden } = await this.splitPairs(
          changed,
          change.pairs.map(({ key }) => key),
        )
        if (hidden.length > 0) this.refuse(changed)
        return change
      }
      case 'removeKeys': {
        const { hidden } = await this.splitPairs(changed, change.keys)
        const hiddenKeys = new Set((hidden as readonly MapPair[]).map(({ key }) => key))
        return { kind: 'removeKeys', keys: change.keys.filter((key) => !hiddenKeys.has(key)) }
      }
      default:
        return change
    }
  }

  /** Replacement of the whole collection. */
  private async replacement(
    changed: Changed,
    change: ValueChange & { readonly kind: 'set' },
  ): Promise<ValueChange | undefined> {
    const { attribute, restricted } = changed
    const after = change.value as readonly Element[]
    if (!mayHide(attribute.attribute.spec, this.access.classes, ['reference']) && this.isWritable(changed)) {
      await this.refuseHidden(changed, referencedBy(restricted, after))
      return change
    }
    const parts = await this.splitByVisibility(changed, await this.entries(changed))
    if (areSame(attribute, parts.visible, after)) return undefined
    this.refuseUnlessWritable(changed)
    await this.refuseHidden(changed, referencedBy(restricted, after))
    if (parts.hidden.length === 0) return change
    if (attribute.linkStorage !== 'list') {
      if (holdsKeyOf(after, parts.hidden)) this.refuse(changed)
      return { kind: 'set', value: [...after, ...parts.hidden] }
    }
    const hidden = new Set(parts.hidden as readonly Oid[])
    return {
      kind: 'set',
      value: mergeElements(parts.all as readonly Oid[], after as readonly Oid[], (oid) => !hidden.has(oid)),
    }
  }

  /** The pairs with these keys. */
  private async splitPairs(changed: Changed, keys: readonly unknown[]): Promise<CollectionParts> {
    const { state, attribute } = changed
    if (state.stored === undefined) return this.splitByVisibility(changed, [])
    const entries: Entry[] = []
    await inParts(keys, entriesPerPart, async (part) => {
      const entryKeys = part.map((key) => mapEntryKey(state.oid, attribute, key))
      const values = await this.work.transaction.readAndRequire(entryKeys)
      for (const [i, key] of entryKeys.entries()) {
        const value = values[i]
        if (value !== undefined) entries.push({ key, value })
      }
    })
    return this.splitByVisibility(changed, entries)
  }

  /** Elements of the entries, by visibility; checked in parts. */
  private async splitByVisibility({ attribute }: Changed, entries: readonly Entry[]): Promise<CollectionParts> {
    const parts = { all: [] as Element[], visible: [] as Element[], hidden: [] as Element[] }
    await inParts(entries, entriesPerPart, async (part) => {
      const elements = linkElementsOf(attribute, part)
      const hidden = await this.guard.hiddenAmong(referencedBy(attribute, elements))
      for (const element of elements) {
        const isHidden = hidden.size > 0 && referencedBy(attribute, [element]).some((oid) => hidden.has(oid))
        parts.all.push(element)
        if (isHidden) parts.hidden.push(element)
        else parts.visible.push(element)
      }
    })
    return parts
  }

  /** The entries must be unchanged at the commit; a new object has none. */
  private async entries({ state, attribute }: Changed): Promise<readonly Entry[]> {
    if (state.stored === undefined) return []
    return readAndRequireLinkEntries(this.work.transaction, state.oid, attribute)
  }

  /** Throws the same error as for missing objects. */
  private async refuseHidden({ state, attribute }: Changed, targets: readonly Oid[]): Promise<void> {
    const references = targets.filter((oid) => oid !== noOid)
    const hidden = await this.guard.hiddenAmong(references)
    if (hidden.size === 0) return
    const first = references.find((oid) => hidden.has(oid))
    if (first === undefined) return
    // Takes as long as for a missing object.
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

function mergeContext({ state, attribute }: Changed, isVisible: IsVisible, origins: OriginsByList): MergeContext {
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

/** Synchronous where the work is short. */
function runPieces<T>(pieces: StepwiseWork<T>): Awaitable<T> {
  return runYieldingIfLong(pieces, openTimeSlice())
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
