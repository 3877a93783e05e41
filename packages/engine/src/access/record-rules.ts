/** Evaluates object rules that depend on the record alone while it is borrowed; prepared once per caller and catalog. */
import { isMemoryRefused, RequestMemory, unpooledBytes } from '../budget/request-memory.ts'
import { WorkClock } from '../budget/work-clock.ts'
import { unreachable } from '../errors.ts'
import { needsFetch } from '../query/evaluate/evaluation-context.ts'
import { type ScriptContext, StatementContext } from '../query/execute/statement-context.ts'
import { dialectDefault } from '../query/language/dialect.ts'
import { newQueryCounts } from '../query/query-counts.ts'
import type { UserValue } from '../query/values/user.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Bytes, Snapshot } from '../store/store.ts'
import type { TimeSlice } from '../store/time-slice.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { ClassRule } from './class-access.ts'
import type { ObjectRules } from './object-rules.ts'
import { type ActiveRule, activateRule, matches } from './rule-in-use.ts'

/** A snapshot for rules that read nothing. */
const unreadableSnapshot: Snapshot = {
  view: () => unreachable('a rule that the record decides reads nothing else'),
  read: () => unreachable('a rule that the record decides reads nothing else'),
  scan: () => unreachable('a rule that the record decides reads nothing else'),
  release: () => undefined,
}

/** Long evaluations are abandoned, and repeated by callers that can yield. */
const abandoningSlice: TimeSlice = {
  isOver: false,
  abandonIfOver() {
    throw needsFetch
  },
  yieldIfDue: () => undefined,
}

export class RecordRules {
  private readonly catalog: Catalog
  private readonly rules: ObjectRules
  private readonly script: Omit<ScriptContext, 'text'>
  /** By the rules of a class; undefined where one depends on more than the record, or on time. */
  private readonly activeRules = new Map<readonly ClassRule[], readonly ActiveRule[] | undefined>()

  constructor(catalog: Catalog, rules: ObjectRules, { limits, memory, store }: OpenDatabase, user: UserValue) {
    this.catalog = catalog
    this.rules = rules
    const clock = new WorkClock(limits.statementMsMax)
    clock.stop()
    this.script = {
      dialect: dialectDefault,
      limits,
      capabilities: store.capabilities,
      signal: undefined,
      slice: abandoningSlice,
      clock,
      // It outlives requests, and so does not use the memory they share.
      memory: new RequestMemory(memory, {
        ...limits,
        statementBytesMax: Math.min(limits.statementBytesMax, unpooledBytes),
      }),
      written: newQueryCounts(),
      totals: newQueryCounts(),
      now: 0,
      user,
    }
  }

  /** Whether one of the rules matches; undefined where it cannot be decided here. `key` and `record` are borrowed. */
  hold(rules: readonly ClassRule[], key: Bytes, record: Bytes): boolean | undefined {
    const active = this.rulesFor(rules)
    if (active === undefined) return undefined
    for (const rule of active) {
      const { context } = rule
      try {
        if (matches(rule, context.reader.view(undefined, key, record))) return true
      } catch (error) {
        if (error !== needsFetch && !isMemoryRefused(error)) throw error
        return undefined
      } finally {
        context.endRow()
      }
    }
    return false
  }

  private rulesFor(rules: readonly ClassRule[]): readonly ActiveRule[] | undefined {
    if (!this.activeRules.has(rules)) this.activeRules.set(rules, this.activate(rules))
    return this.activeRules.get(rules)
  }

  private activate(rules: readonly ClassRule[]): readonly ActiveRule[] | undefined {
    const active: ActiveRule[] = []
    for (const one of rules) {
      const rule = this.rules.compile(one)
      if (rule === undefined) continue
      if (!rule.isRecordOnly || rule.isUnsteady) return undefined
      active.push(
        activateRule(rule, new StatementContext({ ...this.script, text: rule.text }, unreadableSnapshot, this.catalog)),
      )
    }
    return active
  }
}
