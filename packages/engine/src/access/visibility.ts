/** Which objects of one snapshot a caller sees: rules, evaluated on the snapshot as it is, once for each object. */
import { RequestMemory } from '../budget/request-memory.ts'
import { WorkClock } from '../budget/work-clock.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import { accessDecisionsKept } from '../limits.ts'
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
import { evaluated, type RuleInUse, ruleInUse } from './rule-in-use.ts'

/** Who asks, and when that ends. */
export interface Asking {
  readonly user: UserValue
  readonly signal: CancelSignal | undefined
  /** Of the request, where what is decided is part of it; else the decisions have their own. */
  readonly memory?: RequestMemory | undefined
  /** Lets long decisions go on. */
  readonly watch?: SliceWatch | undefined
}

/** Objects, each with its record, or without where that has to be read. */
export type Candidates = Map<Oid, Bytes | undefined>
type Candidate = readonly [oid: Oid, record: Bytes | undefined]

/** So many objects are read and decided about in one go. */
const decidedAtOnce = 1_000

/** Decisions that are made before the next look at the clock, less one; all its bits are ones. */
const decisionsBetweenLooks = 31
/** Before what rules have read is let go of where it is much, less one. */
const decisionsBetweenChecks = 255

const noHidden: ReadonlySet<Oid> = new Set()
/** Space, database and container of a record's key. */
const containerPrefixBytes = 5
const copied = (value: Bytes): Buffer => Buffer.from(value)
export class Visibility {
  private readonly snapshot: Snapshot
  private readonly access: CatalogAccess
  private readonly database: OpenDatabase
  /** Whether objects of classes with rules are seen; of other classes nothing is kept. */
  private decided = new Map<Oid, boolean>()
  private readonly containers = new Map<number, ObjectsAllowed>()
  private readonly rules = new Map<CompiledRule, RuleInUse>()
  private readonly asking: Asking
  private readonly action: RuledAction
  /** Undefined where it is that of the request, or nothing had to be counted yet. */
  private ownMemory: RequestMemory | undefined
  private ownScript: ScriptContext | undefined
  private reading: StatementContext | undefined
  private working = 0
  private deciding: Promise<void> | undefined
  private decisionsUnderWay = 0
  /** Made at once. */
  private decisions = 0
  private readonly compiled = new Map<readonly ClassRule[], readonly RuleInUse[]>()
  private ownRecordRules: RecordRules | undefined

  /** `snapshot`: unrestricted. `action`: by whose rules it is decided. */
  constructor(
    snapshot: Snapshot,
    access: CatalogAccess,
    database: OpenDatabase,
    asking: Asking,
    action: RuledAction = 'read',
  ) {
    this.action = action
    this.snapshot = snapshot
    this.access = access
    this.database = database
    this.asking = asking
  }

  /** Made when it is first needed: most reads by OID are decided by their records, where these lie. */
  private get script(): ScriptContext {
    this.ownScript ??= this.newScript()
    return this.ownScript
  }

  private newScript(): ScriptContext {
    const { asking, database } = this
    const { limits, store } = database
    if (asking.memory === undefined) this.ownMemory = new RequestMemory(database.memory, limits)
    const clock = new WorkClock(limits.statementMsMax)
    if (this.working === 0) clock.stop()
    return {
      text: '',
      dialect: dialectDefault,
      limits,
      capabilities: store.capabilities,
      signal: asking.signal,
      slice: clock.stoppedBetween(openSliceOfWork(asking.watch)),
      clock,
      memory: asking.memory ?? (this.ownMemory as RequestMemory),
      written: newQueryCounts(),
      totals: newQueryCounts(),
      now: ticksNow(),
      user: asking.user,
    }
  }

  /** The time between the two counts as work. */
  begin(): void {
    if (this.working++ === 0) this.ownScript?.clock.goOn()
  }

  end(): void {
    if (--this.working === 0) this.ownScript?.clock.stop()
  }

  /** Between two parts of what may be long. Throws LimitExceeded and the reason of the caller's signal. */
  turn(): Promise<void> | undefined {
    return this.reader.yieldIfDue()
  }

  /** Those to which its action is not allowed, as to see them; there may be none of that name at all. */
  refusedAmong(candidates: Candidates): Awaitable<ReadonlySet<Oid>> {
    this.asking.signal?.throwIfAborted()
    const open: Candidate[] = []
    const hidden = new Set<Oid>()
    let decided = 0
    let mayDecide = this.decisionsUnderWay === 0
    for (const candidate of candidates) {
      let known = this.known(candidate[0])
      if (known === undefined && mayDecide) {
        if ((++decided & decisionsBetweenLooks) === 0) mayDecide = !this.isTurnDue()
        if (mayDecide) known = this.decideNow(candidate)
      }
      if (known === undefined) open.push(candidate)
      else if (!known) hidden.add(candidate[0])
    }
    if (open.length > 0) return this.decideAll(open, hidden)
    return hidden.size === 0 ? noHidden : hidden
  }

  /** Throws what `turn` throws. */
  private isTurnDue(): boolean {
    const { reader } = this
    reader.check()
    return reader.isTurnDue
  }

  /** Whether an object is seen; undefined where it cannot be told without waiting. */
  private decideNow([oid, record]: Candidate): boolean | undefined {
    const rules = this.allowedIn(oid)
    if (rules instanceof Promise) {
      // Whoever waits for it finds out again.
      rules.catch(() => undefined)
      return undefined
    }
    if (typeof rules === 'string') return rules === 'all'
    const seen = record === undefined ? this.readAndDecide(oid, rules) : this.decideBy(oid, record, rules)
    if (seen !== undefined) this.keepDecision(oid, seen)
    return seen
  }

  /** Missing objects are not seen. */
  private readAndDecide(oid: Oid, rules: readonly ClassRule[]): boolean | undefined {
    if (!this.database.store.capabilities.hasSynchronousReads) return undefined
    const key = objectKey(oid)
    let seen: boolean | undefined = false
    const read = this.snapshot.view(key, (borrowed): Buffer | undefined => {
      seen = this.seesRecord(rules, key, borrowed)
      return seen === undefined ? copied(borrowed) : undefined
    })
    return read === undefined ? seen : this.decideBy(oid, read as Buffer, rules)
  }

  private decideBy(oid: Oid, record: Bytes, rules: readonly ClassRule[]): boolean | undefined {
    return this.holdsNow(this.compiledOf(rules), this.reader.reader.view(oid, undefined, record))
  }

  /** Whether the object of a borrowed record is seen, where that alone tells; nothing of it is kept. */
  seesRecord(objects: ObjectsAllowed, key: Bytes, record: Bytes): boolean | undefined {
    if (typeof objects === 'string') return objects === 'all'
    this.ownRecordRules ??= this.access.recordRules(this.database, this.asking.user)
    return this.ownRecordRules.hold(objects, key, record)
  }

  private holdsNow(rules: readonly RuleInUse[], view: ObjectView): boolean | undefined {
    if ((++this.decisions & decisionsBetweenChecks) === 0) for (const { context } of rules) context.check()
    for (const used of rules) {
      try {
        if (evaluated(used, view)) return true
      } catch (error) {
        if (error !== needsFetch) throw error
        return undefined
      } finally {
        used.context.endRow()
      }
    }
    return false
  }

  private compiledOf(rules: readonly ClassRule[]): readonly RuleInUse[] {
    let compiled = this.compiled.get(rules)
    if (compiled === undefined) {
      const own = rules.map((rule) => this.access.rules.compile(rule)).filter((rule) => rule !== undefined)
      compiled = own.map((rule) => this.inUse(rule))
      this.compiled.set(rules, compiled)
    }
    return compiled
  }

  private keepDecision(oid: Oid, isSeen: boolean): void {
    if (this.decided.size >= accessDecisionsKept) this.decided = new Map()
    this.decided.set(oid, isSeen)
  }

  /**
   * For an object that is not there: what would be done if it were, so that one that is hidden takes no longer; nothing comes of it. A store may
   * take longer to find nothing than to find something, and so each of the two is looked for in either case (`pretendMissing`).
   */
  pretend(oid: Oid): Awaitable<undefined> {
    return mapAwaitable(this.classIn(oid), (number) => {
      const sample = number === undefined ? undefined : this.access.sampleOf(number)
      if (number === undefined || sample === undefined) return undefined
      const objects = this.access.ofClass(number)?.objects ?? 'none'
      let isDecided = false
      const seen = this.snapshot.view(sample.key, () => {
        isDecided = this.seesRecord(objects, sample.key, sample.value) !== undefined
      })
      return mapAwaitable(seen, () => (isDecided ? undefined : this.decideInVain(oid, sample.value)))
    })
  }

  private decideInVain(oid: Oid, record: Bytes): Awaitable<undefined> {
    return mapAwaitable(this.refusedAmong(new Map([[oid, record]])), () => {
      this.decided.delete(oid)
      return undefined
    })
  }

  /** For an object that is hidden: looks for one of its container that is not there. */
  pretendMissing(key: Bytes): Awaitable<undefined> {
    const missing = Buffer.alloc(key.length, 0xff)
    missing.set(key.subarray(0, containerPrefixBytes))
    return mapAwaitable(this.snapshot.view(missing, copied), () => undefined)
  }

  /** Undefined where it has to be found out. */
  private known(oid: Oid): boolean | undefined {
    const allowed = this.containers.get(containerNumberOf(oid))
    if (allowed === undefined) return undefined
    return typeof allowed === 'string' ? allowed === 'all' : this.decided.get(oid)
  }

  /** One after the other: a row of a rule goes on from what it has kept, and must not meet another row there. */
  private async decideAll(open: readonly Candidate[], hidden: Set<Oid>): Promise<ReadonlySet<Oid>> {
    const before = this.deciding
    const own = (async (): Promise<void> => {
      await before
      await this.decideParts(open, hidden)
    })()
    this.decisionsUnderWay++
    this.deciding = own.catch(() => undefined)
    try {
      await own
    } finally {
      this.decisionsUnderWay--
    }
    return hidden
  }

  private async decideParts(open: readonly Candidate[], hidden: Set<Oid>): Promise<void> {
    let left: Candidate[] = []
    for (const [at, candidate] of open.entries()) {
      const isSeen = this.known(candidate[0]) ?? this.decideNow(candidate)
      if (isSeen === false) hidden.add(candidate[0])
      else if (isSeen === undefined) left.push(candidate)
      const isLook = (at & decisionsBetweenLooks) === decisionsBetweenLooks
      if (at < open.length - 1 && left.length < decidedAtOnce && !(isLook && this.isTurnDue())) continue
      if (left.length > 0) await this.decide(left, hidden)
      left = []
      const pause = this.turn()
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
        const others = byRules.get(allowed)
        if (others === undefined) byRules.set(allowed, [candidate])
        else others.push(candidate)
      }
    }
    for (const [rules, candidates] of byRules) await this.decideAgainst(rules, candidates, hidden)
  }

  /** Which objects of its class are seen; `none` where there is no such class. */
  allowedIn(oid: Oid): Awaitable<ObjectsAllowed> {
    const container = containerNumberOf(oid)
    const known = this.containers.get(container)
    if (known !== undefined) return known
    const keep = (number: ClassNumber | undefined): ObjectsAllowed => {
      const allowed = number === undefined ? 'none' : this.access.objectsOf(number, this.action)
      // A container that is not there yet may come to be.
      if (number !== undefined) this.containers.set(container, allowed)
      return allowed
    }
    const number = this.classIn(oid)
    return number instanceof Promise ? number.then(keep) : keep(number)
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
    const candidates = open.filter(([oid]) => !this.isKept(oid, hidden))
    const compiled = rules.map((rule) => this.access.rules.compile(rule)).filter((rule) => rule !== undefined)
    let views = (await this.viewsOf(candidates)).filter((view) => view !== undefined)
    const seen = new Set<Oid>()
    for (const rule of compiled) {
      const results = await this.holds(rule, views)
      for (const [i, view] of views.entries()) if (results[i] === true) seen.add(view.oid)
      views = views.filter((_view, i) => results[i] !== true)
    }
    for (const [oid] of candidates) {
      this.keepDecision(oid, seen.has(oid))
      if (!seen.has(oid)) hidden.add(oid)
    }
  }

  /** Whether it is decided already; told to `hidden`. */
  private isKept(oid: Oid, hidden: Set<Oid>): boolean {
    const isSeen = this.decided.get(oid)
    if (isSeen === false) hidden.add(oid)
    return isSeen !== undefined
  }

  /** Those that are not at hand are read in one trip. */
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
    const used = this.inUse(rule)
    return evaluateRows(used.context, views, (view) => evaluated(used, view))
  }

  /** Whether the object is seen where it holds this record, by rules that records alone decide; nothing of it is kept. */
  async isSeenWith(oid: Oid, record: Bytes, rules: readonly ClassRule[]): Promise<boolean> {
    const view = this.reader.reader.view(oid, undefined, record)
    for (const rule of rules) {
      const compiled = this.access.rules.compile(rule)
      if (compiled === undefined) continue
      const [holds] = await this.holds(compiled, [view])
      if (holds === true) return true
    }
    return false
  }

  /** Whether it was decided by a rule that may hold or not although nothing was written. */
  get isUnsteady(): boolean {
    return [...this.rules.keys()].some((rule) => rule.isUnsteady)
  }

  private inUse(rule: CompiledRule): RuleInUse {
    let used = this.rules.get(rule)
    if (used === undefined) {
      used = ruleInUse(rule, this.newContext(rule.text))
      this.rules.set(rule, used)
    } else used.context.check()
    return used
  }

  /** Of what is read beside the rules. */
  private get reader(): StatementContext {
    this.reading ??= this.newContext('')
    return this.reading
  }

  private newContext(text: string): StatementContext {
    return new StatementContext({ ...this.script, text }, this.snapshot, this.access.catalog)
  }

  get slice(): ScriptContext['slice'] {
    return this.script.slice
  }

  release(): void {
    this.ownMemory?.release()
  }
}
