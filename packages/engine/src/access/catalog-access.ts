/** Access of callers with the same grants to one catalog: class access, compiled rules and the restricted catalog, each created on demand. */
import { accessSampleBytesMax } from '../limits.ts'
import type { UserValue } from '../query/values/user.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Awaitable, Bytes, Entry } from '../store/store.ts'
import { runToEnd, runYielding } from '../store/time-slice.ts'
import type { AttributeNumber, ClassNumber, ShapeNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { Grant, RuledAction } from './access-policy.ts'
import { ClassAccess, type ObjectsAllowed } from './class-access.ts'
import type { AccessCache, CachedAccess } from './kept-accesses.ts'
import { ObjectRules } from './object-rules.ts'
import { RecordReferences } from './record-references.ts'
import { RecordRules } from './record-rules.ts'
import { restrictedCatalog } from './restricted-catalog.ts'

/** Access to the objects of one shape. */
export interface ShapeAccess {
  readonly classNumber: ClassNumber
  readonly objects: ObjectsAllowed
  readonly references: RecordReferences
  /** All objects are visible exactly as stored. */
  readonly isFullyVisible: boolean
}

/** Key for callers without a `$$USER`. */
const noUser = {}

const sampleBytesMax = 4_096

/** Approximate memory of a class in a catalog, of an attribute including inherited ones, and of the access to the objects of a class. */
const [classBytes, attributeBytes, shapeBytes] = [1_500, 250, 500]

const measuredBytes = new WeakMap<Catalog, number>()

/** Cached per catalog, which is immutable. Counts definitions, since classes create their attributes on demand. */
function bytesOf(catalog: Catalog): number {
  let bytes = measuredBytes.get(catalog)
  if (bytes === undefined) {
    const counts = new Map<ClassNumber, number>()
    bytes = catalog.classes.length * classBytes
    for (const cls of catalog.classes) bytes += attributeCount(cls, counts) * attributeBytes
    measuredBytes.set(catalog, bytes)
  }
  return bytes
}

/** `counts`: classes that are counted already. */
function attributeCount({ number, definition, superClass }: SchemaClass, counts: Map<ClassNumber, number>): number {
  let count = counts.get(number)
  if (count === undefined) {
    count = definition.attributes.length + (superClass === null ? 0 : attributeCount(superClass, counts))
    counts.set(number, count)
  }
  return count
}

/** Notified about a cached access. */
interface CacheOwner {
  /** Its memory has grown considerably. */
  onGrowth(): void
  onEviction(): void
}

export class CatalogAccess implements CachedAccess {
  readonly catalog: Catalog
  readonly classes: ClassAccess
  readonly rules: ObjectRules
  private readonly shapes = new Map<ShapeNumber, ShapeAccess>()
  private readonly byClass = new Map<ClassNumber, ShapeAccess>()
  private restrictedForm: Catalog | undefined
  private preparing: Promise<this> | undefined
  private readonly rulesOf = new WeakMap<object, RecordRules>()
  private readonly samples = new Map<ClassNumber, Entry>()
  private sampleBytes = 0
  private readonly owner: CacheOwner | undefined

  /** `owner`: the cache that contains it. */
  constructor(catalog: Catalog, grants: readonly Grant[], ruleTokensMax: number, owner?: CacheOwner) {
    this.owner = owner
    this.catalog = catalog
    this.classes = new ClassAccess(catalog, grants)
    this.rules = new ObjectRules(recordFormats(catalog), ruleTokensMax)
  }

  /** The restricted catalog; created synchronously unless `prepared` was called before. */
  get restricted(): Catalog {
    this.restrictedForm ??= runToEnd(restrictedCatalog(this.classes))
    return this.restrictedForm
  }

  /** See `CachedAccess`. Rules are not counted: their number is bounded by the grants. */
  get bytes(): number {
    const { restrictedForm } = this
    return (
      this.sampleBytes + (restrictedForm === undefined ? 0 : bytesOf(restrictedForm)) + this.byClass.size * shapeBytes
    )
  }

  evict(): void {
    this.owner?.onEviction()
  }

  get isPrepared(): boolean {
    return this.restrictedForm !== undefined
  }

  /** Creates the restricted catalog of thousands of classes in steps, once for all concurrent callers. */
  prepared(): Awaitable<this> {
    if (this.restrictedForm !== undefined) return this
    this.preparing ??= this.prepare()
    return this.preparing
  }

  private async prepare(): Promise<this> {
    try {
      const restrictedForm = await runYielding(restrictedCatalog(this.classes))
      this.restrictedForm ??= restrictedForm
      this.owner?.onGrowth()
      return this
    } finally {
      this.preparing = undefined
    }
  }

  /** Throws ReadSkew where the catalog has no such shape. */
  forShape(number: ShapeNumber): ShapeAccess {
    let access = this.shapes.get(number)
    if (access === undefined) {
      const { cls } = recordFormats(this.catalog).forShape(number)
      access = this.forClass(cls.number) as ShapeAccess
      this.shapes.set(number, access)
    }
    return access
  }

  /** Undefined where the catalog has no such class. */
  forClass(number: ClassNumber): ShapeAccess | undefined {
    const cached = this.byClass.get(number)
    if (cached !== undefined) return cached
    const cls = this.catalog.classByNumber(number)
    if (cls === undefined) return undefined
    const references = new RecordReferences(recordFormats(this.catalog).of(cls), this.classes)
    const objects = this.classes.objects(cls, 'read')
    const access = { classNumber: number, objects, references, isFullyVisible: objects === 'all' && references.areNone }
    this.byClass.set(number, access)
    return access
  }

  /** The objects on which the action is allowed. */
  objectsOf(number: ClassNumber, action: RuledAction): ObjectsAllowed {
    const cls = this.catalog.classByNumber(number)
    return cls === undefined ? 'none' : this.classes.objects(cls, action)
  }

  /** Shared by the requests of a caller as long as its policy is cached. */
  recordRules(database: OpenDatabase, user: UserValue): RecordRules {
    let rules = this.rulesOf.get(user ?? noUser)
    if (rules === undefined) {
      rules = new RecordRules(this.catalog, this.rules, database, user)
      this.rulesOf.set(user ?? noUser, rules)
    }
    return rules
  }

  /** A record for simulated decisions; see `Visibility.simulateDecision`. */
  sampleOf(number: ClassNumber): Entry | undefined {
    return this.samples.get(number)
  }

  /** Copies one short record of each class. */
  addSample(number: ClassNumber, key: Bytes, record: Bytes): void {
    if (this.samples.has(number) || record.length > sampleBytesMax) return
    const bytes = key.length + record.length + shapeBytes
    if (this.sampleBytes + bytes > accessSampleBytesMax) return
    this.sampleBytes += bytes
    this.samples.set(number, { key: Buffer.from(key), value: Buffer.from(record) })
  }

  /** A map whose keys are references. */
  isMapByReference(attribute: AttributeNumber): boolean {
    const spec = this.catalog.attribute(attribute)?.spec
    return spec?.logicalType === 'map' && spec.key.logicalType === 'reference'
  }
}

/** For the same grants: a transaction that changes the schema has several catalogs in succession. */
const catalogsMax = 4

/** One access per catalog in use. */
export class CatalogAccesses {
  private readonly grants: readonly Grant[]
  private readonly ruleTokensMax: number
  private readonly cache: AccessCache
  private readonly byCatalog = new WeakMap<Catalog, CatalogAccess>()
  /** The most recent ones: older catalogs are not used any more. */
  private recent: CatalogAccess[] = []

  constructor(grants: readonly Grant[], ruleTokensMax: number, cache: AccessCache) {
    this.grants = grants
    this.ruleTokensMax = ruleTokensMax
    this.cache = cache
  }

  of(catalog: Catalog): CatalogAccess {
    let access = this.byCatalog.get(catalog)
    if (access === undefined) {
      access = this.create(catalog)
      const oldest = this.recent.length > catalogsMax ? this.recent[0] : undefined
      if (oldest !== undefined) this.cache.drop(oldest)
    }
    this.cache.use(access)
    return access
  }

  private create(catalog: Catalog): CatalogAccess {
    const access: CatalogAccess = new CatalogAccess(catalog, this.grants, this.ruleTokensMax, {
      onGrowth: () => this.cache.bound(access),
      onEviction: () => {
        this.byCatalog.delete(catalog)
        this.recent = this.recent.filter((one) => one !== access)
      },
    })
    this.byCatalog.set(catalog, access)
    this.recent.push(access)
    return access
  }
}
