/** UPSERT: updates the object with the key in a unique index, or creates a new one. */
import { AshlarError, assert } from '../../errors.ts'
import { indexKeyFormat, keyConditionRange } from '../../indexes/index-key.ts'
import { readIndexOids } from '../../indexes/lookup.ts'
import { applyChanges } from '../../objects/apply-changes.ts'
import { createObject } from '../../objects/create.ts'
import type { AttributeChange, ValueChange } from '../../records/attribute-change.ts'
import type { ClassFormat } from '../../records/class-format.ts'
import { isSameValue } from '../../records/same-value.ts'
import type { Oid } from '../../types/oid.ts'
import { flushObjects } from '../../write/flush.ts'
import type { ObjectState } from '../../write/working-set.ts'
import { type BoundUpsert, bindUpsert } from '../bind/bind-change.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import { assignedChanges, assigning, type ChangeContext } from '../change/change-values.ts'
import { Compiler } from '../evaluate/compile-expression.ts'
import type { Evaluate } from '../evaluate/evaluation-context.ts'
import { evaluateConstant } from '../execute/evaluate-rows.ts'
import { newEvaluationContext } from '../execute/new-evaluation-context.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { explainNode } from '../explain/explain-node.ts'
import type { UpsertStatement } from '../language/ast.ts'
import { queryError } from '../language/query-error.ts'
import type { Planned } from '../plan-cache.ts'
import { isNullOf } from '../values/compare.ts'
import type { TypedValue } from '../values/parameter-value.ts'
import { identifierRow } from './answer.ts'
import { referenceToNew } from './create.ts'
import type { StatementExecutor, StatementExplainer, StatementKind } from './statement-kind.ts'

export const upsert: StatementKind<UpsertStatement> = {
  effect: 'write',
  run: async (statement, executor) => identifierRow(await runUpsertStatement(statement, executor)),
  value: runUpsertStatement,
  valueType: referenceToNew,

  async explain(statement, explainer) {
    const planned = planUpsert(statement, explainer)
    await explainer.inputs(planned)
    const { cls, index } = planned.plan.bound
    explainer.probe.root = explainNode('upsert', { class: cls.name, index: index.name })
    return { kind: 'reference', cls }
  },

  details({ className, on }) {
    return { class: className.text, on: on.map(({ text }) => text) }
  },
}

interface UpsertPlan {
  readonly bound: BoundUpsert
  /** One per assignment. */
  readonly values: readonly Evaluate[]
  readonly slots: number
  readonly constants: number
}

function planUpsert(statement: UpsertStatement, executor: StatementExecutor | StatementExplainer): Planned<UpsertPlan> {
  const context = executor.planning()
  return executor.plans.planned(statement, context, (binder) => {
    const bound = bindUpsert(statement, binder)
    const compiler = new Compiler(context.formats)
    const values = compiler.compileAll(bound.assignments.map(({ value }) => value))
    return { bound, values, slots: binder.slots, constants: compiler.constants }
  })
}

async function runUpsertStatement(statement: UpsertStatement, executor: StatementExecutor): Promise<TypedValue> {
  const planned = planUpsert(statement, executor)
  const { bound, values, slots, constants } = planned.plan
  const inputs = await executor.inputs(planned)
  const context = executor.context()
  const evaluation = newEvaluationContext(slots, constants, inputs, context)
  const evaluated: unknown[] = []
  for (const value of values) evaluated.push(await evaluateConstant(value, evaluation, context))
  const value = await runUpsert(bound, evaluated, context, executor.changeContext())
  return { type: { kind: 'reference', cls: bound.cls }, value }
}

async function runUpsert(
  bound: BoundUpsert,
  values: readonly unknown[],
  context: StatementContext,
  changeContext: ChangeContext,
): Promise<Oid> {
  const { unit } = changeContext
  const { cls, assignments } = bound
  changeContext.count(1)
  const changes = await assigning(changeContext, bound, () =>
    assignedChanges(changeContext, cls, { assignments, values }),
  )
  const found = await findByKey(bound, keyOf(bound, changes, context.script.text), changeContext, context)
  if (found !== undefined) {
    const own = changes.map((change) => forClass(change, unit.commandFormatOf(found)))
    await assigning(changeContext, bound, async () => applyChanges(unit, found, own))
    await flushObjects(unit)
    return found.oid
  }
  const oid = await assigning(changeContext, bound, async () => createObject(unit, { cls, changes }))
  await flushObjects(unit)
  return oid
}

/** The change for an object of a subclass, which has its own formats. */
function forClass({ attribute, ...change }: AttributeChange, format: ClassFormat): AttributeChange {
  return { ...change, attribute: format.attribute(attribute.attribute.number) }
}

/** The values of the key in the order of the index. Throws QueryError for null. */
function keyOf({ assignments, keys }: BoundUpsert, changes: readonly AttributeChange[], text: string): unknown[] {
  return keys.map((key) => {
    const value = assignedValue(changes[assignments.indexOf(key)]?.change)
    if (!isNullOf((key.path.at(-1) as BoundAttribute).type, value)) return value
    throw queryError(text, key, `a key attribute of UPSERT must have a value other than null`)
  })
}

/** The value that an assignment sets, perhaps within embedded objects. */
function assignedValue(change: ValueChange | undefined): unknown {
  if (change?.kind === 'merge') return assignedValue(change.fields[0]?.change)
  assert(change?.kind === 'set', 'a key attribute is set as a whole')
  return change.value
}

async function findByKey(
  { cls, index }: BoundUpsert,
  equal: readonly unknown[],
  { unit: { objects, transaction, guard } }: ChangeContext,
  context: StatementContext,
): Promise<ObjectState | undefined> {
  const format = indexKeyFormat(index, objects.formats.byNumber(cls.number))
  // A restricted user must not find a key of an object that is hidden from them.
  const snapshot = guard === undefined ? transaction.observed() : context.snapshot
  for await (const oids of readIndexOids(snapshot, keyConditionRange(format, { equal }), false)) {
    for (const oid of oids) {
      const state = await objects.load(oid)
      // Texts are truncated in the index, so an equal prefix is not yet an equal key.
      const isSame =
        state !== undefined &&
        format.parts.every(({ path, format: { codec } }, i) => {
          const stored = path.reduce<unknown>((at, position) => (at as readonly unknown[])[position], state.values)
          return isSameValue(codec, stored, equal[i])
        })
      if (!isSame) continue
      if (state.format.cls.isOrInherits(cls.number)) return state
      throw new AshlarError(
        'QueryError',
        `UPSERT: the key belongs to object ${oid} of class ${state.format.cls.name}, which is not a ${cls.name}.`,
      )
    }
  }
  return undefined
}
