/**
 * The deletions of a statement or operation and their effects (contract 10.4): first collects all objects to delete, then
 * checks for restrictions, then deletes and clears the remaining references.
 */
import { AshlarError } from '../errors.ts'
import { deleteObjectLinks } from '../links/delete-object-links.ts'
import { inSlices, openTimeSlice } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { PendingDeletions, UnitOfWork } from '../write/unit-of-work.ts'
import { type ObjectState, objectBatchSize } from '../write/working-set.ts'
import { ClearedReferences } from './cleared-references.ts'
import { deleteRestricted, type Restricting, reportedRestrictingMax } from './delete-restricted.ts'
import { type DeletionReport, reportDeletions } from './deletion-report.ts'
import { type DeletionRule, deletionRulesOf, tellingInverse } from './deletion-rules.ts'
import { type Referrer, referrersOf, requireReferrer, targetsOf } from './referrers.ts'

/** An object to be deleted. */
interface Going {
  /** The attribute that causes the deletion; undefined for objects deleted by request. */
  readonly rule: DeletionRule | undefined
  /** Undefined until it is read. */
  state: ObjectState | undefined
}

export class Deletions implements PendingDeletions {
  private readonly unit: UnitOfWork
  private readonly going = new Map<Oid, Going>()
  /** Objects whose further effects are still to be determined. */
  private open: Oid[] = []
  private follow = 0
  /** Objects to delete unless a remaining object refers to them, each with an attribute by which a deleted one does. */
  private candidates = new Map<Oid, DeletionRule>()
  /** Candidates that a remaining object keeps, by that object. */
  private readonly retainedBy = new Map<Oid, [Oid, DeletionRule][]>()
  private readonly cleared: ClearedReferences
  private readonly slice = openTimeSlice()

  constructor(unit: UnitOfWork) {
    this.unit = unit
    this.cleared = new ClearedReferences(unit)
  }

  /** Adds an object deleted by request. */
  add(state: ObjectState): void {
    const existing = this.going.get(state.oid)
    if (existing !== undefined) return
    this.going.set(state.oid, { rule: undefined, state })
    this.open.push(state.oid)
    this.noteGone(state.oid)
  }

  /** Throws DeleteRestricted, LimitExceeded. */
  async carryOut(): Promise<void> {
    if (this.open.length === 0) return
    const going = await this.findAll()
    await this.checkRestrictions(going)
    await this.collectCleared(going)
    for (const state of going) state.isDeleted = true
    await inSlices(going, (state) => deleteObjectLinks(this.unit, state))
    await this.cleared.carryOut()
  }

  report(): Promise<DeletionReport> {
    return reportDeletions(this, this.unit.guard)
  }

  /** The objects deleted so far, with the attributes that caused it. */
  *deleted(): Generator<{ readonly state: ObjectState; readonly rule: DeletionRule | undefined }> {
    for (const { state, rule } of this.going.values()) if (state !== undefined) yield { state, rule }
  }

  /** The objects whose references were cleared, by attribute. */
  get clearedSources(): ReadonlyMap<DeletionRule, readonly Oid[]> {
    return this.cleared.sources
  }

  private async findAll(): Promise<readonly ObjectState[]> {
    const all: ObjectState[] = []
    while (this.open.length > 0) {
      const level = this.open.splice(0, objectBatchSize)
      for (const state of await this.loaded(level)) {
        all.push(state)
        await this.findFollowing(state)
        await this.slice.yieldIfDue()
      }
      if (this.open.length === 0) await this.takeUnreferenced()
    }
    return all
  }

  /** The objects that exist: references may dangle. */
  private async loaded(oids: readonly Oid[]): Promise<ObjectState[]> {
    const { objects } = this.unit
    await objects.loadAll(oids)
    return oids.flatMap((oid) => {
      const state = objects.loaded(oid)
      const going = this.going.get(oid)
      if (going !== undefined) going.state = state
      if (state === undefined) this.unit.requireNoObject(oid)
      return state ?? []
    })
  }

  private async findFollowing(state: ObjectState): Promise<void> {
    const { unit } = this
    const rules = deletionRulesOf(state.format, unit.catalog)
    for (const rule of rules?.incoming ?? []) {
      if (rule.onTargetDelete !== 'delete') continue
      for await (const part of referrersOf(unit, state, rule)) {
        for (const { source } of part) this.take(source, rule)
        await this.slice.yieldIfDue()
      }
    }
    for (const rule of rules?.outgoing ?? []) {
      const targets = await targetsOf(unit, state, state.format.attribute(rule.attribute.number))
      for (const target of targets) {
        if (rule.onSourceDelete === 'delete') this.take(target, rule)
        else if (!this.isGone(target)) this.candidates.set(target, rule)
      }
    }
  }

  /** Throws LimitExceeded. */
  private take(oid: Oid, rule: DeletionRule): void {
    if (this.isGone(oid)) return
    const { deletedObjectsMax } = this.unit.limits
    if (++this.follow > deletedObjectsMax) {
      const message = `More than ${deletedObjectsMax} objects would be deleted because of others (deletedObjectsMax). Delete them first, in parts.`
      throw new AshlarError('LimitExceeded', message)
    }
    this.going.set(oid, { rule, state: undefined })
    this.open.push(oid)
    this.noteGone(oid)
  }

  private isGone(oid: Oid): boolean {
    return this.going.has(oid) || this.unit.objects.isDeleted(oid)
  }

  /** Reconsiders the candidates that the object has kept. */
  private noteGone(oid: Oid): void {
    for (const [candidate, rule] of this.retainedBy.get(oid) ?? []) this.candidates.set(candidate, rule)
    this.retainedBy.delete(oid)
  }

  private async takeUnreferenced(): Promise<void> {
    const { candidates } = this
    this.candidates = new Map()
    const oids = [...candidates.keys()].filter((oid) => !this.isGone(oid))
    for (let at = 0; at < oids.length; at += objectBatchSize) {
      for (const state of await this.loaded(oids.slice(at, at + objectBatchSize))) {
        const rule = candidates.get(state.oid) as DeletionRule
        const keeper = await this.keeperOf(state)
        if (keeper === undefined) this.take(state.oid, rule)
        else {
          const others = this.retainedBy.get(keeper)
          if (others === undefined) this.retainedBy.set(keeper, [[state.oid, rule]])
          else others.push([state.oid, rule])
        }
        await this.slice.yieldIfDue()
      }
    }
  }

  /** Finds a remaining object that refers to the candidate by an attribute with `deleteUnreferenced`, other than the candidate itself. */
  private async keeperOf(state: ObjectState): Promise<Oid | undefined> {
    const rules = deletionRulesOf(state.format, this.unit.catalog)
    for (const rule of rules?.incoming ?? []) {
      if (rule.onSourceDelete !== 'deleteUnreferenced') continue
      const keeper = await this.firstRemaining(state, rule, state.oid)
      if (keeper === undefined) continue
      requireReferrer(this.unit, state, keeper)
      return keeper.source
    }
    return undefined
  }

  private async firstRemaining(state: ObjectState, rule: DeletionRule, but?: Oid): Promise<Referrer | undefined> {
    for await (const part of referrersOf(this.unit, state, rule)) {
      for (const referrer of part) if (referrer.source !== but && !this.isGone(referrer.source)) return referrer
      await this.slice.yieldIfDue()
    }
    return undefined
  }

  /** Throws DeleteRestricted. */
  private async checkRestrictions(going: readonly ObjectState[]): Promise<void> {
    const restricting = new Map<DeletionRule, Restricting>()
    for (const state of going) {
      const rules = deletionRulesOf(state.format, this.unit.catalog)
      for (const rule of rules?.incoming ?? []) {
        if (rule.onTargetDelete === 'restrict') await this.collectRestricting(state, rule, restricting)
      }
      await this.slice.yieldIfDue()
    }
    if (restricting.size > 0) throw await deleteRestricted([...restricting.values()], this.unit.guard)
  }

  private async collectRestricting(
    state: ObjectState,
    rule: DeletionRule,
    restricting: Map<DeletionRule, Restricting>,
  ): Promise<void> {
    const first = await this.firstRemaining(state, rule)
    if (first === undefined) return
    requireReferrer(this.unit, state, first)
    const found = restricting.get(rule) ?? { rule, count: 0, oids: [] }
    restricting.set(rule, found)
    let last: Oid | undefined
    for await (const part of referrersOf(this.unit, state, rule)) {
      for (const { source } of part) {
        // Elements of the same collection are adjacent.
        if (source === last || this.isGone(source)) continue
        last = source
        found.count++
        if (found.oids.length < reportedRestrictingMax) found.oids.push(source)
      }
      await this.slice.yieldIfDue()
    }
  }

  /** References with an inverse are cleared with the links of the deleted objects. */
  private async collectCleared(going: readonly ObjectState[]): Promise<void> {
    for (const state of going) {
      const rules = deletionRulesOf(state.format, this.unit.catalog)
      for (const rule of rules?.incoming ?? []) {
        if (rule.onTargetDelete !== 'clear') continue
        const isByInverse = tellingInverse(rule) !== null
        for await (const part of referrersOf(this.unit, state, rule)) {
          const clear = (referrer: Referrer): void => {
            if (this.isGone(referrer.source)) return
            if (isByInverse) this.cleared.note(rule, referrer.source)
            else this.cleared.add(rule, state.oid, referrer)
          }
          await inSlices(part, clear, this.slice)
        }
      }
      await this.slice.yieldIfDue()
    }
  }
}
