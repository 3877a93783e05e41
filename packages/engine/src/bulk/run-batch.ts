/** Executes the lines of one batch: each line sees the effects of earlier lines and may refer to objects of later ones. */
import { AshlarError, assert } from '../errors.ts'
import { applyChanges } from '../objects/apply-changes.ts'
import { beginObject } from '../objects/create.ts'
import { carryOutDeletions, deleteObject } from '../objects/delete.ts'
import { updateObject } from '../objects/update.ts'
import { type Attributes, readCreateObject, readUpdateObject } from '../requests/read-object-command.ts'
import { inSlices } from '../store/time-slice.ts'
import type { BetweenSteps } from '../transaction/between-steps.ts'
import { checkedOid, type Oid, parseOid } from '../types/oid.ts'
import { DeferredChecks, StepFailure } from '../write/deferred-checks.ts'
import { flushObjects } from '../write/flush.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { ObjectState } from '../write/working-set.ts'
import type { BulkCommand, BulkCreate, BulkDelete, BulkDone, BulkTarget, BulkUpdate } from './bulk-command.ts'
import { createPacked } from './create-packed.ts'
import { FailedLines, isLineError, withPositions } from './failed-lines.ts'
import { keyChangesOf, mustSeeStored } from './key-changes.ts'
import { divisions, partsOf } from './line-parts.ts'
import { attributesWithOids, type OidOf, referredIn, unknownName, withOids } from './named-objects.ts'
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
  /** Ascending positions of lines that find their object by an index whose entries earlier lines may have changed. */
  readonly cuts?: readonly number[]
  /** Run each line by itself, except lines that refer to each other. */
  readonly isExact?: boolean
}

/** The keys by which lines find their objects, by position. */
interface LineKeys {
  readonly keys: UniqueKeys
  readonly ofLines: readonly (KeyText | undefined)[]
}

/** A command after its target is resolved. */
interface Resolved {
  /** The object to change; undefined for a create. */
  readonly target: Oid | undefined
  /** The object to create, if it was created early because other lines refer to it. */
  readonly created: ObjectState | undefined
}

/**
 * Runs the lines in one unit of work, or in several if a line changes what an earlier one has changed. Error places begin with the
 * position of the command. Throws the errors of commands, and FailedLines.
 */
export async function runBatch(
  unit: UnitOfWork,
  commands: readonly BulkCommand[],
  settings: BatchSettings,
): Promise<readonly BulkDone[]> {
  try {
    return await runSegments(unit, commands, settings)
  } catch (error) {
    if (!settings.reportsAll || !(error instanceof AshlarError) || !isLineError(error)) throw error
    const failed = error.errors[0]?.place[0]
    if (typeof failed !== 'number') throw error
    const others = await unreadableLines(unit, commands, failed, settings)
    throw others.length === 0 ? error : new FailedLines(error, others)
  }
}

async function runSegments(
  unit: UnitOfWork,
  commands: readonly BulkCommand[],
  settings: BatchSettings,
): Promise<readonly BulkDone[]> {
  const { cuts = [], isExact = false } = settings
  if (isExact) {
    // A rehearsal finds by reads what a commit would refuse only at its end.
    await new PartsOfBatch(unit.rehearsal(), commands, settings).run(cuts)
    unit.transaction.restartAllocations()
  }
  if (isExact || cuts.length > 0) return new PartsOfBatch(unit, commands, settings).run(cuts)
  const batch = new Batch(unit, commands, settings)
  const packed = await batch.createAllPacked()
  if (packed !== undefined) return packed
  const plan = await batch.plan()
  return plan.ends.length > 1 ? new PartsOfBatch(unit, commands, settings).run(cuts, plan) : batch.run()
}

/** Several units of work, each of which is written before the next one begins; what may be mended later is judged at the end (contract 10.4.12). */
class PartsOfBatch {
  private readonly unit: UnitOfWork
  private readonly commands: readonly BulkCommand[]
  private readonly settings: BatchSettings
  private readonly names: Map<string, Oid | undefined>
  private readonly deferred = new DeferredChecks()
  private readonly done: BulkDone[] = []

  constructor(unit: UnitOfWork, commands: readonly BulkCommand[], settings: BatchSettings) {
    this.unit = unit
    this.commands = commands
    this.settings = settings
    this.names = new Map(settings.names)
  }

  /** `cuts`: as in the settings. `plan`: if there are no cuts, and it has been made. */
  async run(cuts: readonly number[], plan?: BatchPlan): Promise<readonly BulkDone[]> {
    for (const [i, from] of [0, ...cuts].entries()) await this.runSegment(from, cuts[i] ?? this.commands.length, plan)
    try {
      if (!this.deferred.isEmpty) await this.deferred.judge(this.unit.another())
    } catch (error) {
      throw error instanceof StepFailure ? within(error.step - 1, error.cause) : error
    }
    return this.done
  }

  private async runSegment(from: number, to: number, plan?: BatchPlan): Promise<void> {
    const segment = this.commands.slice(from, to)
    const { ends, ids, existing } = plan ?? (await this.planOf(from, to))
    for (const [id, oid] of existing) this.names.set(id, oid)
    let start = 0
    for (const end of ends) {
      const unit = this.unit.another()
      unit.deferred = this.deferred.during()
      this.deferred.step = from + start + 1
      await placed(from + start, async () => {
        const batch = new Batch(unit, segment.slice(start, end), this.settingsNow, (at) => ids.get(start + at))
        for (const one of await batch.run()) this.done.push(one)
        await flushObjects(unit)
      })
      for (let at = start; at < end; at++) {
        for (const id of idsOf(segment[at], ids.get(at))) this.names.set(id, this.done[from + at]?.oid)
      }
      start = end
    }
  }

  private async planOf(from: number, to: number): Promise<BatchPlan> {
    const segment = this.commands.slice(from, to)
    try {
      return await placed(from, () => new Batch(this.unit.another(), segment, this.settingsNow).plan())
    } catch (error) {
      const failed =
        error instanceof AshlarError && this.settings.isExact === true ? error.errors[0]?.place[0] : undefined
      const before =
        typeof failed === 'number' ? [...divisions(segment)].findLast((end) => from + end <= failed) : undefined
      // A line before it may fail too, and is then the one to report.
      if (before !== undefined) await this.runSegment(from, from + before)
      throw error
    }
  }

  private get settingsNow(): BatchSettings {
    return { ...this.settings, names: this.names }
  }
}

/** Moves places of errors from positions in a part to those in the batch. */
async function placed<T>(from: number, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw withPositions(error, (position) => from + position)
  }
}

/** How lines are divided into parts. */
interface BatchPlan {
  readonly ends: readonly number[]
  /** By the position of the first line of an object: all of the object's ids, some of which later lines give it. */
  readonly ids: ReadonlyMap<number, readonly string[]>
  /** Ids of objects that exist before the batch. */
  readonly existing: ReadonlyMap<string, Oid>
}

/** The id that a line gives its object, and `planned` ones. */
function idsOf(command: BulkCommand | undefined, planned: readonly string[] | undefined): readonly string[] {
  const own = command?.kind === 'create' && command.id !== undefined ? [command.id] : []
  return planned === undefined ? own : [...own, ...planned]
}

class Batch {
  private readonly unit: UnitOfWork
  private readonly commands: readonly BulkCommand[]
  private readonly settings: BatchSettings
  private readonly names = new Map<string, Oid>()
  private readonly oidOf: OidOf
  private readonly resolved: (Resolved | undefined)[] = []
  private keys: Promise<LineKeys> | undefined
  private readonly planned: (position: number) => readonly string[] | undefined

  /** `planned`: ids as in the plan. */
  constructor(
    unit: UnitOfWork,
    commands: readonly BulkCommand[],
    settings: BatchSettings,
    planned: (position: number) => readonly string[] | undefined = () => undefined,
  ) {
    this.unit = unit
    this.planned = planned
    this.commands = commands
    this.settings = settings
    this.oidOf = (id) => {
      const oid = this.names.get(id) ?? settings.names.get(id)
      if (oid === undefined) throw unknownName(id)
      return oid
    }
  }

  async run(): Promise<readonly BulkDone[]> {
    const { commands } = this
    if (this.hasKeys) await this.resolveByKeys()
    else if (commands.some((_, position) => this.idsAt(position).length > 0)) await this.createNamed()
    await this.loadTargets()
    const done: BulkDone[] = []
    await this.each(async (command, position) => {
      this.unit.position = position
      done.push(await this.execute(command, position))
    })
    return done
  }

  /** Throws the errors of lines whose key cannot be read, and of `partsOf`. */
  async plan(): Promise<BatchPlan> {
    const { commands, settings } = this
    const changes = keyChangesOf(this.unit.visibleCatalog)
    const seesStored = (command: BulkCommand): boolean => mustSeeStored(command, changes, settings.upsertOn)
    // What a caller with restricted permissions may see depends on the lines before.
    const isExact = settings.isExact === true || this.unit.guard !== undefined
    if (!isExact && !this.hasKeys && (await this.areCreations(seesStored))) {
      return { ends: [commands.length], ids: new Map(), existing: new Map() }
    }
    const { keys, ofLines } = await this.lookUpKeys()
    const objects: (string | undefined)[] = []
    const existing = new Map<string, Oid>()
    const firstOf = new Map<string, number>()
    const creators = new Map<string, number>()
    const ids = new Map<number, string[]>()
    const byId = new Map<string, string>()
    let hasDeletions = false
    for (const [position, command] of commands.entries()) {
      const pause = position % 4 === 0 ? settings.between() : undefined
      if (pause !== undefined) await pause
      const key = ofLines[position]
      const holder = key === undefined ? undefined : await this.seen(keys.holderOf(key))
      const keyed = key === undefined ? undefined : (holder ?? `key ${key}`)
      const object = keyed ?? this.objectOf(command, position, byId)
      objects.push(object)
      hasDeletions ||= command.kind === 'delete'
      if (object === undefined) continue
      const first = firstOf.get(object) ?? position
      firstOf.set(object, first)
      if (command.kind !== 'create' || command.id === undefined) continue
      const { id } = command
      byId.set(id, object)
      // A deletion may have deleted the holder with others: the line then creates an object.
      if (hasDeletions) creators.set(id, position)
      else if (holder === undefined) creators.set(id, first)
      else existing.set(id, holder)
      const others = ids.get(first)
      if (others === undefined) ids.set(first, [id])
      else others.push(id)
    }
    const parts = await partsOf(commands, { ofLines: objects, creators, mustSeeStored: seesStored })
    const ends = isExact ? [...divisions(commands, creators)] : parts
    return { ends, ids, existing }
  }

  /** Whether all lines create objects, without seeing what is stored of others. */
  private async areCreations(seesStored: (command: BulkCommand) => boolean): Promise<boolean> {
    for (const [position, command] of this.commands.entries()) {
      const pause = position % 4 === 0 ? this.settings.between() : undefined
      if (pause !== undefined) await pause
      if (command.kind !== 'create' || seesStored(command)) return false
    }
    return true
  }

  /** `byId`: the objects of earlier lines. Undefined for an OID that is malformed or unknown, which is refused when the line is run. */
  private objectOf(command: BulkCommand, position: number, byId: ReadonlyMap<string, string>): string | undefined {
    if (command.kind === 'create') return command.id === undefined ? undefined : `line ${position}`
    const { target } = command
    if (!('oid' in target)) return undefined
    const [id] = referredIn(target.oid) ?? []
    return id === undefined ? parseOid(target.oid) : (byId.get(id) ?? this.settings.names.get(id))
  }

  private idsAt(position: number): readonly string[] {
    return idsOf(this.commands[position], this.planned(position))
  }

  private get hasKeys(): boolean {
    return this.commands.some((command) => isKeyed(command, this.settings.upsertOn))
  }

  /** Used if all lines create objects from given values. Returns undefined if they have to be executed one by one. */
  async createAllPacked(): Promise<readonly BulkDone[] | undefined> {
    const { commands, unit, settings } = this
    if (settings.upsertOn !== undefined || !commands.every(isPlainCreation)) return undefined
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
      if (command.kind === 'create' && this.idsAt(position).length > 0) await this.createAhead(command, position)
    })
  }

  private async createAhead(command: BulkCreate, position: number): Promise<ObjectState> {
    const { cls } = await readCreateObject(this.unit.commandCatalog, command.class, {})
    const created = await beginObject(this.unit, cls, position)
    this.resolved[position] = { target: undefined, created }
    for (const id of this.idsAt(position)) this.names.set(id, created.oid)
    return created
  }

  /** All keys are looked up together, once. */
  private lookUpKeys(): Promise<LineKeys> {
    this.keys ??= this.readKeys()
    return this.keys
  }

  private async readKeys(): Promise<LineKeys> {
    const keys = new UniqueKeys(this.unit)
    const ofLines: (KeyText | undefined)[] = []
    await this.each(async (command, position) => {
      if (isKeyed(command, this.settings.upsertOn)) ofLines[position] = await this.keyOf(command, keys)
    })
    await keys.find(ofLines.filter((key) => key !== undefined))
    return { keys, ofLines }
  }

  /** Resolves targets given by unique keys. */
  private async resolveByKeys(): Promise<void> {
    const { keys, ofLines } = await this.lookUpKeys()
    await this.each(async (command, position) => {
      const key = ofLines[position]
      const holder = key === undefined ? undefined : await this.seen(keys.holderOf(key))
      if (command.kind === 'create') {
        if (holder === undefined) {
          await this.createAhead(command, position)
          return
        }
        for (const id of this.idsAt(position)) this.names.set(id, holder)
      } else {
        if (!('key' in command.target)) return
        if (holder === undefined) throw noSuchKey(command.target.key)
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
    return { oid: state.oid, change: 'created' }
  }

  private async update(command: BulkUpdate | BulkCreate, oid: Oid, position: number): Promise<BulkDone> {
    const { unit } = this
    const attributes = this.attributesOf(command)
    await updateObject(unit, readUpdateObject(unit.commandCatalog, oid, attributes, command.class))
    const state = unit.objects.loaded(oid)
    // A failure found at flush is reported for the line that changed the object last.
    if (state !== undefined) state.position = position
    return { oid, change: 'updated' }
  }

  private async delete({ target }: BulkDelete, position: number): Promise<BulkDone> {
    const oid = this.targetOf(target, position)
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
        throw within(position, error)
      }
    }
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
