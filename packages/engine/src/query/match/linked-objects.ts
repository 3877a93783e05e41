/** The objects to which references of an object lead, and the objects that refer to it by an attribute. */

import { indexKeyFormat } from '../../indexes/index-key.ts'
import { readIndexOids } from '../../indexes/lookup.ts'
import type { AttributeFormat } from '../../records/class-format.ts'
import { linkKind, linkRange } from '../../records/link-keys.ts'
import { containerExtent } from '../../records/object-key.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import type { IndexDefinition } from '../../schema/class-definition.ts'
import { withSubclasses } from '../../schema/class-set.ts'
import { mapAwaitable } from '../../store/awaitable.ts'
import type { Awaitable, KeyRange } from '../../store/store.ts'
import type { MapPair } from '../../types/map.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import type { AttributeNumber, TypeSpec } from '../../types/type-spec.ts'
import { referringRange } from '../access/reverse-navigation.ts'
import { isSamePath } from '../access/sargable-predicates.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import type { ReferenceAttribute } from '../bind/reference-attributes.ts'
import type { ObjectView } from '../evaluate/object-view.ts'
import { evaluateRows } from '../execute/evaluate-rows.ts'
import type { StatementContext } from '../execute/statement-context.ts'
import { typeOfSpec } from '../values/value-type.ts'

/** An index by which the objects that refer to an object are found. */
function indexOn({ attribute, declaringClass }: ReferenceAttribute): IndexDefinition | undefined {
  if (attribute.spec.logicalType !== 'reference') return undefined
  const own = [{ number: attribute.number } as BoundAttribute]
  return declaringClass.indexes.find(({ keyAttributes, state }) => {
    return state === 'ready' && isSamePath(own, keyAttributes[0]?.path ?? [])
  })
}

/** Whether the objects that refer to an object are found without a scan. */
export function isFollowedBack(reference: ReferenceAttribute): boolean {
  return reference.inverse !== null || indexOn(reference) !== undefined
}

/** The OIDs in a reference or a collection, without duplicates. */
function targetsIn(value: unknown, { logicalType }: TypeSpec): readonly Oid[] {
  if (logicalType === 'reference') return value === null || value === noOid ? [] : [value as Oid]
  const elements =
    logicalType === 'map' ? (value as readonly MapPair[]).map(({ value }) => value) : (value as readonly unknown[])
  const each = elements.length < 2 ? (elements as readonly Oid[]) : [...new Set(elements as readonly Oid[])]
  return each.includes(noOid) ? each.filter((oid) => oid !== noOid) : each
}

/** Approximate memory of an OID in a list. */
const oidBytes = 64

/** Caches indexes of attributes and results of scans for the statement. */
export class LinkedObjects {
  /** How referring objects were found, for EXPLAIN. */
  readonly ways = new Set<string>()
  private readonly context: StatementContext
  private readonly links = new Map<AttributeFormat, BoundAttribute>()
  private readonly scanned = new Map<AttributeNumber, Map<Oid, Oid[]>>()

  constructor(context: StatementContext) {
    this.context = context
  }

  /** The targets of one attribute of the object, without duplicates. */
  targets(view: ObjectView, attribute: AttributeFormat): Awaitable<readonly Oid[]> {
    const { spec } = attribute.attribute
    if (attribute.linkStorage === undefined) return targetsIn(view.value(attribute.index), spec)
    const { reader } = this.context
    const links = this.boundOf(view, attribute)
    const read = evaluateRows(this.context, [view], (row) => reader.links(row, links))
    return mapAwaitable(read, ([links]) => targetsIn(links, spec))
  }

  /** Requests the list of references of the object, if any; throws `needsFetch` until it is read. */
  requestTargets(view: ObjectView, { linkStorage, index }: AttributeFormat): void {
    if (linkStorage !== undefined) this.context.reader.linkEntries(view, index)
  }

  private boundOf(view: ObjectView, format: AttributeFormat): BoundAttribute {
    let bound = this.links.get(format)
    if (bound === undefined) {
      const { attribute, index, linkStorage } = format
      const cls = view.format?.cls as SchemaClass
      const { number, outputName: name, spec } = attribute
      bound = { cls, number, name, index, spec, linkStorage, type: typeOfSpec(spec, this.context.catalog) }
      this.links.set(format, bound)
    }
    return bound
  }

  /** The objects that refer to the object by one attribute, found by the inverse, an index or a scan. */
  owners(view: ObjectView, reference: ReferenceAttribute): Awaitable<readonly Oid[]> {
    const { attribute, inverse } = reference
    if (inverse === null) return this.ownersFound(view, reference)
    const neighbour = view.format?.attribute(inverse)
    this.ways.add(`${attribute.name}: inverse ${neighbour?.attribute.name}`)
    return neighbour === undefined ? [] : this.targets(view, neighbour)
  }

  private async ownersFound(view: ObjectView, reference: ReferenceAttribute): Promise<readonly Oid[]> {
    const { attribute, declaringClass } = reference
    const index = indexOn(reference)
    if (index !== undefined) {
      this.ways.add(`${attribute.name}: index ${index.name}`)
      const format = indexKeyFormat(index, this.context.reader.formats.of(declaringClass))
      return this.gathered(readIndexOids(this.context.snapshot, referringRange(format, view.oid), false))
    }
    this.ways.add(`${attribute.name}: scan of ${declaringClass.name}`)
    return (await this.scan(reference)).get(view.oid) ?? []
  }

  /** Collects the batches. The memory is charged while they arrive and then passes to the caller. Throws LimitExceeded and ServerBusy. */
  async gathered(batches: AsyncIterable<readonly Oid[]>): Promise<readonly Oid[]> {
    const { memory } = this.context.script
    const oids: Oid[] = []
    let bytes = 0
    try {
      for await (const batch of batches) {
        bytes += batch.length * oidBytes
        memory.chargeStatement(batch.length * oidBytes)
        for (const oid of batch) oids.push(oid)
      }
    } finally {
      memory.chargeStatement(-bytes)
    }
    return oids
  }

  /** The number of entries in the range, counted up to `max`. */
  async counted(range: KeyRange | undefined, max: number): Promise<number> {
    if (range === undefined) return 0
    const { context } = this
    context.check()
    return context.countAbout(range, max)
  }

  /** The approximate number of targets, counted up to `max`. */
  async countTargets(view: ObjectView, attribute: AttributeFormat, max: number): Promise<number> {
    const { linkStorage } = attribute
    if (linkStorage === undefined) return (await this.targets(view, attribute)).length
    const kind = linkStorage === 'set' ? linkKind.target : linkStorage === 'map' ? linkKind.name : linkKind.position
    return this.counted(linkRange(view.oid, attribute.attribute.number, kind), max)
  }

  /** The number of objects that refer to the object by an attribute without inverse, counted up to `max`; `max` if only a scan could count. */
  async countOwners(view: ObjectView, reference: ReferenceAttribute, max: number): Promise<number> {
    const { declaringClass } = reference
    const index = indexOn(reference)
    // Without an index, all objects that could refer to it are read.
    if (index === undefined) return max
    const format = indexKeyFormat(index, this.context.reader.formats.of(declaringClass))
    return this.counted(referringRange(format, view.oid), max)
  }

  /** All references by the attribute, scanned once per statement. */
  private async scan({ attribute, declaringClass }: ReferenceAttribute): Promise<Map<Oid, Oid[]>> {
    const cached = this.scanned.get(attribute.number)
    if (cached !== undefined) return cached
    const { context } = this
    const owners = new Map<Oid, Oid[]>()
    const use = (key: Uint8Array, record: Uint8Array): ObjectView => context.reader.view(undefined, key, record).copy()
    const containers = await context.containersOf(withSubclasses(declaringClass).numbers)
    const extents = containers.map(({ database, container }) => containerExtent(database, container))
    for await (const batch of context.scanAll(extents, use)) {
      const pause = context.yieldIfDue()
      if (pause !== undefined) await pause
      for (const owner of batch) {
        const format = owner.format?.attribute(attribute.number)
        if (format === undefined) continue
        for (const target of await this.targets(owner, format)) {
          const list = owners.get(target)
          if (list === undefined) owners.set(target, [owner.oid])
          else list.push(owner.oid)
          context.hold(0, 32)
        }
      }
    }
    this.scanned.set(attribute.number, owners)
    return owners
  }
}
