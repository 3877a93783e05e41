/** Executes an atomic load as one commit; plain creations are packed into rows, which takes a fraction of the memory (contract 2.2.20). */

import { isMemoryRefused } from '../budget/request-memory.ts'
import { AshlarError } from '../errors.ts'
import type { Sequence } from '../store/sequence.ts'
import type { Oid } from '../types/oid.ts'
import { flushObjects } from '../write/flush.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { BulkCommand, BulkDone } from './bulk-command.ts'
import { createPacked } from './create-packed.ts'
import type { BufferedLines } from './held-lines.ts'
import { type BatchSettings, runBatch } from './run-batch.ts'

export interface AtomicLoadSettings extends Pick<BatchSettings, 'upsertOn' | 'between'> {
  /** Ascending positions of lines that find their object by an index whose entries earlier lines may have changed. */
  readonly cuts: readonly number[]
}

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
  const { upsertOn, between } = settings
  if (lines.areCreations && upsertOn === undefined) {
    const packed = await createPacked(unit, lines.creations(), lines.count, between)
    if (!('positions' in packed)) return { oids: packed }
    if (packed.refused !== undefined) throw packed.refused
    if (packed.positions.length > 0) await validateLines(unit, lines, packed.positions, settings)
  }
  return runInParts(unit, await lines.all(), settings)
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

/** Flushes each part before the next one, so that its lines are found by the index. */
async function runInParts(
  unit: UnitOfWork,
  commands: readonly BulkCommand[],
  { cuts, upsertOn, between }: AtomicLoadSettings,
): Promise<Sequence<BulkDone>> {
  const done: BulkDone[] = []
  const names = new Map<string, Oid>()
  for (const [i, from] of [0, ...cuts].entries()) {
    const to = cuts[i] ?? commands.length
    const isLast = to === commands.length
    const part = isLast ? unit : unit.another()
    try {
      const some = await runBatch(part, commands.slice(from, to), { names, upsertOn, reportsAll: false, between })
      if (!isLast) await flushObjects(part)
      for (const one of some) done.push(one)
    } catch (error) {
      throw withPositions(error, (position) => from + position)
    }
    for (let at = from; at < to; at++) {
      const command = commands[at] as BulkCommand
      if (command.kind === 'create' && command.id !== undefined) names.set(command.id, (done[at] as BulkDone).oid)
    }
  }
  return done
}

function withPositions(error: unknown, positionOf: (position: number) => number): unknown {
  if (!(error instanceof AshlarError)) return error
  const { type, message, errors, extensions, isFatal } = error
  const moved = errors.map((detail) => {
    const [position, ...inLine] = detail.place
    return {
      ...detail,
      place:
        typeof position === 'number'
          ? [positionOf(position), ...inLine]
          : [...(position === undefined ? [] : [position]), ...inLine],
    }
  })
  return new AshlarError(type, message, moved, extensions, isFatal)
}
