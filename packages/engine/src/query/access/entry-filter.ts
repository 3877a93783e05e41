/** Filters index entries by their keys, so that objects that cannot qualify are not read. */
import { AshlarError } from '../../errors.ts'
import type { IndexKeyFormat } from '../../indexes/index-key.ts'
import type { Bytes } from '../../store/store.ts'
import { type Bound, conjunctsOf } from '../bind/bound.ts'
import { type Evaluate, type EvaluationContext, evaluationApart } from '../evaluate/evaluation-context.ts'
import { decideSync } from '../operators/filter.ts'
import type { Planning } from '../operators/planning.ts'
import { attributesReadBy, EntryReader, type PartRead, partsRead } from './entry-view.ts'

/** The complete predicate of an access path that answers some of its conditions. */
export interface FullPredicate {
  readonly where: Bound | undefined
  readonly slot: number
  /** It is checked for one part of an OR whose other parts check it, too. */
  readonly isOrPart?: true
}

/** False for an entry whose object cannot qualify. */
export type MayQualify = (key: Bytes) => boolean

const conjunctsMax = 64

/** The conjuncts that the range of entries already answers. */
export interface AnsweredByRange {
  /** Positions in the class of attributes with a fixed value. */
  readonly equal: ReadonlySet<number>
  readonly others: number
}

/** Undefined if the keys allow no checks beyond their range. */
export function planEntryFilter(
  format: IndexKeyFormat,
  { equal, others }: AnsweredByRange,
  { where, slot }: FullPredicate,
  { compiler, text }: Planning,
): EntryFilter | undefined {
  if (where === undefined) return undefined
  const conjuncts = keyConjunctsOf(format, where, slot)
    .filter(({ isEquality, read }) => !isEquality || !read.every((attribute) => equal.has(attribute)))
    .map(({ conjunct }) => conjunct)
  if (conjuncts.length <= others) return undefined
  // The rest is checked on the objects, since each part of an OR has a filter.
  conjuncts.length = Math.min(conjuncts.length, conjunctsMax)
  const parts = partsRead(format, attributesReadBy(conjuncts, slot) ?? new Set())
  if (parts === undefined) return undefined
  const texts = conjuncts.map(({ start, end }) => text.slice(start, end))
  return new EntryFilter(parts, compiler.compileAll(conjuncts), slot, texts)
}

/** A conjunct that can be evaluated on index keys, and the attributes that it reads. */
interface KeyConjunct {
  readonly conjunct: Bound
  readonly isEquality: boolean
  readonly read: readonly number[]
}

/** By predicate, slot, index and attribute positions. Cached because each part of an OR has an access path that needs the same conjuncts. */
const keyConjunctsByPredicate = new WeakMap<Bound, Map<string, readonly KeyConjunct[]>>()

function keyConjunctsOf(format: IndexKeyFormat, where: Bound, slot: number): readonly KeyConjunct[] {
  let cache = keyConjunctsByPredicate.get(where)
  if (cache === undefined) {
    cache = new Map()
    keyConjunctsByPredicate.set(where, cache)
  }
  const paths = format.parts.map(({ path }) => path.join('.'))
  const name = `${slot} ${format.index.name} ${paths}`
  let found = cache.get(name)
  if (found === undefined) {
    found = conjunctsOf(where).flatMap((conjunct) => {
      const read = attributesReadBy([conjunct], slot)
      if (read === undefined || read.size === 0 || partsRead(format, read) === undefined) return []
      return [{ conjunct, isEquality: conjunct.kind === 'compare' && conjunct.operator === 'equal', read: [...read] }]
    })
    cache.set(name, found)
  }
  return found
}

export class EntryFilter {
  /** The checked conjuncts as written, for EXPLAIN. */
  readonly texts: readonly string[]
  private readonly parts: readonly PartRead[]
  private readonly conjuncts: readonly Evaluate[]
  private readonly slot: number

  constructor(parts: readonly PartRead[], conjuncts: readonly Evaluate[], slot: number, texts: readonly string[]) {
    this.parts = parts
    this.conjuncts = conjuncts
    this.slot = slot
    this.texts = texts
  }

  /** For the entries of one run, separate from the state of its rows, which may be evaluated concurrently. */
  forRun(evaluation: EvaluationContext): MayQualify {
    const { parts, conjuncts, slot } = this
    const own = evaluationApart(evaluation)
    const reader = new EntryReader(parts)
    return (key) => {
      const view = reader.read(key)
      if (view === undefined) return true
      own.slots[slot] = view
      const isPossible = conjuncts.every((conjunct) => isNotFalse(conjunct, own))
      evaluation.memory.endRow()
      return isPossible
    }
  }
}

/** True also on errors: whether the row is reached and fails is decided by the whole predicate. */
function isNotFalse(conjunct: Evaluate, evaluation: EvaluationContext): boolean {
  try {
    return decideSync((own) => conjunct(own) === true, evaluation) !== false
  } catch (error) {
    if (error instanceof AshlarError && error.kind !== 'fault') return true
    throw error
  }
}
