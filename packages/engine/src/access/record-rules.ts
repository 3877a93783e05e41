/** Object rules that a record alone decides, asked where the record lies: what that takes is made once for a caller and a catalog, not for each request. */
import { isMemoryRefused, ownBytes, RequestMemory } from '../budget/request-memory.ts'
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
import { evaluated, type RuleInUse, ruleInUse } from './rule-in-use.ts'

/** What such a rule does not ask for. */
const nothingElse: Snapshot = {
  view: () => unreachable('a rule that the record decides reads nothing else'),
  read: () => unreachable('a rule that the record decides reads nothing else'),
  scan: () => unreachable('a rule that the record decides reads nothing else'),
  release: () => undefined,
}

/** Whoever needs longer asks in another way. */
/** A rule that takes long is left to those who can yield. */
const noTurns: TimeSlice = {
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
  /** By the rules of a class; undefined where a record does not decide them, or the time does as well. */
  private readonly known = new Map<readonly ClassRule[], readonly RuleInUse[] | undefined>()

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
      slice: noTurns,
      clock,
      // It outlives requests: nothing is taken of what they share.
      memory: new RequestMemory(memory, {
        ...limits,
        statementBytesMax: Math.min(limits.statementBytesMax, ownBytes),
      }),
      written: newQueryCounts(),
      totals: newQueryCounts(),
      now: 0,
      user,
    }
  }

  /** Whether one of them holds for the object; undefined where it cannot be told like this. `key`, `record`: borrowed. */
  hold(rules: readonly ClassRule[], key: Bytes, record: Bytes): boolean | undefined {
    const used = this.inUse(rules)
    if (used === undefined) return undefined
    for (const rule of used) {
      const { context } = rule
      try {
        if (evaluated(rule, context.reader.view(undefined, key, record))) return true
      } catch (error) {
        if (error !== needsFetch && !isMemoryRefused(error)) throw error
        return undefined
      } finally {
        context.endRow()
      }
    }
    return false
  }

  private inUse(rules: readonly ClassRule[]): readonly RuleInUse[] | undefined {
    if (!this.known.has(rules)) this.known.set(rules, this.made(rules))
    return this.known.get(rules)
  }

  private made(rules: readonly ClassRule[]): readonly RuleInUse[] | undefined {
    const used: RuleInUse[] = []
    for (const one of rules) {
      const rule = this.rules.compile(one)
      if (rule === undefined) continue
      if (!rule.isOfRecord || rule.isUnsteady) return undefined
      used.push(ruleInUse(rule, new StatementContext({ ...this.script, text: rule.text }, nothingElse, this.catalog)))
    }
    return used
  }
}
