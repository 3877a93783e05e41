/** Executes an atomic load as one commit; plain creations are packed into rows, which takes a fraction of the memory (contract 2.2.20). */

import { isMemoryRefused } from '../budget/request-memory.ts'
import type { Sequence } from '../store/sequence.ts'
import type { Oid } from '../types/oid.ts'
import { flushObjects } from '../write/flush.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { BulkDone } from './bulk-command.ts'
import { createPacked } from './create-packed.ts'
import { withPositions } from './failed-lines.ts'
import type { BufferedLines } from './held-lines.ts'
import { type BatchSettings, runBatch } from './run-batch.ts'

export type AtomicLoadSettings = Pick<BatchSettings, 'upsertOn' | 'between' | 'cuts' | 'isExact'>

/** The result if all lines are creations; outcomes are made on iteration. */
export interface CreatedOids {
  readonly oids: readonly Oid[]
}

/** Error places begin with the position of the line. */
export async function executeAtomicLoad(
  unit: UnitOfWork,
  lines: BufferedLines,
  settings: AtomicLoadSettings,
): Promise<Sequence<BulkDone> | CreatedOids> {
  const { upsertOn, between, isExact } = settings
  if (lines.areCreations && upsertOn === undefined && isExact !== true) {
    const packed = await createPacked(unit, lines.creations(), lines.count, between)
    if (!('positions' in packed)) return { oids: packed }
    if (packed.refused !== undefined) throw packed.refused
    if (packed.positions.length > 0) await validateLines(unit, lines, packed.positions, settings)
  }
  return runBatch(unit, await lines.all(), { ...settings, names: new Map(), reportsAll: false })
}

/** Executes the lines on a rehearsal transaction to get their exact errors. Returns if they are valid. */
async function validateLines(
  unit: UnitOfWork,
  lines: BufferedLines,
  positions: readonly number[],
  { between }: AtomicLoadSettings,
): Promise<void> {
  const commands = await lines.some(positions)
  const rehearsal = unit.another(unit.transaction.rehearsal())
  try {
    await runBatch(rehearsal, commands, { names: new Map(), upsertOn: undefined, reportsAll: false, between })
    await flushObjects(rehearsal)
  } catch (error) {
    throw isMemoryRefused(error) ? error : withPositions(error, (position) => positions[position] ?? position)
  } finally {
    unit.transaction.restartAllocations()
  }
}
