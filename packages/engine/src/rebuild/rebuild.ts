/**
 * Recreates the content of another federated database: classes with their numbers, objects with their OIDs, and links in order on both sides.
 * Objects are created before their attributes are set, since references may be circular.
 */
import { RequestMemory } from '../budget/request-memory.ts'
import { catalogVersionKey } from '../bytes/key-space.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import type { CatalogWriter } from '../ddl/catalog-writer.ts'
import { buildContext } from '../ddl/index-builds.ts'
import { AshlarError, truncateForMessage } from '../errors.ts'
import { buildIndexEntries } from '../indexes/build.ts'
import { firstContainer, firstDatabase, linksPerTransactionMax } from '../limits.ts'
import { updateObject } from '../objects/update.ts'
import { containersWith, type UsedPage } from '../records/container-registry.ts'
import { recordFormats } from '../records/record-formats.ts'
import { noteTextOf, textOf } from '../requests/json-source.ts'
import { readDefineClassesSteps } from '../requests/read-class-descriptions.ts'
import { type Attributes, readUpdateObject } from '../requests/read-object-command.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Attribute, CatalogState, ClassDefinition } from '../schema/class-definition.ts'
import { defineClassesYielding } from '../schema/define-classes.ts'
import { withReadyIndex } from '../schema/index-definition.ts'
import type { Check } from '../schema/properties/checks.ts'
import { type UniqueAttribute, withIndexesFor } from '../schema/unique-indexes.ts'
import { runYieldingIfLong } from '../store/time-slice.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { checkedOid, compareOids, containerNumberOf, type Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import { flushObjects } from '../write/flush.ts'
import { unitExpressions } from '../write/object-expressions.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { transactWithCatalog } from '../write/transact-with-catalog.ts'
import { makeSequences, requireNoClasses } from './make-sequences.ts'
import { RebuildingUnit } from './rebuilding-unit.ts'

export interface RebuildSource {
  readonly classes: readonly unknown[]
  readonly indexes: readonly unknown[]
  readonly sequences?: readonly unknown[]
  /** Iterates all objects on each call, in ascending order of OIDs; each part becomes one transaction. */
  objects(): AsyncIterable<readonly Attributes[]>
}

export interface RebuildOptions {
  readonly signal?: CancelSignal | undefined
  /** `done`: number of objects in this step. */
  readonly onProgress?: ((step: 'reading' | 'creating' | 'filling', done: number) => void) | undefined
}

interface Named {
  readonly oid: Oid
  readonly className: string
  readonly attributes: Attributes
}

/** Throws an AshlarError if the source is inconsistent or the database already has classes, and the signal's reason. */
export async function rebuild(
  database: OpenDatabase,
  writer: CatalogWriter,
  source: RebuildSource,
  options: RebuildOptions,
): Promise<void> {
  await makeSequences(database, writer, source.sequences ?? [])
  const keys = await makeClasses(database, writer, source.classes)
  await new Rebuild(database, source, options).run()
  await buildUniqueIndexes(database, writer, keys, options.signal)
}

/** Returns the unique attributes, which have no indexes yet. */
async function makeClasses(
  database: OpenDatabase,
  writer: CatalogWriter,
  classes: readonly unknown[],
): Promise<readonly UniqueAttribute[]> {
  const read = await runYieldingIfLong(readDefineClassesSteps(classes, 'create'))
  const command = { ...read, numbers: classes.map(numberOf) }
  return writer.change(async (catalog) => {
    requireNoClasses(catalog)
    const first = catalog.state.counters.classOrShape
    const numbers = new Set(command.numbers)
    if (numbers.size < classes.length || command.numbers.some((number) => !(number >= first && number < 2 ** 31))) {
      throw new AshlarError(
        'InvalidDefinition',
        `The classNumbers of the classes are not different numbers from ${first} on.`,
      )
    }
    const { classAttributesMax } = database.limits
    const { state, newKeys } = await runYieldingIfLong(
      defineClassesYielding(catalog, command, { attributesMax: classAttributesMax, expressions: database.expressions }),
    )
    return { state: withoutValidation(state, classes as readonly RepresentedClass[]), result: newKeys }
  })
}

/** What a class shows of constraints and checks that its objects may violate. */
interface RepresentedClass {
  readonly className: string
  readonly attributes: readonly { readonly attributeName: string; readonly isValidated?: boolean }[]
  readonly checks?: readonly { readonly name: string; readonly isValidated?: boolean }[]
}

function withoutValidation(state: CatalogState, represented: readonly RepresentedClass[]): CatalogState {
  const byName = new Map(represented.map((cls) => [cls.className, cls]))
  const classes = state.classes.map((definition) => {
    const { attributes = [], checks = [] } = byName.get(definition.name) ?? {}
    const isLeft = ({ isValidated }: { readonly isValidated?: boolean }): boolean => isValidated === false
    const names = new Set(attributes.filter(isLeft).map(({ attributeName }) => attributeName))
    const checkNames = new Set(checks.filter(isLeft).map(({ name }) => name))
    if (names.size === 0 && checkNames.size === 0) return definition
    return withoutValidationOf(definition, names, checkNames)
  })
  return { ...state, classes }
}

function withoutValidationOf(
  definition: ClassDefinition,
  names: ReadonlySet<string>,
  checkNames: ReadonlySet<string>,
): ClassDefinition {
  const attributes = definition.attributes.map((attribute): Attribute => {
    const { name, properties } = attribute
    if (!names.has(name) || properties === undefined) return attribute
    return { ...attribute, properties: { ...properties, isValidated: false } }
  })
  const { properties } = definition
  if (properties?.checks === undefined) return { ...definition, attributes }
  const checks = properties.checks.map((check): Check => {
    return checkNames.has(check.name) ? { ...check, isValidated: false } : check
  })
  return { ...definition, attributes, properties: { ...properties, checks } }
}

/** Of unique attributes, once all objects have what they hold. Throws UniqueViolation. */
async function buildUniqueIndexes(
  database: OpenDatabase,
  writer: CatalogWriter,
  keys: readonly UniqueAttribute[],
  signal: CancelSignal | undefined,
): Promise<void> {
  const session = database.session.number
  const added = await writer.change(async (catalog) => {
    const { state, added } = withIndexesFor(catalog.state, keys, { session })
    return { state, result: added }
  })
  for (const { number } of added) {
    await buildIndexEntries(buildContext(database), number, signal)
    await writer.change(async ({ state }) => ({ state: withReadyIndex(state, number), result: undefined }))
  }
}

function numberOf(description: unknown): ClassNumber {
  return Number((description as { readonly classNumber?: unknown }).classNumber) as ClassNumber
}

class Rebuild {
  private readonly database: OpenDatabase
  private readonly source: RebuildSource
  private readonly options: RebuildOptions
  /** For each OID, the names of lists too long for one transaction; they are filled in parts. */
  private readonly longLists = new Map<Oid, Set<string>>()

  constructor(database: OpenDatabase, source: RebuildSource, options: RebuildOptions) {
    this.database = database
    this.source = source
    this.options = options
  }

  async run(): Promise<void> {
    await this.reserveOids()
    await this.parts('creating', (part) => this.change((unit) => this.create(unit, part)))
    // Must precede all other links into these lists, so that the order of the parts is kept.
    if (this.longLists.size > 0) await this.parts('filling', (part) => this.fillLongLists(part))
    await this.parts('filling', (part) => this.change((unit) => this.fill(unit, part)))
  }

  /** Registers the class of each container, and reserves the OIDs up to the last one. */
  private async reserveOids(): Promise<void> {
    const { store, catalogs } = this.database
    const catalog = await withSnapshot(store, async (snapshot) => catalogs.at(snapshot))
    const used = new Map<number, UsedPage>()
    let before: Oid | undefined
    await this.parts('reading', async (part) => {
      for (const { oid, className } of part) {
        if (before !== undefined && compareOids(before, oid) >= 0)
          throw malformed(`Object ${oid} stands behind ${before}.`)
        before = oid
        noteOid(used, oid, classOf(catalog, oid, className))
      }
    })
    const changes = await withSnapshot(store, (snapshot) => containersWith(snapshot, used.values()))
    await store.commit({ changes, preconditions: [] })
  }

  private async parts(
    step: 'reading' | 'creating' | 'filling',
    use: (part: readonly Named[]) => Promise<void>,
  ): Promise<void> {
    const { signal, onProgress } = this.options
    let done = 0
    for await (const part of this.source.objects()) {
      signal?.throwIfAborted()
      await use(part.map(named))
      done += part.length
      onProgress?.(step, done)
    }
  }

  private async create(unit: RebuildingUnit, part: readonly Named[]): Promise<void> {
    for (const { oid, className, attributes } of part) {
      const format = unit.objects.formats.of(classOf(unit.catalog, oid, className))
      unit.objects.create(oid, format, undefined)
      for (const [name, value] of Object.entries(attributes)) {
        if (!Array.isArray(value) || value.length <= linksPerTransactionMax) continue
        if (format.attributeNamed(name)?.linkStorage === undefined) continue
        this.longLists.set(oid, (this.longLists.get(oid) ?? new Set()).add(name))
      }
    }
  }

  private isLong(oid: Oid, name: string): boolean {
    return this.longLists.get(oid)?.has(name) === true
  }

  private async fillLongLists(part: readonly Named[]): Promise<void> {
    for (const { oid, attributes } of part) {
      for (const [name, value] of Object.entries(attributes)) {
        if (!Array.isArray(value) || !this.isLong(oid, name)) continue
        for (let at = 0; at < value.length; at += linksPerTransactionMax) {
          const elements = value.slice(at, at + linksPerTransactionMax)
          await this.change((unit) => update(unit, oid, { [name]: { action: 'add', elements } }))
        }
      }
    }
  }

  private async fill(unit: RebuildingUnit, part: readonly Named[]): Promise<void> {
    await unit.objects.loadAll(part.map(({ oid }) => oid))
    const formats = recordFormats(unit.catalog)
    for (const { oid, className, attributes } of part) {
      const format = formats.of(classOf(unit.catalog, oid, className))
      const shortAttributes: Record<string, unknown> = Object.create(null)
      for (const [name, value] of Object.entries(attributes)) {
        if (this.isLong(oid, name)) continue
        const isMap = format.attributeNamed(name)?.attribute.spec.logicalType === 'map'
        shortAttributes[name] = isMap ? toMapOverride(value) : value
      }
      const text = textOf(attributes)
      if (text !== undefined) noteTextOf(shortAttributes, text)
      await update(unit, oid, shortAttributes)
    }
  }

  private async change(body: (unit: RebuildingUnit) => Promise<void>): Promise<void> {
    const { database } = this
    const { containers, session } = database
    const expressions = unitExpressions(database)
    const memory = new RequestMemory(database.memory, database.limits)
    try {
      await transactWithCatalog(
        database,
        async (transaction, catalog, recorder) => {
          transaction.requireRevision(catalogVersionKey, catalog.version)
          const unit = new RebuildingUnit(transaction, catalog, containers, session, recorder, expressions)
          await body(unit)
          await flushObjects(unit)
        },
        { memory, signal: this.options.signal },
      )
    } finally {
      memory.release()
    }
  }
}

async function update(unit: RebuildingUnit, oid: Oid, attributes: Attributes): Promise<void> {
  await updateObject(unit, readUpdateObject(unit.commandCatalog, oid, attributes, undefined))
}

/** Map keys may have any name, including `action`, which has a meaning in a change. */
function toMapOverride(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return { action: 'override', pairs: Object.entries(value).map(([key, one]) => ({ key, value: one })) }
}

function named(attributes: Attributes): Named {
  const { __identifier__: oid, __class__: className } = attributes
  if (typeof oid !== 'string' || typeof className !== 'string') {
    throw malformed('An object has no __identifier__, or no __class__.')
  }
  return { oid: checkedOid(oid), className, attributes }
}

function classOf(catalog: Catalog, oid: Oid, className: string): SchemaClass {
  const cls = catalog.findClass(className)
  if (cls?.isReferenceable === true && cls.name === className) return cls
  throw malformed(`Object ${oid} is of '${truncateForMessage(className)}', which is not a referenceable class.`)
}

function noteOid(used: Map<number, UsedPage>, oid: Oid, { number, name }: SchemaClass): void {
  const container = containerNumberOf(oid)
  const [page, slot] = oid.split('-').slice(2).map(Number) as [number, number]
  const before = used.get(container)
  const place = { database: container >>> 16, container: container & 0xffff }
  if (place.database < firstDatabase || place.container < firstContainer || page === 0 || slot === 0) {
    throw malformed(`No object has the OID ${oid}.`)
  }
  if (before !== undefined && before.classNumber !== number) {
    throw malformed(`Object ${oid} is of class ${name}, and others of its container are of another class.`)
  }
  used.set(container, { ...place, classNumber: number, page: Math.max(page, before?.page ?? 0) })
}

function malformed(message: string): AshlarError {
  return new AshlarError('MalformedValue', message)
}
