/** Counts the stored objects that have too few or too many elements in collections stored as links (contract 10.5). */
import { readAndRequireLinkEntries } from '../links/attribute-links.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { type Container, listContainers } from '../records/container-registry.ts'
import { attributeOfKey, containerLinksRange, kindOfForm, kindOfKey, ownerOfKey } from '../records/link-keys.ts'
import { containerExtent, oidOfObjectKey } from '../records/object-key.ts'
import { recordFormats } from '../records/record-formats.ts'
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
    for (const { database, container } of await listContainers(snapshot, new Set([cls.number]), newContainers)) {
      const counts = countsByOwner(snapshot, database, container, limits)
      let next = await counts.next()
      const extent = containerExtent(database, container)
      for await (const batch of snapshot.scan(extent, oidOfObjectKey, { keysOnly: true })) {
        for (const oid of batch) {
          while (next.done !== true && compareOids(next.value.owner, oid) < 0) next = await counts.next()
          const own = next.done !== true && next.value.owner === oid ? next.value.counts : none
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

/** For owners with at least one link. */
async function* countsByOwner(
  snapshot: Snapshot,
  database: number,
  container: number,
  limits: readonly LinkLimits[],
): AsyncGenerator<LinkCounts> {
  const kinds = new Map(limits.map(({ attribute }) => [attribute.attribute.number, kindOf(attribute)]))
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

/** The commit requires links with a limited number to be unchanged. */
export async function requireLimitedLinks(
  unit: UnitOfWork,
  oids: readonly Oid[],
  attributes: ReadonlySet<AttributeNumber>,
): Promise<void> {
  const limited = new Map<ClassFormat, readonly LinkLimits[]>()
  for (const cls of unit.catalog.classes) {
    const format = cls.isReferenceable ? unit.objects.formats.of(cls) : undefined
    const limits = format === undefined ? [] : linkLimitsOf(format, attributes)
    if (format !== undefined && limits.length > 0) limited.set(format, limits)
  }
  if (limited.size === 0) return
  await unit.objects.loadAll(oids)
  for (const oid of oids) {
    const format = unit.objects.loaded(oid)?.format
    const limits = format === undefined ? undefined : limited.get(format)
    for (const { attribute } of limits ?? []) await readAndRequireLinkEntries(unit.transaction, oid, attribute)
  }
}
