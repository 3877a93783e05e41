/** What the lines of a load take that are held until they are one commit. */
import type { MemoryHolder, MemoryPool } from '../budget/memory-pool.ts'
import { RequestMemory } from '../budget/request-memory.ts'
import type { EngineLimits } from '../limits.ts'
import { checkChangedObjects } from '../write/change-objects.ts'

export interface GatheredLines {
  /** `lines`: with this one, `bytes`: of this one. Throws LimitExceeded and ServerBusy. */
  add(lines: number, bytes: number): void
  release(): void
}

/** A command, and its values as they are in memory. */
const bytesOfLine = (bytes: number): number => 200 + 2 * bytes

export function gatheredLines(limits: EngineLimits, pool: MemoryPool, holder?: MemoryHolder): GatheredLines {
  const memory = new RequestMemory(pool, limits, holder)
  return {
    add(lines, bytes) {
      checkChangedObjects(lines, limits)
      memory.chargeRequest(bytesOfLine(bytes))
    },
    release: () => memory.release(),
  }
}
