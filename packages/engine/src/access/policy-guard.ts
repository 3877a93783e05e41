/** Decides what of a change the policy of its caller allows, and keeps what is hidden from it (decision 0026). */
import { AshlarError, assert } from '../errors.ts'
import { objectNotFound } from '../objects/update.ts'
import { applyChange } from '../records/apply-change.ts'
import type { ValueChange } from '../records/attribute-change.ts'
import { type AttributeFormat, type ClassFormat, embeddedClassOf } from '../records/class-format.ts'
import { type RecordFormats, recordFormats } from '../records/record-formats.ts'
import { mayHoldReferences } from '../records/references-in.ts'
import { isSameValue } from '../records/same-value.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Snapshot } from '../store/store.ts'
import { inSlices } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { ChangeGuard, GuardedWork, Restriction } from '../write/change-guard.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { ObjectState } from '../write/working-set.ts'
import type { RuledAction } from './access-policy.ts'
import type { CatalogAccess, CatalogAccesses } from './catalog-access.ts'
import { type Asking, type Candidates, Visibility } from './visibility.ts'

/** `database`: unrestricted. */
export function policyRestriction(database: OpenDatabase, accesses: CatalogAccesses, asking: Asking): Restriction {
  return {
    catalogOf: (catalog) => accesses.of(catalog).restricted,
    guardOf: (work) => {
      const { memory } = work.transaction
      assert(memory !== undefined, 'whoever is restricted changes objects within a budget')
      return new PolicyGuard(database, accesses.of(work.catalog), { ...asking, memory }, work)
    },
  }
}

class PolicyGuard implements ChangeGuard {
  readonly catalog: Catalog
  readonly formats: RecordFormats
  private readonly database: OpenDatabase
  private readonly access: CatalogAccess
  private readonly asking: Asking
  private readonly work: GuardedWork
  /** As all was before the unit. */
  private readonly before: Snapshot
  private readonly decisions = new Map<RuledAction, Visibility>()
  private readonly updated = new Set<ObjectState>()

  constructor(database: OpenDatabase, access: CatalogAccess, asking: Asking, work: GuardedWork) {
    this.database = database
    this.access = access
    this.asking = asking
    this.work = work
    this.catalog = access.restricted
    this.formats = recordFormats(this.catalog)
    this.before = work.transaction.overlay()
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

  /** What it was decided by is required unchanged, except for objects that a rule goes on to. */
  admit(state: ObjectState, action: 'read' | 'update' | 'delete'): Awaitable<void> {
    const { oid, stored } = state
    if (stored === undefined || this.updated.has(state)) return undefined
    const candidate: Candidates = new Map([[oid, stored]])
    return mapAwaitable(this.by('read').hiddenAmong(candidate), (hidden) => {
      if (hidden.has(oid)) throw objectNotFound(oid)
      if (action === 'read') return undefined
      return mapAwaitable(this.by(action).hiddenAmong(candidate), (refused) => {
        if (refused.has(oid))
          throw denied(`The caller may not ${action} object ${oid} of class ${state.format.cls.name}.`)
        if (action === 'update') this.updated.add(state)
      })
    })
  }

  changeFor(
    state: ObjectState,
    attribute: AttributeFormat,
    known: AttributeFormat,
    change: ValueChange,
  ): Awaitable<ValueChange | undefined> {
    const { spec, number, name } = attribute.attribute
    const action = state.stored === undefined ? 'create' : 'update'
    const { cls } = state.format
    if (mayHoldReferences(spec) || embeddedClassOf(spec) !== undefined) {
      throw denied(`The caller may not ${action} attribute ${name} of class ${cls.name}.`)
    }
    const before = state.values[attribute.index]
    const after = applyChange(known, before, change)
    if (isSameValue(attribute.codec, before, after)) return undefined
    if (!this.access.classes.writableIn(cls, action).has(number)) {
      throw denied(`The caller may not ${action} attribute ${name} of class ${cls.name}.`)
    }
    return { kind: 'set', value: after }
  }

  hiddenAmong(oids: readonly Oid[]): Awaitable<ReadonlySet<Oid>> {
    const candidates: Candidates = new Map()
    for (const oid of oids) {
      const known = this.work.objects.known(oid)
      if (known === undefined || known.stored !== undefined) candidates.set(oid, known?.stored)
    }
    return this.by('read').hiddenAmong(candidates)
  }

  async checkWritten(): Promise<void> {
    const created: Candidates = new Map()
    const updated: Candidates = new Map()
    await inSlices(this.work.objects.all(), (state) => {
      if (state.isDeleted) return
      if (state.stored === undefined) created.set(state.oid, undefined)
      else if (this.updated.has(state)) updated.set(state.oid, undefined)
    })
    await this.checkAfter('create', created)
    await this.checkAfter('update', updated)
  }

  private async checkAfter(action: 'create' | 'update', written: Candidates): Promise<void> {
    if (written.size === 0) return
    await this.work.transaction.sortWrites()
    const after = new Visibility(this.work.transaction.overlay(), this.access, this.database, this.asking, action)
    const [refused] = await after.hiddenAmong(written)
    if (refused === undefined) return
    const { format, position } = this.work.objects.known(refused) as ObjectState
    const error = denied(`The caller may not ${action} such an object of class ${format.cls.name}.`)
    throw position === undefined ? error : error.within(position)
  }

  private by(action: RuledAction): Visibility {
    let decision = this.decisions.get(action)
    if (decision === undefined) {
      decision = new Visibility(this.before, this.access, this.database, this.asking, action)
      this.decisions.set(action, decision)
    }
    return decision
  }
}

function denied(message: string): AshlarError {
  return new AshlarError('AccessDenied', message)
}
