/** Decides which objects of one snapshot a caller sees, by evaluating rules on the unrestricted snapshot, once per object. */
import { RequestMemory } from '../budget/request-memory.ts'
import { WorkClock } from '../budget/work-clock.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { accessCachedDecisionsMax } from '../limits.ts'
import { needsFetch } from '../query/evaluate/evaluation-context.ts'
import type { ObjectView } from '../query/evaluate/object-view.ts'
import { evaluateRows } from '../query/execute/evaluate-rows.ts'
import { type ScriptContext, StatementContext } from '../query/execute/statement-context.ts'
import { dialectDefault } from '../query/language/dialect.ts'
import { ticksNow } from '../query/prepare-text.ts'
import { newQueryCounts } from '../query/query-counts.ts'
import type { UserValue } from '../query/values/user.ts'
import { objectKey } from '../records/object-key.ts'
import { mapAwaitable } from '../store/awaitable.ts'
import type { Awaitable, Bytes, Snapshot } from '../store/store.ts'
import { openSliceOfWork, type SliceWatch } from '../store/time-slice.ts'
import { containerNumberOf, type Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { RuledAction } from './access-policy.ts'
import type { CatalogAccess } from './catalog-access.ts'
import type { ClassRule, ObjectsAllowed } from './class-access.ts'
import type { CompiledRule } from './object-rules.ts'
import type { RecordRules } from './record-rules.ts'
import { type ActiveRule, activateRule, matches } from './rule-in-use.ts'

/** The caller of a request, and its cancellation. */
export interface CallerContext {
  readonly user: UserValue
  readonly signal: CancelSignal | undefined
  /** Memory of the request that the decisions are part of; otherwise they have their own. */
  readonly memory?: RequestMemory | undefined
  /** Allows long decisions to continue. */
  readonly watch?: SliceWatch | undefined
}

/** Objects with their records, or undefined where the record must be read. */
export type Candidates = Map<Oid, Bytes | undefined>
type Candidate = readonly [oid: Oid, record: Bytes | undefined]

/** Objects that are read and decided at a time. */
const decisionsPerRead = 1_000

/** Bit mask of decisions between clock checks. */
const timeCheckMask = 31
/** Bit mask of decisions between checks that trim the caches of rules. */
const limitCheckMask = 255

const noHidden: ReadonlySet<Oid> = new Set()
/** Key space, database and container of a record's key. */
const containerPrefixBytes = 5
const copyOf = (value: Bytes): Buffer => Buffer.from(value)
export class Visibility {
  private readonly snapshot: Snapshot
  private readonly access: CatalogAccess
  private readonly database: OpenDatabase
  /** Decisions for objects of classes with rules; other classes need none. */
  private decided = new Map<Oid, boolean>()
  private readonly containers = new Map<number, ObjectsAllowed>()
  private readonly rules = new Map<CompiledRule, ActiveRule>()
  private readonly caller: CallerContext
  private readonly action: RuledAction
  /** Undefined where the request provides the memory, or none was needed yet. */
  private lazyMemory: RequestMemory | undefined
  private lazyScript: ScriptContext | undefined
  private lazyContext: StatementContext | undefined
  private working = 0
  private deciding: Promise<void> | undefined
  private pendingDecisions = 0
  /** Number of synchronous decisions. */
  private decisions = 0
  private readonly compiled = new Map<readonly ClassRule[], readonly ActiveRule[]>()
  private lazyRecordRules: RecordRules | undefined

  /** `snapshot` must be unrestricted. `action`: whose rules decide. */
  constructor(
    snapshot: Snapshot,
    access: CatalogAccess,
    database: OpenDatabase,
    caller: CallerContext,
    action: RuledAction = 'read',
  ) {
    this.action = action
    this.snapshot = snapshot
    this.access = access
    this.database = database
    this.caller = caller
  }

  /** Created on demand: most reads by OID are decided on the borrowed record. */
  private get script(): ScriptContext {
    this.lazyScript ??= this.newScript()
    return this.lazyScript
  }

  private newScript(): ScriptContext {
    const { caller, database } = this
    const { limits, store } = database
    if (caller.memory === undefined) this.lazyMemory = new RequestMemory(database.memory, limits)
    const clock = new WorkClock(limits.statementMsMax)
    if (this.working === 0) clock.stop()
    return {
      text: '',
      dialect: dialectDefault,
      limits,
      capabilities: store.capabilities,
      signal: caller.signal,
      slice: clock.stoppedBetween(openSliceOfWork(caller.watch)),
      clock,
      memory: caller.memory ?? (this.lazyMemory as RequestMemory),
      written: newQueryCounts(),
      totals: newQueryCounts(),
      now: ticksNow(),
      user: caller.user,
    }
  }

  /** The time from `begin` to `end` counts as work. */
  begin(): void {
    if (this.working++ === 0) this.lazyScript?.clock.resume()
  }

  end(): void {
    if (--this.working === 0) this.lazyScript?.clock.stop()
  }

  /** Called between parts of long work. Throws LimitExceeded and the reason of the caller's cancellation. */
  yieldIfDue(): Promise<void> | undefined {
    return this.reader.yieldIfDue()
  }

  /** The candidates on which the action is not allowed, including for the caller to see them; they need not exist. */
  refusedAmong(candidates: Candidates): Awaitable<ReadonlySet<Oid>> {
    this.caller.signal?.throwIfAborted()
    const open: Candidate[] = []
    const hidden = new Set<Oid>()
    let decided = 0
    let mayDecide = this.pendingDecisions === 0
    for (const candidate of candidates) {
      let decision = this.cachedDecision(candidate[0])
      if (decision === undefined && mayDecide) {
        if ((++decided & timeCheckMask) === 0) mayDecide = !this.isYieldDue()
        if (mayDecide) decision = this.decideNow(candidate)
      }
      if (decision === undefined) open.push(candidate)
      else if (!decision) hidden.add(candidate[0])
    }
    if (open.length > 0) return this.decideAll(open, hidden)
    return hidden.size === 0 ? noHidden : hidden
  }

  /** Throws like `turn`. */
  private isYieldDue(): boolean {
    const { reader } = this
    reader.check()
    return reader.isYieldDue
  }

  /** Whether the action is allowed; undefined where that needs an asynchronous read. */
  private decideNow([oid, record]: Candidate): boolean | undefined {
    const rules = this.allowedIn(oid)
    if (rules instanceof Promise) {
      // The error is reported to the later call that awaits the class.
      rules.catch(() => undefined)
      return undefined
    }
    if (typeof rules === 'string') return rules === 'all'
    const seen = record === undefined ? this.readAndDecide(oid, rules) : this.decideBy(oid, record, rules)
    if (seen !== undefined) this.cacheDecision(oid, seen)
    return seen
  }

  /** Missing objects are not visible. */
  private readAndDecide(oid: Oid, rules: readonly ClassRule[]): boolean | undefined {
    if (!this.database.store.capabilities.hasSynchronousReads) return undefined
    const key = objectKey(oid)
    let seen: boolean | undefined = false
    const read = this.snapshot.view(key, (borrowed): Buffer | undefined => {
      seen = this.seesRecord(rules, key, borrowed)
      return seen === undefined ? copyOf(borrowed) : undefined
    })
    return read === undefined ? seen : this.decideBy(oid, read as Buffer, rules)
  }

  private decideBy(oid: Oid, record: Bytes, rules: readonly ClassRule[]): boolean | undefined {
    return this.holdsNow(this.compiledOf(rules), this.reader.reader.view(oid, undefined, record))
  }

  /** Whether the object of a borrowed record is visible, where the record decides that; the result is not cached. */
  seesRecord(objects: ObjectsAllowed, key: Bytes, record: Bytes): boolean | undefined {
    if (typeof objects === 'string') return objects === 'all'
    this.lazyRecordRules ??= this.access.recordRules(this.database, this.caller.user)
    return this.lazyRecordRules.hold(objects, key, record)
  }

  private holdsNow(rules: readonly ActiveRule[], view: ObjectView): boolean | undefined {
    if ((++this.decisions & limitCheckMask) === 0) for (const { context } of rules) context.check()
    for (const active of rules) {
      try {
        if (matches(active, view)) return true
      } catch (error) {
        if (error !== needsFetch) throw error
        return undefined
      } finally {
        active.context.endRow()
      }
    }
    return false
  }

  private compiledOf(rules: readonly ClassRule[]): readonly ActiveRule[] {
    let compiled = this.compiled.get(rules)
    if (compiled === undefined) {
      compiled = this.compiledRules(rules).map((rule) => this.activate(rule))
      this.compiled.set(rules, compiled)
    }
    return compiled
  }

  private compiledRules(rules: readonly ClassRule[]): CompiledRule[] {
    return rules.flatMap((rule) => this.access.rules.compile(rule) ?? [])
  }

  private cacheDecision(oid: Oid, isSeen: boolean): void {
    if (this.decided.size >= accessCachedDecisionsMax) this.decided = new Map()
    this.decided.set(oid, isSeen)
  }

  /**
   * For a missing object: does the work of a decision and discards it, so that hidden objects cannot be distinguished by time. Since a store may
   * find nothing more slowly than something, both lookups are made in either case (see `simulateLookup`).
   */
  simulateDecision(oid: Oid): Awaitable<undefined> {
    return mapAwaitable(this.classIn(oid), (number) => {
      const sample = number === undefined ? undefined : this.access.sampleOf(number)
      if (number === undefined || sample === undefined) return undefined
      const objects = this.access.forClass(number)?.objects ?? 'none'
      let isDecided = false
      const seen = this.snapshot.view(sample.key, () => {
        isDecided = this.seesRecord(objects, sample.key, sample.value) !== undefined
      })
      return mapAwaitable(seen, () => (isDecided ? undefined : this.decideAndDiscard(oid, sample.value)))
    })
  }

  private decideAndDiscard(oid: Oid, record: Bytes): Awaitable<undefined> {
    return mapAwaitable(this.refusedAmong(new Map([[oid, record]])), () => {
      this.decided.delete(oid)
      return undefined
    })
  }

  /** For a hidden object: looks up a missing one of the same container. */
  simulateLookup(key: Bytes): Awaitable<undefined> {
    const missing = Buffer.alloc(key.length, 0xff)
    missing.set(key.subarray(0, containerPrefixBytes))
    return mapAwaitable(this.snapshot.view(missing, copyOf), () => undefined)
  }

  /** Undefined where it is not decided yet. */
  private cachedDecision(oid: Oid): boolean | undefined {
    const allowed = this.containers.get(containerNumberOf(oid))
    if (allowed === undefined) return undefined
    return typeof allowed === 'string' ? allowed === 'all' : this.decided.get(oid)
  }

  /** Sequential: an evaluation that is continued after a fetch relies on its context, which must not be used for another row meanwhile. */
  private async decideAll(open: readonly Candidate[], hidden: Set<Oid>): Promise<ReadonlySet<Oid>> {
    const before = this.deciding
    const decision = (async (): Promise<void> => {
      await before
      await this.decideParts(open, hidden)
    })()
    this.pendingDecisions++
    this.deciding = decision.catch(() => undefined)
    try {
      await decision
    } finally {
      this.pendingDecisions--
    }
    return hidden
  }

  private async decideParts(open: readonly Candidate[], hidden: Set<Oid>): Promise<void> {
    let left: Candidate[] = []
    for (const [at, candidate] of open.entries()) {
      const isSeen = this.cachedDecision(candidate[0]) ?? this.decideNow(candidate)
      if (isSeen === false) hidden.add(candidate[0])
      else if (isSeen === undefined) left.push(candidate)
      const isTimeCheck = (at & timeCheckMask) === timeCheckMask
      if (at < open.length - 1 && left.length < decisionsPerRead && !(isTimeCheck && this.isYieldDue())) continue
      if (left.length > 0) await this.decide(left, hidden)
      left = []
      const pause = this.yieldIfDue()
      if (pause !== undefined) await pause
    }
  }

  private async decide(open: readonly Candidate[], hidden: Set<Oid>): Promise<void> {
    const byRules = new Map<readonly ClassRule[], Candidate[]>()
    for (const candidate of open) {
      const [oid] = candidate
      const found = this.allowedIn(oid)
      const allowed = found instanceof Promise ? await found : found
      if (allowed === 'all') continue
      if (allowed === 'none') hidden.add(oid)
      else {
        const group = byRules.get(allowed)
        if (group === undefined) byRules.set(allowed, [candidate])
        else group.push(candidate)
      }
    }
    for (const [rules, candidates] of byRules) await this.decideAgainst(rules, candidates, hidden)
  }

  /** The visible objects of the OID's class; `none` where the class does not exist. */
  allowedIn(oid: Oid): Awaitable<ObjectsAllowed> {
    const container = containerNumberOf(oid)
    const cached = this.containers.get(container)
    if (cached !== undefined) return cached
    const cache = (number: ClassNumber | undefined): ObjectsAllowed => {
      const allowed = number === undefined ? 'none' : this.access.objectsOf(number, this.action)
      // A container that does not exist yet may be created later.
      if (number !== undefined) this.containers.set(container, allowed)
      return allowed
    }
    const number = this.classIn(oid)
    return number instanceof Promise ? number.then(cache) : cache(number)
  }

  /** The class of the objects in an OID's container. */
  classIn(oid: Oid): Awaitable<ClassNumber | undefined> {
    return this.database.containers.classOf(oid, this.snapshot)
  }

  private async decideAgainst(
    rules: readonly ClassRule[],
    open: readonly Candidate[],
    hidden: Set<Oid>,
  ): Promise<void> {
    const candidates = open.filter(([oid]) => !this.isDecided(oid, hidden))
    let views = (await this.viewsOf(candidates)).filter((view) => view !== undefined)
    const seen = new Set<Oid>()
    for (const rule of this.compiledRules(rules)) {
      const results = await this.holds(rule, views)
      for (const [i, view] of views.entries()) if (results[i] === true) seen.add(view.oid)
      views = views.filter((_view, i) => results[i] !== true)
    }
    for (const [oid] of candidates) {
      this.cacheDecision(oid, seen.has(oid))
      if (!seen.has(oid)) hidden.add(oid)
    }
  }

  /** Whether it is already decided; adds hidden objects to `hidden`. */
  private isDecided(oid: Oid, hidden: Set<Oid>): boolean {
    const isSeen = this.decided.get(oid)
    if (isSeen === false) hidden.add(oid)
    return isSeen !== undefined
  }

  /** Missing records are read in one round trip. */
  private async viewsOf(candidates: readonly Candidate[]): Promise<(ObjectView | undefined)[]> {
    const { reader } = this.reader
    const views: (ObjectView | undefined)[] = []
    const missing: Oid[] = []
    for (const [oid, record] of candidates) {
      if (record === undefined) missing.push(oid)
      else views.push(reader.view(oid, undefined, record))
    }
    if (missing.length > 0) for (const view of await reader.load(missing)) views.push(view)
    return views
  }

  private holds(rule: CompiledRule, views: readonly ObjectView[]): Awaitable<boolean[]> {
    if (views.length === 0) return []
    const active = this.activate(rule)
    return evaluateRows(active.context, views, (view) => matches(active, view))
  }

  /** Whether the object would be visible with this record, by rules that depend on the record alone; the result is not cached. */
  async isSeenWith(oid: Oid, record: Bytes, rules: readonly ClassRule[]): Promise<boolean> {
    const view = this.reader.reader.view(oid, undefined, record)
    for (const rule of this.compiledRules(rules)) if ((await this.holds(rule, [view]))[0] === true) return true
    return false
  }

  /** Whether a rule was used whose result may change without writes. */
  get isUnsteady(): boolean {
    return [...this.rules.keys()].some((rule) => rule.isUnsteady)
  }

  private activate(rule: CompiledRule): ActiveRule {
    let active = this.rules.get(rule)
    if (active === undefined) {
      active = activateRule(rule, this.newContext(rule.text))
      this.rules.set(rule, active)
    } else active.context.check()
    return active
  }

  /** Context for reads apart from the rules. */
  private get reader(): StatementContext {
    this.lazyContext ??= this.newContext('')
    return this.lazyContext
  }

  private newContext(text: string): StatementContext {
    return new StatementContext({ ...this.script, text }, this.snapshot, this.access.catalog)
  }

  get slice(): ScriptContext['slice'] {
    return this.script.slice
  }

  release(): void {
    this.lazyMemory?.release()
  }
}
