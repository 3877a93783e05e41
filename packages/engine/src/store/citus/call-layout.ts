/** How a call is passed to the commit function of a distributed store: all keys are locked, adjacent ones of the same placement by one statement. */
import { type KeyLock, lockStrength } from '../postgres/commit-locks.ts'
import { lockFlags, procedureFlags } from '../postgres/commit-parameters.ts'
import type { CallLayout } from '../postgres/encode-call.ts'

// Bounds of one statement, whose text grows with its keys.
const runKeysMax = 256
const runBytesMax = 131_072

/**
 * `isForeign`: a foreign table cannot create or lock several rows by one statement. `canRecover`: a call whose lock excludes others completes prepared
 * transactions first, which no lock reveals.
 */
export function distributedLayout({ isForeign, canRecover }: { isForeign: boolean; canRecover: boolean }): CallLayout {
  return {
    takesPacked: false,
    groupOf: () => 'locked',
    wantsOf: (locked) => (isForeign ? locked.map(({ wants }) => wants) : flagsInRuns(locked)),
    stepsOf: (_rows, { isExclusive, hasRanges }) => {
      const recover = canRecover && (isExclusive || hasRanges) ? procedureFlags.recover : 0
      return recover | (isForeign ? procedureFlags.byRow : 0)
    },
  }
}

function flagsInRuns(locked: readonly KeyLock[]): number[] {
  let [keys, bytes] = [0, 0]
  return locked.map((lock, i) => {
    const before = locked[i - 1]
    const lockBytes = lock.key.length + (lock.value?.length ?? 0)
    const isNext = before !== undefined && before.placement === lock.placement && isLockedAlike(before, lock)
    const continues = isNext && keys < runKeysMax && bytes + lockBytes <= runBytesMax
    keys = continues ? keys + 1 : 1
    bytes = continues ? bytes + lockBytes : lockBytes
    return lock.wants | (mayBeMade(lock) ? lockFlags.mayBeMade : 0) | (continues ? lockFlags.continues : 0)
  })
}

/** Rows that may have to be created are locked like puts. A range lock key, or a key with a required revision, is locked otherwise. */
function mayBeMade({ wants, hasToExist }: KeyLock): boolean {
  return (wants & ~(lockFlags.absent | lockFlags.put)) === 0 && !hasToExist
}

function isLockedAlike(one: KeyLock, other: KeyLock): boolean {
  if (mayBeMade(one) || mayBeMade(other)) return mayBeMade(one) && mayBeMade(other)
  const strength = plainStrength(one)
  return strength !== undefined && strength === plainStrength(other)
}

/** Undefined for a row that may have to be created in another way. */
function plainStrength(lock: KeyLock): number | undefined {
  if ((lock.wants & lockFlags.absent) !== 0) return undefined
  return (lock.wants & lockFlags.put) !== 0 && !lock.hasToExist ? undefined : lockStrength(lock)
}
