/**
 * The plan of a source: every access path that could find its qualifying objects, and the filter that all of them pass.
 */
import type { SchemaClass } from '../../schema/catalog.ts'
import { type ClassSet, withSubclasses } from '../../schema/class-set.ts'
import type { BoundClauses, BoundSource } from '../bind/bound.ts'
import type { IndexHint } from '../explain/explain-node.ts'
import { type FilterPlan, planFilter } from '../operators/filter.ts'
import type { Planning } from '../operators/planning.ts'
import { statementsPlan } from '../operators/row-statements.ts'
import { accessesFor } from './access-kinds.ts'
import { type AccessPath, constantKey, type OidAccess } from './access-path.ts'
import { ExtentScan } from './extent-scan.ts'
import { hintOfConditions, hintOfOrder } from './index-hint.ts'
import { type IndexOnlyScan, planIndexOnlyScans } from './index-only-scan.ts'
import { OidLookup } from './oid-lookup.ts'
import { type OrderedIndexScan, planOrderedIndexScan } from './ordered-index-scan.ts'
import { sargablePredicates } from './sargable-predicates.ts'
import { accessesOfShown } from './shown-objects.ts'
import { planSkipScans, type SkipScan } from './skip-scan.ts'

export interface SourcePlan {
  /** As plans name it. */
  readonly className: string
  readonly cls: SchemaClass
  readonly classes: ClassSet
  /** Where the source is references: no other access is possible. */
  readonly references: OidLookup | undefined
  readonly accesses: readonly OidAccess[]
  /** One of them that gives one object at most: nothing can be better. */
  readonly exact: OidAccess | undefined
  /** Those of which `findElements` is to be asked. */
  readonly ofElements: readonly OidAccess[]
  readonly ordered: OrderedIndexScan | undefined
  /** Looked at where the others would read much. */
  readonly skipping: readonly SkipScan[]
  readonly extent: ExtentScan
  /** Of grouped rows: those whose entries tell all that is asked; the better ones first. */
  readonly indexOnly: readonly IndexOnlyScan[]
  readonly filter: FilterPlan
  /** For EXPLAIN of a scan of all objects, of which so many are taken in the order asked for. */
  readonly hint: (wanted: number | undefined) => IndexHint | undefined
  /** With ORDER BY, the first objects in that order are the first rows: none is left out or held for others. */
  readonly areFirst: boolean
  /** The objects that qualify are the rows, as they come: none is sorted or grouped. */
  readonly areRows: boolean
  /** No more is asked than whether there is such an object. */
  readonly asksNothing: boolean
}

/** `slot`: of the objects. */
export function planObjects(source: BoundSource, slot: number, clauses: BoundClauses, planning: Planning): SourcePlan {
  const { where, orderBy, groupBy } = clauses
  const { cls } = source
  const isClass = source.kind === 'class'
  const classes = isClass ? source.classes : withSubclasses(cls)
  const conditions = sargablePredicates(where, slot)
  const isOrdered = isClass && groupBy === undefined
  const whole = { where, slot }
  const accesses = isClass
    ? [...accessesFor(cls, conditions, planning, whole), ...accessesOfShown(classes.classes, cls, slot, planning)]
    : []
  const skipping = isClass ? planSkipScans(cls, conditions, planning, whole) : []
  const areFirst = groupBy === undefined && clauses.distinct === undefined && clauses.windows.length === 0
  const ordered = isOrdered ? planOrderedIndexScan(cls, whole, orderBy, conditions, planning) : undefined
  const indexOnly = isClass ? planIndexOnlyScans(cls, classes, slot, clauses, conditions, skipping, planning) : []
  return {
    className: cls.name,
    cls,
    classes,
    references: isClass
      ? undefined
      : new OidLookup(constantKey(source.references, planning), statementsPlan(source.statements)),
    accesses,
    ofElements: accesses.filter(({ findElements }) => findElements !== undefined),
    exact: accesses.find(({ isAtMostOne }) => isAtMostOne),
    ordered,
    skipping,
    extent: new ExtentScan(classes),
    indexOnly,
    filter: planFilter(where, slot, planning),
    hint: (wanted) => {
      if (!isClass) return undefined
      const hint = hintOfConditions(cls, conditions, planning)
      if (hint !== undefined || where !== undefined || wanted === undefined || !areFirst) return hint
      return hintOfOrder(cls, slot, orderBy, wanted, planning)
    },
    areFirst,
    areRows: areFirst && orderBy.length === 0,
    asksNothing: clauses.projections?.length === 0 && orderBy.length === 0,
  }
}

/** Each entry of the index names a row: those that are skipped need not be read. */
export function areRowsInOrder({ ordered, filter, classes, areFirst }: SourcePlan, access: AccessPath): boolean {
  return areFirst && access === ordered && filter.conjuncts === 0 && ordered.hasAllOf(classes)
}
