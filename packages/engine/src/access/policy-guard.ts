/** Checks changes against the policy of their caller, and preserves data that is hidden from it (decision 0026). */
import type { RequestMemory } from '../budget/request-memory.ts'
import { type AshlarError, assert } from '../errors.ts'
import { readObject } from '../objects/read.ts'
import { objectNotFound } from '../objects/update.ts'
import type { ValueChange } from '../records/attribute-change.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { objectKey } from '../records/object-key.ts'
import { revisionPrefixOf } from '../records/record-format.ts'
import { type RecordFormats, recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { IndexDefinition } from '../schema/class-definition.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Bytes, Snapshot } from '../store/store.ts'
import { inParts, inSlices } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { ChangeGuard, GuardedWork, Restriction } from '../write/change-guard.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { ReferenceLocation } from '../write/reference-error.ts'
import type { ObjectState } from '../write/working-set.ts'
import type { RuledAction } from './access-policy.ts'
import type { CatalogAccess, CatalogAccesses } from './catalog-access.ts'
import { checkSchemaChange } from './check-schema-change.ts'
import { attributeDenied, denied } from './denied.ts'
import { MergedChanges } from './merged-changes.ts'
import { type AccessFilter, RestrictedSnapshot } from './restricted-snapshot.ts'
import { restrictedCapabilities } from './restricted-store.ts'
import { type CallerContext, type Candidates, Visibility } from './visibility.ts'

/** `database` must be unrestricted. */
export function policyRestriction(
  database: OpenDatabase,
  accesses: CatalogAccesses,
  caller: CallerContext,
): Restriction {
  return {
    catalogOf: (catalog) => accesses.of(catalog).restricted,
    prepared: (catalog) => accesses.of(catalog).prepared(),
    capabilities: restrictedCapabilities(database.store),
    checkSchema: (catalog, next) => checkSchemaChange(accesses.of(catalog).classes, catalog.state, next),
    viewOf: (below, catalog, reading) => {
      const access = accesses.of(catalog)
      const open = (): AccessFilter => {
        return { access, visibility: new Visibility(below, access, database, { ...caller, ...reading }) }
      }
      return new RestrictedSnapshot(below, open)
    },
    guardOf: (work) => {
      const { memory, signal } = work.transaction
      assert(memory !== undefined, 'whoever is restricted changes objects within a budget')
      return new PolicyGuard(database, accesses.of(work.visibleCatalog), { ...caller, memory, signal }, work)
    },
  }
}

/** Objects that are checked at a time. */
const oidsPerPart = 1_000

class PolicyGuard implements ChangeGuard {
  readonly catalog: Catalog
  readonly formats: RecordFormats
  private readonly database: OpenDatabase
  private readonly access: CatalogAccess
  private readonly caller: CallerContext
  private readonly memory: RequestMemory
  private readonly work: GuardedWork
  /** State before the unit of work. */
  private readonly before: Snapshot
  private readonly decisions = new Map<RuledAction, Visibility>()
  /** Addressed objects; and objects that lose links to other objects, with the attribute that was set. */
  private readonly updated = new Map<Oid, ReferenceLocation | undefined>()
  private readonly merged: MergedChanges

  constructor(
    database: OpenDatabase,
    access: CatalogAccess,
    caller: CallerContext & { readonly memory: RequestMemory },
    work: GuardedWork,
  ) {
    this.database = database
    this.access = access
    this.caller = caller
    this.memory = caller.memory
    this.work = work
    this.catalog = access.restricted
    this.formats = recordFormats(this.catalog)
    this.before = work.transaction.overlay()
    this.merged = new MergedChanges(access, work, this)
  }

  creatable({ name, number }: SchemaClass): SchemaClass {
    const cls = this.access.catalog.classByNumber(number)
    assert(cls !== undefined, 'what the caller knows is in the catalog')
    if (!this.access.classes.allows(cls, 'create')) {
      throw denied(`The caller may not create objects of class ${name}.`)
    }
    return cls
  }

  formatOf({ cls }: ClassFormat): ClassFormat {
    return this.formats.byNumber(cls.number)
  }

  /** The record that the decision depends on must be unchanged at the commit, except for objects that a rule follows references to. */
  admit(state: ObjectState, action: 'read' | 'update' | 'delete'): Awaitable<void> {
    const { oid, stored } = state
    if (stored === undefined) return undefined
    if (action === 'update' && this.updated.has(oid) && this.updated.get(oid) === undefined) return undefined
    const candidate: Candidates = new Map([[oid, stored]])
    return mapAwaitable(this.visibilityFor('read').refusedAmong(candidate), (hidden) => {
      if (hidden.has(oid)) throw objectNotFound(oid)
      if (action === 'read') return undefined
      return mapAwaitable(this.visibilityFor(action).refusedAmong(candidate), (refused) => {
        if (refused.has(oid))
          throw denied(`The caller may not ${action} object ${oid} of class ${state.format.cls.name}.`)
        requireAsRead(this.work, state.key, stored)
        if (action === 'update') this.updated.set(oid, undefined)
      })
    })
  }

  changeFor(
    state: ObjectState,
    attribute: AttributeFormat,
    restricted: AttributeFormat,
    change: ValueChange,
  ): Awaitable<ValueChange | undefined> {
    return this.merged.changeFor({ state, attribute, restricted }, change)
  }

  seen(state: ObjectState, restricted: AttributeFormat): Awaitable<unknown> {
    const { index } = state.format.attribute(restricted.attribute.number)
    return this.merged.visible(state, restricted, state.values[index])
  }

  admitTaking(from: Oid, place: ReferenceLocation): Awaitable<void> {
    const loaded = this.work.objects.loaded(from)
    if (loaded !== undefined && (loaded.stored === undefined || this.updated.has(from))) return undefined
    return mapAwaitable(this.work.objects.load(from), (state) => {
      if (state?.stored !== undefined) requireAsRead(this.work, state.key, state.stored)
      const candidate: Candidates = new Map([[from, state?.stored]])
      return mapAwaitable(this.visibilityFor('read').refusedAmong(candidate), (hidden) =>
        mapAwaitable(this.visibilityFor('update').refusedAmong(candidate), (refused) => {
          if (hidden.has(from) || refused.has(from)) throw unlinkDenied(place)
          this.updated.set(from, place)
        }),
      )
    })
  }

  async representationOf(oid: Oid): Promise<Buffer> {
    return readObject(this.snapshot(), this.catalog, oid, {
      database: this.database,
      withMemory: (use) => use(this.memory),
    })
  }

  isSeen(oid: Oid): Awaitable<boolean> {
    return mapAwaitable(
      this.snapshot({ withReferences: true }).view(objectKey(oid), () => true),
      (isFound) => isFound === true,
    )
  }

  /** The caller's view before the unit of work. Not released, since its visibility is still in use. */
  private snapshot(options: Pick<AccessFilter, 'withReferences'> = {}): Snapshot {
    const screen = { ...options, access: this.access, visibility: this.visibilityFor('read') }
    return new RestrictedSnapshot(this.before, () => screen)
  }

  /** The holder is not revealed if the index or one of the objects is hidden from the caller. */
  async mayTellHolder({ number }: IndexDefinition, change: Oid, holder: Oid): Promise<boolean> {
    if (this.catalog.indexByNumber(number) === undefined) return false
    return (await this.hiddenAmong([change, holder])).size === 0
  }

  hiddenAmong(oids: readonly Oid[]): Awaitable<ReadonlySet<Oid>> {
    return oids.length > oidsPerPart ? this.hiddenInParts(oids) : this.hiddenIn(oids)
  }

  private async hiddenInParts(oids: readonly Oid[]): Promise<ReadonlySet<Oid>> {
    const all = new Set<Oid>()
    await inParts(oids, oidsPerPart, async (part) => {
      for (const oid of await this.hiddenIn(part)) all.add(oid)
    })
    return all
  }

  private hiddenIn(oids: readonly Oid[]): Awaitable<ReadonlySet<Oid>> {
    const candidates: Candidates = new Map()
    for (const oid of oids) {
      const loaded = this.work.objects.loaded(oid)
      if (loaded === undefined || loaded.stored !== undefined) candidates.set(oid, loaded?.stored)
    }
    return this.visibilityFor('read').refusedAmong(candidates)
  }

  async checkWritten(): Promise<void> {
    const created: Candidates = new Map()
    const updated: Candidates = new Map()
    await inSlices(this.work.objects.all(), (state) => {
      if (state.isDeleted) return
      if (state.stored === undefined) created.set(state.oid, undefined)
    })
    for (const oid of this.updated.keys()) if (!this.work.objects.isDeleted(oid)) updated.set(oid, undefined)
    await this.checkAfter('create', created)
    await this.checkAfter('update', updated)
  }

  private async checkAfter(action: 'create' | 'update', written: Candidates): Promise<void> {
    if (written.size === 0) return
    await this.work.transaction.sortWrites()
    const after = new Visibility(this.work.transaction.overlay(), this.access, this.database, this.caller, action)
    const [refused] = await after.refusedAmong(written)
    if (refused === undefined) return
    const place = action === 'update' ? this.updated.get(refused) : undefined
    if (place !== undefined) throw unlinkDenied(place)
    const state = this.work.objects.loaded(refused)
    const of = state === undefined ? '' : ` of class ${state.format.cls.name}`
    const error = denied(`The caller may not ${action} such an object${of}.`)
    throw state?.position === undefined ? error : error.within(state.position)
  }

  private visibilityFor(action: RuledAction): Visibility {
    let decision = this.decisions.get(action)
    if (decision === undefined) {
      decision = new Visibility(this.before, this.access, this.database, this.caller, action)
      this.decisions.set(action, decision)
    }
    return decision
  }
}

function requireAsRead({ transaction }: GuardedWork, key: Bytes, stored: Bytes): void {
  transaction.requireRevision(key, revisionPrefixOf(stored))
}

function unlinkDenied({ attributeName, className }: ReferenceLocation): AshlarError {
  return attributeDenied('update', attributeName, className)
}
