/** Clears references from remaining objects to deleted ones: sets them to null or removes them from collections (contract 10.4). */
import { AshlarError } from '../errors.ts'
import { type RelationshipEnd, removeMapEntry, removeStoredEntry } from '../links/link-entries.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { nameKey, positionKey, targetKey } from '../records/link-keys.ts'
import type { Bytes } from '../store/store.ts'
import { inParts, inSlices } from '../store/time-slice.ts'
import { noOid, type Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { excuse, type ObjectState, objectBatchSize, setValue } from '../write/working-set.ts'
import type { DeletionRule } from './deletion-rules.ts'
import type { Referrer } from './referrers.ts'

/** The references that one object loses in one attribute. */
interface Loss {
  readonly rule: DeletionRule
  readonly source: Oid
  readonly targets: Set<Oid>
  /** For collections stored as links: target and key element of each entry. */
  readonly elements: (readonly [Oid, Bytes])[]
}

export class ClearedReferences {
  /** The sources of the references by attribute, one entry per reference. */
  readonly sources = new Map<DeletionRule, Oid[]>()
  private readonly unit: UnitOfWork
  private losses = new Map<DeletionRule, Map<Oid, Loss>>()
  private objects = 0

  constructor(unit: UnitOfWork) {
    this.unit = unit
  }

  /** Counts a reference that is cleared with the links of its target. */
  note(rule: DeletionRule, source: Oid): void {
    const existing = this.sources.get(rule)
    if (existing === undefined) this.sources.set(rule, [source])
    else existing.push(source)
  }

  /** Throws LimitExceeded. */
  add(rule: DeletionRule, target: Oid, { source, element }: Referrer): void {
    this.note(rule, source)
    let ruleLosses = this.losses.get(rule)
    if (ruleLosses === undefined) {
      ruleLosses = new Map()
      this.losses.set(rule, ruleLosses)
    }
    let loss = ruleLosses.get(source)
    if (loss === undefined) {
      const { changedObjectsMax } = this.unit.limits
      if (++this.objects > changedObjectsMax) {
        const message = `More than ${changedObjectsMax} objects would be changed at once (changedObjectsMax): so many refer to what would be deleted.`
        throw new AshlarError('LimitExceeded', message)
      }
      loss = { rule, source, targets: new Set(), elements: [] }
      ruleLosses.set(source, loss)
    }
    loss.targets.add(target)
    loss.elements.push([target, element])
  }

  async carryOut(): Promise<void> {
    const { losses } = this
    this.losses = new Map()
    for (const ruleLosses of losses.values()) {
      await inParts([...ruleLosses.values()], objectBatchSize, (part) => this.clear(part))
    }
  }

  private async clear(losses: readonly Loss[]): Promise<void> {
    const { objects } = this.unit
    await objects.loadAll(losses.map(({ source }) => source))
    const elements: Element[] = []
    await inSlices(losses, ({ source }) => {
      const state = objects.loaded(source)
      return state && objects.decodeLong(state)
    })
    await inSlices(losses, (loss) => {
      const state = objects.loaded(loss.source)
      if (state === undefined) return
      this.unit.blame(state)
      const attribute = state.format.attribute(loss.rule.attribute.number)
      if (attribute.linkStorage === undefined) clearValue(state, attribute, loss.targets)
      else for (const [target, element] of loss.elements) elements.push(elementOf(state, attribute, target, element))
    })
    if (elements.length > 0) await this.clearElements(elements)
  }

  /** The commit requires the entries read in this round trip to exist. */
  private async clearElements(elements: readonly Element[]): Promise<void> {
    const { unit } = this
    const values = await unit.transaction.readAndRequire(elements.map(({ key }) => key))
    unit.isDeleting = true
    await inSlices(elements.entries(), ([i, { owner, key }]) => {
      const value = values[i]
      unit.requireObject(owner.oid)
      if (value === undefined) return
      if (owner.attribute.linkStorage === 'map') removeMapEntry(unit, owner, { key, value })
      else removeStoredEntry(unit, owner, { key, value })
    })
    unit.isDeleting = false
  }
}

/** An element of a collection stored as links. */
interface Element {
  readonly owner: RelationshipEnd
  readonly key: Buffer
}

function elementOf({ oid }: ObjectState, attribute: AttributeFormat, target: Oid, element: Bytes): Element {
  return { owner: { oid, attribute }, key: entryKey(oid, attribute, target, element) }
}

function clearValue(state: ObjectState, attribute: AttributeFormat, targets: ReadonlySet<Oid>): void {
  const value = state.values[attribute.index]
  if (Array.isArray(value))
    setValue(
      state,
      attribute,
      (value as readonly Oid[]).filter((one) => !targets.has(one)),
    )
  else if (targets.has(value as Oid)) setValue(state, attribute, noOid)
  excuse(state, attribute)
}

function entryKey(owner: Oid, { attribute, linkStorage }: AttributeFormat, target: Oid, element: Bytes): Buffer {
  if (linkStorage === 'set') return targetKey(owner, attribute.number, target)
  return linkStorage === 'list'
    ? positionKey(owner, attribute.number, element)
    : nameKey(owner, attribute.number, element)
}
