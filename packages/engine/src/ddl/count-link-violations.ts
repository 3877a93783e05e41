/** Counts links of stored objects, and the objects that have too few or too many elements in collections stored as links (contract 10.5). */
import { readAndRequireLinkEntries } from '../links/attribute-links.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { type CheckSource, type ObjectConstraints, selectedConstraints } from '../records/constraints.ts'
import { type Container, listContainers } from '../records/container-registry.ts'
import { attributeOfKey, containerLinksRange, kindOfForm, kindOfKey, ownerOfKey } from '../records/link-keys.ts'
import { containerExtent, oidOfObjectKey } from '../records/object-key.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { StoredConstraints } from '../schema/alter-plan.ts'
import type { Catalog } from '../schema/catalog.ts'
import { type Constraint, compileConstraints } from '../schema/properties/index.ts'
import type { Snapshot } from '../store/store.ts'
import { compareOids, type Oid } from '../types/oid.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import type { Violations } from './violations.ts'

/** The limits on the number of links of an attribute. */
interface LinkLimits {
  readonly attribute: AttributeFormat
  readonly constraints: readonly Constraint[]
}

/** Only for attributes of the class that are stored as links. */
export function linkLimitsOf(format: ClassFormat, attributes: ReadonlySet<AttributeNumber>): LinkLimits[] {
  return format.linkAttributes.flatMap((attribute) => {
    const { number, spec, properties } = attribute.attribute
    if (properties === undefined || !attributes.has(number)) return []
    const { own } = compileConstraints(spec, properties)
    const constraints = own.filter(({ name }) => name === 'minItems' || name === 'maxItems')
    return constraints.length === 0 ? [] : [{ attribute, constraints }]
  })
}

export function violatedBy(count: number, { constraints }: LinkLimits): Constraint[] {
  return constraints.filter((one) => !one.isSatisfied({ length: count }))
}

/** `catalog`: defines the constraints. Reads only keys, in the order of objects, which is also the order of their links. */
export async function countLinkViolations(
  snapshot: Snapshot,
  catalog: Catalog,
  attributes: ReadonlySet<AttributeNumber>,
  newContainers: readonly Container[],
  violations: Violations,
): Promise<void> {
  const formats = recordFormats(catalog)
  for (const cls of catalog.classes) {
    const limits = cls.isReferenceable ? linkLimitsOf(formats.of(cls), attributes) : []
    if (limits.length === 0) continue
    const attributesCounted = limits.map(({ attribute }) => attribute)
    for (const container of await listContainers(snapshot, new Set([cls.number]), newContainers)) {
      const counter = new LinkCounter(snapshot, container, attributesCounted)
      const extent = containerExtent(container.database, container.container)
      for await (const batch of snapshot.scan(extent, oidOfObjectKey, { keysOnly: true })) {
        for (const oid of batch) {
          const own = await counter.countsOf(oid)
          for (const one of limits) addViolated(violations, one, own.get(one.attribute.attribute.number) ?? 0, oid)
        }
      }
    }
  }
}

interface LinkCounts {
  readonly owner: Oid
  readonly counts: ReadonlyMap<AttributeNumber, number>
}

const none: LinkCounts['counts'] = new Map()

/** Counts the links of the objects of one container. Reads only keys, once. */
export class LinkCounter {
  private readonly owners: AsyncGenerator<LinkCounts>
  private next: IteratorResult<LinkCounts> | undefined

  constructor(
    snapshot: Snapshot,
    { database, container }: Pick<Container, 'database' | 'container'>,
    attributes: readonly AttributeFormat[],
  ) {
    this.owners = countsByOwner(snapshot, database, container, attributes)
  }

  /** Must be called in the order of the objects. Attributes without links have no entry. */
  async countsOf(oid: Oid): Promise<LinkCounts['counts']> {
    this.next ??= await this.owners.next()
    while (this.next.done !== true && compareOids(this.next.value.owner, oid) < 0) this.next = await this.owners.next()
    return this.next.done !== true && this.next.value.owner === oid ? this.next.value.counts : none
  }
}

/** For owners with at least one link. */
async function* countsByOwner(
  snapshot: Snapshot,
  database: number,
  container: number,
  attributes: readonly AttributeFormat[],
): AsyncGenerator<LinkCounts> {
  const kinds = new Map(attributes.map((attribute) => [attribute.attribute.number, kindOf(attribute)]))
  const read = (key: Uint8Array): { owner: Oid; number: AttributeNumber } | undefined => {
    const number = attributeOfKey(key)
    return kinds.get(number) === kindOfKey(key) ? { owner: ownerOfKey(key), number } : undefined
  }
  let owner: Oid | undefined
  let counts = new Map<AttributeNumber, number>()
  for await (const batch of snapshot.scan(containerLinksRange(database, container), read, { keysOnly: true })) {
    for (const link of batch) {
      if (link === undefined) continue
      if (owner !== undefined && link.owner !== owner) {
        yield { owner, counts }
        counts = new Map()
      }
      owner = link.owner
      counts.set(link.number, (counts.get(link.number) ?? 0) + 1)
    }
  }
  if (owner !== undefined) yield { owner, counts }
}

function kindOf({ linkStorage }: AttributeFormat): number | undefined {
  return linkStorage === undefined ? undefined : kindOfForm[linkStorage]
}

function addViolated(violations: Violations, limits: LinkLimits, count: number, oid: Oid): void {
  const { attribute } = limits.attribute
  for (const { name } of violatedBy(count, limits)) {
    violations.add(attribute.declaringClass.name, attribute, name, oid)
  }
}

/** The commit requires links that the constraints count to be unchanged. */
export async function requireCountedLinks(
  unit: UnitOfWork,
  oids: readonly Oid[],
  constraints: StoredConstraints,
  expressions: CheckSource,
): Promise<void> {
  const { formats } = unit.objects
  const constraintsOf = selectedConstraints(constraints, expressions)
  const counted = new Map<ClassFormat, ReadonlySet<AttributeFormat>>()
  for (const cls of unit.catalog.classes) {
    if (!cls.isReferenceable) continue
    const format = formats.of(cls)
    const limited = linkLimitsOf(format, constraints.attributes).map(({ attribute }) => attribute)
    const attributes = new Set([...limited, ...linksCountedBy(constraintsOf(format, formats), format)])
    if (attributes.size > 0) counted.set(format, attributes)
  }
  if (counted.size === 0) return
  await unit.objects.loadAll(oids)
  for (const oid of oids) {
    const format = unit.objects.loaded(oid)?.format
    const attributes = format === undefined ? undefined : counted.get(format)
    for (const attribute of attributes ?? []) await readAndRequireLinkEntries(unit.transaction, oid, attribute)
  }
}

/** The collections that checks count. */
export function linksCountedBy(constraints: ObjectConstraints | undefined, format: ClassFormat): AttributeFormat[] {
  const indexes = constraints?.countedLinks().keys() ?? []
  return [...indexes].map((index) => format.attributes[index] as AttributeFormat)
}
