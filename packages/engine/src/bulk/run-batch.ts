/** Executes the lines of one batch in one unit of work: each line sees the effects of earlier lines and may refer to objects of later ones. */
import { AshlarError, assert } from '../errors.ts'
import { applyChanges } from '../objects/apply-changes.ts'
import { beginObject } from '../objects/create.ts'
import { carryOutDeletions, deleteObject } from '../objects/delete.ts'
import { updateObject } from '../objects/update.ts'
import { type Attributes, readCreateObject, readUpdateObject } from '../requests/read-object-command.ts'
import { inSlices } from '../store/time-slice.ts'
import type { BetweenSteps } from '../transaction/between-steps.ts'
import { checkedOid, type Oid } from '../types/oid.ts'
import { settle } from '../write/flush.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { isChanged, type ObjectState } from '../write/working-set.ts'
import type { BulkCommand, BulkCreate, BulkDelete, BulkDone, BulkTarget, BulkUpdate } from './bulk-command.ts'
import { createPacked } from './create-packed.ts'
import { FailedLines, isLineError } from './failed-lines.ts'
import { attributesWithOids, type OidOf, unknownName, withOids } from './named-objects.ts'
import { type KeyText, noSuchKey, UniqueKeys } from './unique-keys.ts'
import { unreadableLines } from './unreadable-lines.ts'

export interface BatchSettings {
  /** Ids of committed lines. */
  readonly names: ReadonlyMap<string, Oid | undefined>
  /** A unique index: a create becomes an update if an object with the key exists. */
  readonly upsertOn: string | undefined
  /** On failure, also report the other lines that fail on their own, so that they are skipped together. */
  readonly reportsAll: boolean
  readonly between: BetweenSteps
}

/** A command after its target is resolved. */
interface Resolved {
  /** The object to change; undefined for a create. */
  readonly target: Oid | undefined
  /** The object to create, if it was created early because other lines refer to it. */
  readonly created: ObjectState | undefined
}

/** Error places begin with the position of the command. Throws the errors of commands, and FailedLines. */
export function runBatch(
  unit: UnitOfWork,
  commands: readonly BulkCommand[],
  settings: BatchSettings,
): Promise<readonly BulkDone[]> {
  return new Batch(unit, commands, settings).run()
}

class Batch {
  private readonly unit: UnitOfWork
  private readonly commands: readonly BulkCommand[]
  private readonly settings: BatchSettings
  private readonly names = new Map<string, Oid>()
  private readonly oidOf: OidOf
  /** Objects that were created early, until their own command is executed. */
  private readonly ahead = new Set<ObjectState>()
  private readonly resolved: (Resolved | undefined)[] = []

  constructor(unit: UnitOfWork, commands: readonly BulkCommand[], settings: BatchSettings) {
    this.unit = unit
    unit.isBulk = true
    this.commands = commands
    this.settings = settings
    this.oidOf = (id) => {
      const oid = this.names.get(id) ?? settings.names.get(id)
      if (oid === undefined) throw unknownName(id)
      return oid
    }
  }

  async run(): Promise<readonly BulkDone[]> {
    try {
      return await this.runAll()
    } catch (error) {
      if (!this.settings.reportsAll || !(error instanceof AshlarError) || !isLineError(error)) throw error
      const failed = error.errors[0]?.place[0]
      if (typeof failed !== 'number') throw error
      const others = await unreadableLines(this.unit, this.commands, failed, this.settings)
      throw others.length === 0 ? error : new FailedLines(error, others)
    }
  }

  private async runAll(): Promise<readonly BulkDone[]> {
    const { commands, settings } = this
    const packed = settings.upsertOn === undefined ? await this.createAllPacked() : undefined
    if (packed !== undefined) return packed
    const hasKeys = commands.some((command) => isKeyed(command, settings.upsertOn))
    if (hasKeys) await this.resolveByKeys()
    else if (commands.some((command) => command.kind === 'create' && command.id !== undefined)) await this.createNamed()
    await this.loadTargets()
    const done: BulkDone[] = []
    await this.each(async (command, position) => {
      this.unit.position = position
      done.push(await this.execute(command, position))
    })
    return done
  }

  /** Used if all lines create objects from given values. Returns undefined if they have to be executed one by one. */
  private async createAllPacked(): Promise<readonly BulkDone[] | undefined> {
    const { commands, unit, settings } = this
    if (!commands.every(isPlainCreation)) return undefined
    const oids = await createPacked(unit, [commands], commands.length, settings.between)
    if ('positions' in oids) return undefined
    const done: BulkDone[] = []
    await inSlices(oids, (oid) => {
      done.push({ oid, change: 'created' })
    })
    return done
  }

  /** Creates objects that other lines refer to before their values are set. */
  private async createNamed(): Promise<void> {
    await this.each(async (command, position) => {
      if (command.kind === 'create' && command.id !== undefined) await this.createAhead(command, position)
    })
  }

  private async createAhead(command: BulkCreate, position: number): Promise<ObjectState> {
    const { cls } = await readCreateObject(this.unit.commandCatalog, command.class, {})
    const created = await beginObject(this.unit, cls, position)
    this.resolved[position] = { target: undefined, created }
    this.ahead.add(created)
    if (command.id !== undefined) this.names.set(command.id, created.oid)
    return created
  }

  /** Resolves targets given by unique keys; all keys are looked up together. */
  private async resolveByKeys(): Promise<void> {
    const keys = new UniqueKeys(this.unit)
    const lineKeys: (KeyText | undefined)[] = []
    await this.each(async (command, position) => {
      if (isKeyed(command, this.settings.upsertOn)) lineKeys[position] = await this.keyOf(command, keys)
    })
    await keys.find(lineKeys.filter((key) => key !== undefined))
    await this.each(async (command, position) => {
      const key = lineKeys[position]
      const holder = key === undefined ? undefined : await this.seen(keys.holderOf(key))
      if (command.kind === 'create') {
        if (holder === undefined) {
          const created = await this.createAhead(command, position)
          if (key !== undefined) keys.noteHolder(key, created.oid)
          return
        }
        if (command.id !== undefined) this.names.set(command.id, holder)
      } else {
        if (!('key' in command.target)) return
        if (holder === undefined) throw noSuchKey(command.target.key)
        if (command.kind === 'delete' && key !== undefined) keys.noteHolder(key, undefined)
      }
      this.resolved[position] = { target: holder, created: undefined }
    })
  }

  /** An object that the caller may not see does not exist for it; the index still reports a duplicate key. */
  private async seen(holder: Oid | undefined): Promise<Oid | undefined> {
    const { guard, objects } = this.unit
    if (holder === undefined || guard === undefined || objects.loaded(holder) !== undefined) return holder
    return (await guard.isSeen(holder)) ? holder : undefined
  }

  private async keyOf(command: BulkCommand, keys: UniqueKeys): Promise<KeyText | undefined> {
    if (command.kind !== 'create') {
      assert('key' in command.target, 'a command that is looked up has a key')
      const { index, values } = command.target.key
      return keys.keyOfValues({ index, values: this.resolvedAttributes(values, command.refersTo) })
    }
    const { upsertOn } = this.settings
    assert(upsertOn !== undefined, 'creations are looked up where that is asked for')
    const index = keys.index(upsertOn)
    const attributes = this.resolvedAttributes(command.attributes, command.refersTo)
    const { cls, changes } = await readCreateObject(this.unit.commandCatalog, command.class, attributes)
    return keys.keyOf(index, cls, changes)
  }

  private resolvedAttributes(attributes: Attributes, refersTo: readonly string[] | undefined): Attributes {
    if (refersTo === undefined) return attributes
    const resolved: [string, unknown][] = []
    for (const [name, value] of Object.entries(attributes)) {
      try {
        resolved.push([name, withOids(value, this.oidOf)])
      } catch (error) {
        if (!(error instanceof AshlarError)) throw error
      }
    }
    return Object.fromEntries(resolved)
  }

  private async loadTargets(): Promise<void> {
    if (this.unit.guard !== undefined) return
    const oids: Oid[] = []
    for (let position = 0; position < this.commands.length; position++) {
      const command = this.commands[position] as BulkCommand
      const target = this.resolved[position]?.target
      if (target !== undefined) oids.push(target)
      else if (command.kind !== 'create' && 'oid' in command.target && command.refersTo === undefined) {
        try {
          oids.push(checkedOid(command.target.oid))
        } catch (error) {
          throw within(position, error)
        }
      }
    }
    if (oids.length > 0) await this.unit.objects.loadAll(oids)
  }

  private execute(command: BulkCommand, position: number): Promise<BulkDone> {
    if (command.kind === 'update') return this.update(command, this.targetOf(command.target, position), position)
    if (command.kind === 'delete') return this.delete(command, position)
    const resolved = this.resolved[position]
    if (resolved?.target !== undefined) return this.update(command, resolved.target, position)
    return this.create(command, resolved?.created, position)
  }

  private async create(command: BulkCreate, ahead: ObjectState | undefined, position: number): Promise<BulkDone> {
    const { unit } = this
    const { cls, changes } = await readCreateObject(unit.commandCatalog, command.class, this.attributesOf(command))
    const state = ahead ?? (await beginObject(unit, cls, position))
    await applyChanges(unit, state, changes)
    this.ahead.delete(state)
    return { oid: state.oid, change: 'created' }
  }

  private async update(command: BulkUpdate | BulkCreate, oid: Oid, position: number): Promise<BulkDone> {
    const { unit } = this
    const attributes = this.attributesOf(command)
    await this.settle(unit.objects.loaded(oid))
    await updateObject(unit, readUpdateObject(unit.commandCatalog, oid, attributes, command.class))
    const state = unit.objects.loaded(oid)
    // A failure found at flush is reported for the line that changed the object last.
    if (state !== undefined) state.position = position
    return { oid, change: 'updated' }
  }

  /** Ends the change of an object by an earlier command, to which an error belongs. */
  private async settle(state: ObjectState | undefined): Promise<void> {
    if (state === undefined || !isChanged(state) || this.ahead.has(state)) return
    try {
      await settle(this.unit, state)
    } catch (error) {
      throw new EarlierFailure(error)
    }
  }

  private async delete({ target }: BulkDelete, position: number): Promise<BulkDone> {
    const oid = this.targetOf(target, position)
    await this.settle(this.unit.objects.loaded(oid))
    await deleteObject(this.unit, { oid })
    await carryOutDeletions(this.unit)
    return { oid, change: 'deleted' }
  }

  /** Throws MalformedOid, InvalidReference. */
  private targetOf(target: BulkTarget, position: number): Oid {
    if ('oid' in target) return checkedOid(withOids(target.oid, this.oidOf))
    const oid = this.resolved[position]?.target
    assert(oid !== undefined, 'an object named by a key was looked up')
    return oid
  }

  private attributesOf({ attributes, refersTo }: BulkUpdate | BulkCreate): Attributes {
    return refersTo === undefined ? attributes : attributesWithOids(attributes, this.oidOf)
  }

  private async each(step: (command: BulkCommand, position: number) => Promise<void>): Promise<void> {
    for (const [position, command] of this.commands.entries()) {
      const pause = position % 4 === 0 ? this.settings.between() : undefined
      if (pause !== undefined) await pause
      try {
        await step(command, position)
      } catch (error) {
        throw error instanceof EarlierFailure ? error.cause : within(position, error)
      }
    }
  }
}

/** `cause`: has the position of the earlier command. */
class EarlierFailure extends Error {
  constructor(cause: unknown) {
    super('a command before is refused', { cause })
  }
}

function isPlainCreation(command: BulkCommand): command is BulkCreate {
  return command.kind === 'create' && command.refersTo === undefined
}

function isKeyed(command: BulkCommand, upsertOn: string | undefined): boolean {
  return command.kind === 'create' ? upsertOn !== undefined : 'key' in command.target
}

function within(position: number, error: unknown): unknown {
  return error instanceof AshlarError ? error.within(position) : error
}
