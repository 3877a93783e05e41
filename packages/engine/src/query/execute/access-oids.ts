/** OIDs by an access path that is not the extent: from OIDs, index entries, and back over references. */

import { assert } from '../../errors.ts'
import { type IndexKeyFormat, type KeyConditionRange, keyConditionRange } from '../../indexes/index-key.ts'
import { countLimited, readIndexOidsOf } from '../../indexes/lookup.ts'
import { linkKind, linkRange, targetOfKey } from '../../records/link-keys.ts'
import type { KeyRange } from '../../store/store.ts'
import { inSlices } from '../../store/time-slice.ts'
import { noOid, type Oid, oidFromBytes } from '../../types/oid.ts'
import type { Run } from '../evaluate/run.ts'
import type { OperatorPlan } from '../explain/operator-plan.ts'
import type { Access, IndexAccess, KeyRangeEnd, ReverseAccess } from '../plan/access.ts'
import { noKeyValue } from '../plan/key-value.ts'
import { evaluateRows } from './evaluate-rows.ts'
import { sortInTurns } from './sort-in-turns.ts'
import type { StatementContext } from './statement-context.ts'

type OidAccess = Exclude<Access, { kind: 'extent' }>

/**
 * In batches; the same OID may come more than once from a union or a reverse access. `plan` counts. `batch`: so many entries of an
 * index are read at once.
 */
export async function* oidsOf(
  access: OidAccess,
  run: Run,
  context: StatementContext,
  plan: OperatorPlan,
  batch?: number,
): AsyncGenerator<Oid[]> {
  switch (access.kind) {
    case 'objects':
      yield* knownOids(await constantOf(access.references.evaluate, run, context), plan)
      return
    case 'index':
      yield* indexedOids(await indexRanges(access, run, context), context, plan, batch)
      return
    case 'reverse':
      yield* reverseOids(access, run, context, plan)
      return
    case 'union':
      for (const [i, part] of access.parts.entries()) {
        assert(part.kind !== 'extent', 'a union has no extent')
        const input = plan.inputs[i] as OperatorPlan
        for await (const oids of context.measured(oidsOf(part, run, context, input), input)) {
          input.returned += oids.length
          plan.examined += oids.length
          yield oids
        }
      }
  }
}

/** A value that is the same for all rows; what it follows may have to be waited for. */
export async function constantOf(
  evaluate: (run: Run) => unknown,
  run: Run,
  context: StatementContext,
): Promise<unknown> {
  const [value] = await evaluateRows(context, [undefined], () => evaluate(run))
  return value ?? null
}

function* knownOids(value: unknown, plan: OperatorPlan): Generator<Oid[]> {
  const oids = (Array.isArray(value) ? value : [value]).filter((oid): oid is Oid => oid !== null && oid !== noOid)
  const unique = [...new Set(oids)]
  plan.examined += unique.length
  if (unique.length > 0) yield unique
}

/** Of an index and a condition on it; none where nothing can be found. An IN gives one range a value, in order. */
export async function indexRanges(
  access: IndexAccess,
  run: Run,
  context: StatementContext,
): Promise<KeyConditionRange[]> {
  let prefixes: unknown[][] = [[]]
  for (const equality of access.equal) {
    if (equality.kind === 'null') {
      prefixes = prefixes.map((prefix) => [...prefix, null])
      continue
    }
    const { evaluate } = equality.kind === 'value' ? equality.value : equality.values
    const value = await constantOf(evaluate, run, context)
    const usable = await keyValues(equality.kind === 'value' ? [value] : ((value ?? []) as unknown[]), context)
    const longer: unknown[][] = []
    for (const prefix of prefixes) await eachInTurns(usable, context, (one) => longer.push([...prefix, one]))
    prefixes = longer
  }
  const lower = await boundOf(access.lower, run, context)
  const upper = await boundOf(access.upper, run, context)
  if (lower === null || upper === null) return []
  const sound: KeyConditionRange[] = []
  await eachInTurns(prefixes, context, (equal) => {
    const range = keyConditionRange(access.format, { equal, lower, upper })
    if (Buffer.compare(range.from, range.to) < 0) sound.push(range)
  })
  const sorted = await sortInTurns(sound, byBeginning, () => context.texts.slice.yieldIfDue())
  const ranges: KeyConditionRange[] = []
  await eachInTurns(sorted, context, (range) => {
    // Long texts that are cut to the same key give the same range.
    if (ranges.at(-1)?.from.equals(range.from) !== true) ranges.push(range)
  })
  return ranges
}

function byBeginning(one: KeyConditionRange, other: KeyConditionRange): number {
  return Buffer.compare(one.from, other.from)
}

/** Each once; those that no key has are left out. */
async function keyValues(values: readonly unknown[], context: StatementContext): Promise<unknown[]> {
  const usable = new Set<unknown>()
  await eachInTurns(values, context, (one) => {
    if (one !== null && one !== undefined && one !== noKeyValue) usable.add(one)
  })
  return [...usable]
}

/** Lists of values may be long: others have their turn in between. */
async function eachInTurns<T>(all: readonly T[], { texts }: StatementContext, use: (one: T) => unknown): Promise<void> {
  if (all.length <= atOnce) for (const one of all) use(one)
  else
    await inSlices(
      all,
      (one) => {
        use(one)
      },
      texts.slice,
    )
}

const atOnce = 256

/** Undefined: no bound. Null: compared with null, nothing is true. */
async function boundOf(
  end: KeyRangeEnd | undefined,
  run: Run,
  context: StatementContext,
): Promise<{ value: unknown; isInclusive: boolean } | undefined | null> {
  if (end === undefined) return undefined
  const value = await constantOf(end.evaluate, run, context)
  if (value === null) return null
  return value === noKeyValue ? undefined : { value, isInclusive: end.isInclusive }
}

const keysAtOnce = 256

async function* indexedOids(
  ranges: readonly KeyConditionRange[],
  context: StatementContext,
  plan: OperatorPlan,
  batch: number | undefined,
): AsyncGenerator<Oid[]> {
  if (!ranges.every(({ isOneKey }) => isOneKey)) {
    for (const [i, range] of ranges.entries()) {
      if (i % rangesBetweenLooks === rangesBetweenLooks - 1 && context.isTurnDue) await context.turn()
      yield* entriesOf(range, context, plan, batch)
    }
    return
  }
  for (let at = 0; at < ranges.length; at += keysAtOnce) {
    const keys = ranges.slice(at, at + keysAtOnce).map(({ from }) => from)
    const found = readIndexOidsOf(context.snapshot, keys)
    const oids = found instanceof Promise ? await found : found
    plan.examined += oids.length
    const pause = context.yieldIfDue()
    if (pause !== undefined) await pause
    if (oids.length > 0) yield oids
  }
}

async function* entriesOf(
  range: KeyRange,
  context: StatementContext,
  plan: OperatorPlan,
  batch?: number,
): AsyncGenerator<Oid[]> {
  for await (const oids of context.entries(range, false, batch)) {
    plan.examined += oids.length
    context.check()
    yield oids
  }
}

async function* reverseOids(
  access: ReverseAccess,
  run: Run,
  context: StatementContext,
  plan: OperatorPlan,
): AsyncGenerator<Oid[]> {
  const { inner } = access
  assert(inner.kind !== 'extent', 'what is found first is found by an index')
  const found = plan.inputs[0] as OperatorPlan
  for await (const far of context.measured(oidsOf(inner, run, context, found), found)) {
    found.returned += far.length
    for (const oid of far) yield* owners(access, oid, context, plan)
  }
}

/** Who refers to one object by the attribute. */
async function* owners(
  access: ReverseAccess,
  far: Oid,
  context: StatementContext,
  plan: OperatorPlan,
): AsyncGenerator<Oid[]> {
  const { way } = access
  if (way.kind === 'index') {
    yield* entriesOf(referringRange(way.format, far), context, plan)
    return
  }
  const range = inverseRange(access, far)
  if (range === undefined) {
    const [view] = await context.reader.load([far])
    const partner = view?.value(way.inverse.index)
    plan.examined++
    if (typeof partner === 'string' && partner !== noOid) yield [partner as Oid]
    return
  }
  const use =
    way.inverse.linkStorage === 'set' ? targetOfKey : (_key: Uint8Array, value: Uint8Array) => oidFromBytes(value, 0)
  for await (const oids of context.snapshot.scan(range, use)) {
    plan.examined += oids.length
    context.check()
    yield oids
  }
}

/** All entries whose first key attribute refers to the object. */
export function referringRange(format: IndexKeyFormat, far: Oid): KeyRange {
  return keyConditionRange(format, { equal: [far] })
}

/** Undefined where the partner attribute is to-one, and so in the record. */
function inverseRange({ way }: ReverseAccess, far: Oid): KeyRange | undefined {
  if (way.kind !== 'inverse' || way.inverse.linkStorage === undefined) return undefined
  const kind = way.inverse.linkStorage === 'set' ? linkKind.target : linkKind.position
  return linkRange(far, way.inverse.number, kind)
}

/** Objects found first whose owners are counted, where there are more of them the estimate grows with their number. */
const countedObjectsMax = 16

/** Ranges that are counted before the next look at the clock. */
const rangesBetweenLooks = 64

/** How many OIDs the access gives, counted up to `max`; beyond the answer is `max`. */
export async function estimate(access: Access, run: Run, context: StatementContext, max: number): Promise<number> {
  switch (access.kind) {
    case 'extent':
      return max
    case 'objects': {
      const value = await constantOf(access.references.evaluate, run, context)
      return Array.isArray(value) ? value.length : 1
    }
    case 'index': {
      let count = 0
      for (const [i, range] of (await indexRanges(access, run, context)).entries()) {
        if (i % rangesBetweenLooks === rangesBetweenLooks - 1 && context.isTurnDue) await context.turn()
        // Whoever wants it finds it sooner than it is counted.
        if (range.isOneKey) count++
        else count += await context.countEntries(range, max - count)
        if (count >= max) return max
      }
      return count
    }
    case 'union': {
      let count = 0
      for (const part of access.parts) count += await estimate(part, run, context, max)
      return Math.min(count, max)
    }
    case 'reverse':
      return estimateReverse(access, run, context, max)
  }
}

async function estimateReverse(
  access: ReverseAccess,
  run: Run,
  context: StatementContext,
  max: number,
): Promise<number> {
  if (access.inner.kind === 'extent') return max
  const scratch = scratchPlan(access)
  let objects = 0
  let count = 0
  for await (const oids of oidsOf(access.inner, run, context, scratch.inputs[0] as OperatorPlan)) {
    context.entriesCounted += oids.length
    for (const far of oids) {
      if (++objects > countedObjectsMax) continue
      const range = access.way.kind === 'index' ? referringRange(access.way.format, far) : inverseRange(access, far)
      const owners = range === undefined ? 1 : await countLimited(context.snapshot, range, max - count)
      context.entriesCounted += owners
      count += owners
      if (count >= max) return max
    }
    if (objects >= max) return max
  }
  const scale = objects > countedObjectsMax ? objects / countedObjectsMax : 1
  return Math.min(max, Math.ceil(count * scale))
}

function scratchPlan(access: Access): OperatorPlan {
  const inner = access.kind === 'reverse' ? [access.inner] : access.kind === 'union' ? access.parts : []
  return { operator: '', details: {}, examined: 0, returned: 0, inputs: inner.map(scratchPlan) }
}
