/** The plan of a source: every access path that could find its qualifying objects, and the filter applied to all of them. */
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
import { visibilityAccesses } from './shown-objects.ts'
import { planSkipScans, type SkipScan } from './skip-scan.ts'

export interface SourcePlan {
  /** The name in plans. */
  readonly className: string
  readonly cls: SchemaClass
  readonly classes: ClassSet
  /** Set if the source is a set of references, which excludes other accesses. */
  readonly references: OidLookup | undefined
  readonly accesses: readonly OidAccess[]
  /** An access to at most one object: no other can be better. */
  readonly exact: OidAccess | undefined
  /** Accesses with `findElements`. */
  readonly elementAccesses: readonly OidAccess[]
  readonly ordered: OrderedIndexScan | undefined
  /** Considered if the other accesses would read many entries. */
  readonly skipping: readonly SkipScan[]
  readonly extent: ExtentScan
  /** For grouped rows: indexes whose entries contain all needed values, best first. */
  readonly indexOnly: readonly IndexOnlyScan[]
  readonly filter: FilterPlan
  /** For EXPLAIN of a full scan, of which `rowLimit` rows are needed in the requested order. */
  readonly hint: (rowLimit: number | undefined) => IndexHint | undefined
  /** With ORDER BY, the first objects in that order are the first rows: none is filtered out or delayed. */
  readonly areFirst: boolean
  /** The qualifying objects are the rows, without sorting or grouping. */
  readonly areRows: boolean
  /** Only the existence of an object matters. */
  readonly isExistenceOnly: boolean
}

export function planObjects(source: BoundSource, slot: number, clauses: BoundClauses, planning: Planning): SourcePlan {
  const { where, orderBy, groupBy } = clauses
  const { cls } = source
  const isClass = source.kind === 'class'
  const classes = isClass ? source.classes : withSubclasses(cls)
  const conditions = sargablePredicates(where, slot)
  const isOrdered = isClass && groupBy === undefined
  const predicate = { where, slot }
  const accesses = isClass
    ? [
        ...accessesFor(cls, conditions, planning, predicate),
        ...visibilityAccesses(classes.classes, cls, slot, planning),
      ]
    : []
  const skipping = isClass ? planSkipScans(cls, conditions, planning, predicate) : []
  const areFirst = groupBy === undefined && clauses.distinct === undefined && clauses.windows.length === 0
  const ordered = isOrdered ? planOrderedIndexScan(cls, predicate, orderBy, conditions, planning) : undefined
  const indexOnly = isClass ? planIndexOnlyScans(cls, classes, slot, clauses, conditions, skipping, planning) : []
  return {
    className: cls.name,
    cls,
    classes,
    references: isClass
      ? undefined
      : new OidLookup(constantKey(source.references, planning), statementsPlan(source.statements)),
    accesses,
    elementAccesses: accesses.filter(({ findElements }) => findElements !== undefined),
    exact: accesses.find(({ isAtMostOne }) => isAtMostOne),
    ordered,
    skipping,
    extent: new ExtentScan(classes),
    indexOnly,
    filter: planFilter(where, slot, planning),
    hint: (rowLimit) => {
      if (!isClass) return undefined
      const hint = hintOfConditions(cls, conditions, planning)
      if (hint !== undefined || where !== undefined || rowLimit === undefined || !areFirst) return hint
      return hintOfOrder(cls, slot, orderBy, rowLimit, planning)
    },
    areFirst,
    areRows: areFirst && orderBy.length === 0,
    isExistenceOnly: clauses.projections?.length === 0 && orderBy.length === 0,
  }
}

/** Each index entry is a row, so skipped rows need not be read. */
export function areRowsInOrder({ ordered, filter, classes, areFirst }: SourcePlan, access: AccessPath): boolean {
  return areFirst && access === ordered && filter.conjuncts === 0 && ordered.hasAllOf(classes)
}
