/** What one catalog is for callers with the same grants: its classes, its rules and its restricted form, each made when it is first needed. */
import { accessSampleBytesMax } from '../limits.ts'
import type { UserValue } from '../query/values/user.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Awaitable, Bytes, Entry } from '../store/store.ts'
import { atOnce, inTurns } from '../store/time-slice.ts'
import type { AttributeNumber, ClassNumber, ShapeNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { Grant, RuledAction } from './access-policy.ts'
import { ClassAccess, type ObjectsAllowed } from './class-access.ts'
import type { KeptAccess, KeptAccesses } from './kept-accesses.ts'
import { ObjectRules } from './object-rules.ts'
import { RecordReferences } from './record-references.ts'
import { RecordRules } from './record-rules.ts'
import { restrictedCatalog } from './restricted-catalog.ts'

/** What is seen of the objects of one shape. */
export interface ShapeAccess {
  readonly classNumber: ClassNumber
  readonly objects: ObjectsAllowed
  readonly references: RecordReferences
  /** Every one of them, as it is stored. */
  readonly isWhole: boolean
}

/** For callers without a `$$USER`. */
const noUser = {}

const sampleBytesMax = 4_096

/** About what a class takes in a catalog, an attribute of it, with those that it inherits, and what is made of a class when an object of it is read. */
const [classBytes, attributeBytes, shapeBytes] = [1_500, 250, 500]

const measured = new WeakMap<Catalog, number>()

/** Counted once: a catalog does not change. By definitions: the attributes of a class are made when they are asked for, and of thousands of classes they are much. */
function bytesOf(catalog: Catalog): number {
  let bytes = measured.get(catalog)
  if (bytes === undefined) {
    const counts = new Map<ClassNumber, number>()
    bytes = catalog.classes.length * classBytes
    for (const cls of catalog.classes) bytes += attributeCount(cls, counts) * attributeBytes
    measured.set(catalog, bytes)
  }
  return bytes
}

/** `counts`: of classes that were counted before. */
function attributeCount({ number, definition, superClass }: SchemaClass, counts: Map<ClassNumber, number>): number {
  let count = counts.get(number)
  if (count === undefined) {
    count = definition.attributes.length + (superClass === null ? 0 : attributeCount(superClass, counts))
    counts.set(number, count)
  }
  return count
}

/** Told what becomes of one that is kept. */
interface Keeper {
  /** It takes much more memory than it did. */
  grown(): void
  forgotten(): void
}

export class CatalogAccess implements KeptAccess {
  readonly catalog: Catalog
  readonly classes: ClassAccess
  readonly rules: ObjectRules
  private readonly shapes = new Map<ShapeNumber, ShapeAccess>()
  private readonly byClass = new Map<ClassNumber, ShapeAccess>()
  private shown: Catalog | undefined
  private preparing: Promise<this> | undefined
  private readonly rulesOf = new WeakMap<object, RecordRules>()
  private readonly samples = new Map<ClassNumber, Entry>()
  private sampleBytes = 0
  private readonly keeper: Keeper | undefined

  /** `keeper`: where it is kept. */
  constructor(catalog: Catalog, grants: readonly Grant[], ruleTokensMax: number, keeper?: Keeper) {
    this.keeper = keeper
    this.catalog = catalog
    this.classes = new ClassAccess(catalog, grants)
    this.rules = new ObjectRules(recordFormats(catalog), ruleTokensMax)
  }

  /** As the caller knows it; made at once where nobody has prepared it. */
  get restricted(): Catalog {
    this.shown ??= atOnce(restrictedCatalog(this.classes))
    return this.shown
  }

  /** See `KeptAccess`. Rules are of grants, which are bounded. */
  get bytes(): number {
    const { shown } = this
    return this.sampleBytes + (shown === undefined ? 0 : bytesOf(shown)) + this.byClass.size * shapeBytes
  }

  forget(): void {
    this.keeper?.forgotten()
  }

  get isPrepared(): boolean {
    return this.shown !== undefined
  }

  /** What the caller knows of a catalog of thousands of classes is made with turns for others in between, once for all who wait for it. */
  prepared(): Awaitable<this> {
    if (this.shown !== undefined) return this
    this.preparing ??= this.prepare()
    return this.preparing
  }

  private async prepare(): Promise<this> {
    try {
      const shown = await inTurns(restrictedCatalog(this.classes))
      this.shown ??= shown
      this.keeper?.grown()
      return this
    } finally {
      this.preparing = undefined
    }
  }

  /** Throws ReadSkew where the catalog has no such shape. */
  ofShape(number: ShapeNumber): ShapeAccess {
    let access = this.shapes.get(number)
    if (access === undefined) {
      const { cls } = recordFormats(this.catalog).ofShape(number)
      access = this.ofClass(cls.number) as ShapeAccess
      this.shapes.set(number, access)
    }
    return access
  }

  /** Undefined where the catalog has no such class. */
  ofClass(number: ClassNumber): ShapeAccess | undefined {
    const known = this.byClass.get(number)
    if (known !== undefined) return known
    const cls = this.catalog.classByNumber(number)
    if (cls === undefined) return undefined
    const references = new RecordReferences(recordFormats(this.catalog).of(cls), this.classes)
    const objects = this.classes.objects(cls, 'read')
    const access = { classNumber: number, objects, references, isWhole: objects === 'all' && references.areNone }
    this.byClass.set(number, access)
    return access
  }

  /** Those to which that may be done. */
  objectsOf(number: ClassNumber, action: RuledAction): ObjectsAllowed {
    const cls = this.catalog.classByNumber(number)
    return cls === undefined ? 'none' : this.classes.objects(cls, action)
  }

  /** For one of the callers, as long as its policy is kept. */
  recordRules(database: OpenDatabase, user: UserValue): RecordRules {
    const kept = this.rulesOf.get(user ?? noUser)
    if (kept !== undefined) return kept
    const made = new RecordRules(this.catalog, this.rules, database, user)
    this.rulesOf.set(user ?? noUser, made)
    return made
  }

  /** For work that is done in vain on purpose, see `Visibility.pretend`. */
  sampleOf(number: ClassNumber): Entry | undefined {
    return this.samples.get(number)
  }

  /** A copy of one short record of each class is kept. */
  keepSample(number: ClassNumber, key: Bytes, record: Bytes): void {
    if (this.samples.has(number) || record.length > sampleBytesMax) return
    const bytes = key.length + record.length + shapeBytes
    if (this.sampleBytes + bytes > accessSampleBytesMax) return
    this.sampleBytes += bytes
    this.samples.set(number, { key: Buffer.from(key), value: Buffer.from(record) })
  }

  /** Of a map whose keys are references. */
  isMapByReference(attribute: AttributeNumber): boolean {
    const spec = this.catalog.attribute(attribute)?.spec
    return spec?.logicalType === 'map' && spec.key.logicalType === 'reference'
  }
}

/** Of callers with the same grants: a transaction that changes the schema has one after the other. */
const catalogsMax = 4

/** One for each catalog that is in use. */
export class CatalogAccesses {
  private readonly grants: readonly Grant[]
  private readonly ruleTokensMax: number
  private readonly kept: KeptAccesses
  private readonly made = new WeakMap<Catalog, CatalogAccess>()
  /** The last ones: of older catalogs nothing is asked any more. */
  private recent: CatalogAccess[] = []

  constructor(grants: readonly Grant[], ruleTokensMax: number, kept: KeptAccesses) {
    this.grants = grants
    this.ruleTokensMax = ruleTokensMax
    this.kept = kept
  }

  of(catalog: Catalog): CatalogAccess {
    let access = this.made.get(catalog)
    if (access === undefined) {
      access = this.make(catalog)
      const eldest = this.recent.length > catalogsMax ? this.recent[0] : undefined
      if (eldest !== undefined) this.kept.drop(eldest)
    }
    this.kept.use(access)
    return access
  }

  private make(catalog: Catalog): CatalogAccess {
    const access: CatalogAccess = new CatalogAccess(catalog, this.grants, this.ruleTokensMax, {
      grown: () => this.kept.bound(access),
      forgotten: () => {
        this.made.delete(catalog)
        this.recent = this.recent.filter((one) => one !== access)
      },
    })
    this.made.set(catalog, access)
    this.recent.push(access)
    return access
  }
}
