/** Restricts changes to the part visible to a caller with grants: as a database without the hidden data would have logged them (contract 9.4.14). */
import type { CatalogAccess, CatalogAccesses, ShapeAccess } from '../access/catalog-access.ts'
import { mayHide } from '../access/hidden-within.ts'
import { type CallerContext, Visibility } from '../access/visibility.ts'
import { keySpace } from '../bytes/key-space.ts'
import type { LoggedChange } from '../change-log/logged-change.ts'
import { AshlarError } from '../errors.ts'
import type { UserValue } from '../query/values/user.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { ownerOfKey } from '../records/link-keys.ts'
import { oidOfObjectKey } from '../records/object-key.ts'
import { shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { Catalog, SchemaClass } from '../schema/catalog.ts'
import type { Bytes, Snapshot } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import type { ChangeFilter } from './change-filter.ts'
import type { CatalogChange, LinkEntryChange } from './decode-change.ts'
import { seenSchemaChange } from './seen-schema.ts'

/** A follower with grants: their resolved form, and `$$USER`. */
export interface RestrictedFollower {
  readonly accesses: CatalogAccesses
  readonly user: UserValue
}

/** Why changes of a class cannot be reported exactly; undefined if they can. */
interface Reasons {
  readonly objectReason: string | undefined
  readonly attributeReasons: readonly {
    readonly format: AttributeFormat
    readonly isLink: boolean
    readonly reason: string
  }[]
}

const none: Reasons = { objectReason: undefined, attributeReasons: [] }

const cachedReasons = new WeakMap<CatalogAccess, Map<SchemaClass, Reasons>>()

export class SeenChanges {
  private readonly access: CatalogAccess
  private readonly visibility: Visibility

  private constructor(access: CatalogAccess, visibility: Visibility) {
    this.access = access
    this.visibility = visibility
  }

  /** `catalog` and `snapshot`: unrestricted. */
  static async on(
    snapshot: Snapshot,
    catalog: Catalog,
    database: OpenDatabase,
    { accesses, user }: RestrictedFollower,
    caller: Omit<CallerContext, 'user'>,
  ): Promise<SeenChanges> {
    const access = await accesses.of(catalog).prepared()
    return new SeenChanges(access, new Visibility(snapshot, access, database, { ...caller, user }))
  }

  /** The catalog as the caller sees it. */
  get catalog(): Catalog {
    return this.access.restricted
  }

  /**
   * Throws Forbidden if changes of the class, or of any class without one, cannot be reported exactly, because the data hidden when they were made is
   * unknown. `filter`: by the restricted catalog. `withLinks`: whether links are reported.
   */
  check(filter: ChangeFilter, withLinks: boolean): void {
    const { cls } = filter
    const classes = cls === undefined ? this.catalog.classes : [cls, ...cls.subclasses]
    for (const { number } of classes) {
      const { objectReason, attributeReasons } = inexactness(this.access, number)
      const inexact = attributeReasons.find(({ format, isLink }) => (withLinks || !isLink) && filter.includes(format))
      const reason = objectReason ?? inexact?.reason
      if (reason === undefined) continue
      const hint = cls === undefined ? ' Changes of one class are asked for by class.' : ''
      throw new AshlarError('Forbidden', `${reason}${hint}`)
    }
  }

  /** The part of the entry, before and after, that the caller may see; undefined if there is none. */
  async seen(logged: LoggedChange): Promise<LoggedChange | undefined> {
    const [space] = logged.key
    if (space === keySpace.link) return (await this.isClassSeen(ownerOfKey(logged.key))) ? logged : undefined
    if (space !== keySpace.object) return logged
    const { key, before, after } = logged
    const record = after ?? before
    const shape = record === undefined ? undefined : this.shapeOf(record)
    if (shape === undefined || shape.objects === 'none') return undefined
    if (shape.isFullyVisible) return logged
    const oid = oidOfObjectKey(key)
    const [visibleBefore, visibleAfter] = [
      await this.visible(oid, before, shape),
      await this.visible(oid, after, shape),
    ]
    return { key, before: visibleBefore, after: visibleAfter }
  }

  /** Undefined if the class has been deleted. */
  private shapeOf(record: Bytes): ShapeAccess | undefined {
    const { catalog } = this.access
    const number = shapeNumberOf(record)
    const shape = catalog.shape(number)
    if (shape === undefined || catalog.classByNumber(shape.classNumber) === undefined) return undefined
    return this.access.forShape(number)
  }

  private async visible(
    oid: Oid,
    record: Bytes | undefined,
    { objects, references }: ShapeAccess,
  ): Promise<Bytes | undefined> {
    if (record === undefined || objects === 'none') return undefined
    if (objects !== 'all' && !(await this.visibility.isSeenWith(oid, record, objects))) return undefined
    if (references.areNone) return record
    const targets = new Map<Oid, Bytes | undefined>()
    references.targets(record, targets)
    const hidden = new Set<Oid>()
    for (const target of targets.keys()) if (!(await this.isClassSeen(target))) hidden.add(target)
    return hidden.size === 0 ? record : references.without(record, (target) => !hidden.has(target))
  }

  /** Exact, since `check` has excluded rules about single objects of the class. */
  private async isClassSeen(oid: Oid): Promise<boolean> {
    return (await this.visibility.allowedIn(oid)) === 'all'
  }

  /** `link`: its owner must be visible. */
  async isLinkSeen({ change: { target } }: LinkEntryChange): Promise<boolean> {
    return target === undefined || (await this.isClassSeen(target))
  }

  schemaSeen(change: CatalogChange): readonly CatalogChange[] {
    return seenSchemaChange(change, this.access)
  }
}

/**
 * For objects of a class and its subclasses: `isSteady` if only commits change their part visible to the caller; `dependsOnRecordsOnly` if only
 * changes of these objects do. `classNumber`: of a class of the catalog.
 */
export function isConcernOfRecords(
  access: CatalogAccess,
  classNumber: ClassNumber,
): { readonly isSteady: boolean; readonly dependsOnRecordsOnly: boolean } {
  const { catalog, classes, rules } = access
  const cls = catalog.classByNumber(classNumber)
  const all = cls === undefined ? [] : [cls, ...cls.subclasses]
  const isUnsteady = all.some((one) => {
    const objects = classes.objects(one, 'read')
    return typeof objects !== 'string' && objects.some((rule) => rules.compile(rule)?.isUnsteady === true)
  })
  return {
    isSteady: !isUnsteady,
    dependsOnRecordsOnly: all.every(({ number }) => {
      const { objectReason, attributeReasons } = inexactness(access, number)
      return objectReason === undefined && attributeReasons.every(({ isLink }) => isLink)
    }),
  }
}

/** `number`: of a class. */
function inexactness(access: CatalogAccess, number: ClassNumber): Reasons {
  const cls = access.catalog.classByNumber(number)
  if (cls === undefined) return none
  let reasons = cachedReasons.get(access)
  if (reasons === undefined) {
    reasons = new Map()
    cachedReasons.set(access, reasons)
  }
  let found = reasons.get(cls)
  if (found === undefined) {
    found = reasonsOf(access, cls)
    reasons.set(cls, found)
  }
  return found
}

function reasonsOf(access: CatalogAccess, cls: SchemaClass): Reasons {
  const { classes, rules, catalog } = access
  const objects = classes.objects(cls, 'read')
  if (objects === 'none' || !cls.isReferenceable) return none
  const prefix = `Changes of ${cls.name} cannot be reported to this caller as they were visible to it:`
  const isUnfit = (objects === 'all' ? [] : objects).some((rule) => {
    const compiled = rules.compile(rule)
    return compiled !== undefined && (!compiled.isRecordOnly || compiled.isUnsteady)
  })
  const objectReason = isUnfit
    ? `${prefix} the rule for these objects depends on other objects or on the time, whose former state is not stored.`
    : undefined
  const visible = classes.attributesOf(cls)
  const attributeReasons = recordFormats(catalog)
    .of(cls)
    .attributes.filter(({ attribute }) => visible.has(attribute.number))
    .flatMap((format) => {
      const { attribute, linkStorage } = format
      const isRuled = mayHide(attribute.spec, classes, ['ruledReference'])
      if (linkStorage === undefined) {
        const reason = `${prefix} ${attribute.name} refers to objects that are visible by a rule, and their former state is not stored. Select other attributes by the parameter attributes.`
        return isRuled ? [{ format, isLink: false, reason }] : []
      }
      // For a removed pair, only the key is known.
      const isUnknown = linkStorage === 'map' && mayHide(attribute.spec, classes, ['reference'])
      const reason = `${prefix} links of ${attribute.name} are logged without the objects at their ends; where leaves links out, also where=TRUE.`
      return isRuled || isUnknown || objects !== 'all' ? [{ format, isLink: true, reason }] : []
    })
  return { objectReason, attributeReasons }
}
