/** Finds all lines of a batch that fail on their own, once one has failed, so that the rest is retried only once (contract 2.2.19). */
import { AshlarError } from '../errors.ts'
import { creatableClass } from '../objects/create.ts'
import { readCreateObject, readUpdateObject } from '../requests/read-object-command.ts'
import type { BetweenSteps } from '../transaction/between-steps.ts'
import { checkedOid, type Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { BulkCommand, BulkUpdate } from './bulk-command.ts'
import { isLineError } from './failed-lines.ts'
import { attributesWithOids, type OidOf, unknownName, withOids } from './named-objects.ts'

interface ValidationSettings {
  /** Ids of committed lines. */
  readonly names: ReadonlyMap<string, Oid | undefined>
  readonly upsertOn: string | undefined
  readonly between: BetweenSteps
}

/** Returns their errors, with places that begin with positions; `failed` is the line known to fail. */
export async function unreadableLines(
  unit: UnitOfWork,
  commands: readonly BulkCommand[],
  failed: number,
  { names, upsertOn, between }: ValidationSettings,
): Promise<AshlarError[]> {
  const oidOf = anyOids(commands, names)
  const errors: AshlarError[] = []
  for (const [position, command] of commands.entries()) {
    const pause = position % 4 === 0 ? between() : undefined
    if (pause !== undefined) await pause
    if (position === failed) continue
    try {
      await read(unit, command, oidOf, upsertOn === undefined)
    } catch (error) {
      if (!(error instanceof AshlarError) || !isLineError(error)) throw error
      errors.push(error.within(position))
    }
  }
  return errors
}

/** Maps the ids of uncommitted lines to distinct OIDs that no object has. */
function anyOids(commands: readonly BulkCommand[], names: ReadonlyMap<string, Oid | undefined>): OidOf {
  const placeholders = new Map<string, Oid>()
  for (const command of commands) {
    if (command.kind !== 'create' || command.id === undefined) continue
    const number = placeholders.size + 1
    placeholders.set(command.id, checkedOid(`1-1-${Math.floor(number / 50_000) + 1}-${(number % 50_000) + 1}`))
  }
  return (id) => {
    const oid = placeholders.get(id) ?? names.get(id)
    if (oid === undefined) throw unknownName(id)
    return oid
  }
}

/** `creates`: true if a create cannot become an update of an existing object. */
async function read(unit: UnitOfWork, command: BulkCommand, oidOf: OidOf, creates: boolean): Promise<void> {
  if (command.kind === 'create') {
    const attributes =
      command.refersTo === undefined ? command.attributes : attributesWithOids(command.attributes, oidOf)
    const { cls } = await readCreateObject(unit.commandCatalog, command.class, attributes)
    if (creates) creatableClass(unit, cls)
    return
  }
  const oid = 'oid' in command.target ? checkedOid(withOids(command.target.oid, oidOf)) : undefined
  if (command.kind === 'update') await readUpdate(unit, command, oid, oidOf)
}

/** Validates as far as the class is known; a caller that may not see the object learns nothing about its class. */
async function readUpdate(unit: UnitOfWork, command: BulkUpdate, oid: Oid | undefined, oidOf: OidOf): Promise<void> {
  const attributes = command.refersTo === undefined ? command.attributes : attributesWithOids(command.attributes, oidOf)
  const state = oid === undefined || unit.guard !== undefined ? undefined : unit.objects.loaded(oid)
  if (oid === undefined || state === undefined) return
  await readUpdateObject(unit.commandCatalog, oid, attributes, command.class).changesOf(
    unit.commandFormatOf(state),
    oid,
  )
}
