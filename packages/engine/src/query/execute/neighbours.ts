/** The edges at a vertex: what an object refers to, and what refers to it (DO, section 4, Graph patterns). */

import { indexKeyFormat } from '../../indexes/index-key.ts'
import { readIndexOids } from '../../indexes/lookup.ts'
import type { AttributeFormat } from '../../records/class-format.ts'
import type { MapPair } from '../../records/collection-change.ts'
import { containerExtent } from '../../records/object-key.ts'
import type { SchemaClass } from '../../schema/catalog.ts'
import { noOid, type Oid } from '../../types/oid.ts'
import type { AttributeNumber, ClassNumber } from '../../types/type-spec.ts'
import type { BoundAttribute } from '../bind/bound.ts'
import { type ReferenceAttribute, referenceSpecIn } from '../bind/reference-attributes.ts'
import { isSamePath } from '../plan/plan-access.ts'
import type { Edge } from '../values/edge.ts'
import { typeOfSpec } from '../values/value-type.ts'
import { referringRange } from './access-oids.ts'
import { evaluateRows } from './evaluate-rows.ts'
import type { ObjectView } from './object-view.ts'
import type { StatementContext } from './statement-context.ts'

export interface Step {
  readonly edge: Edge
  readonly far: Oid
}

/** Finds the edges of one edge pattern; what it works out about classes and scans is kept for the statement. */
export class Neighbours {
  /** How edges are followed back, for EXPLAIN. */
  readonly ways = new Set<string>()
  private readonly context: StatementContext
  private readonly attributes: readonly ReferenceAttribute[]
  /** Classes that the far vertex may have where one edge leads there; undefined = any. */
  private readonly farClass: SchemaClass | undefined
  private readonly forwardOf = new Map<ClassNumber, readonly AttributeFormat[]>()
  private readonly backwardOf = new Map<ClassNumber, readonly ReferenceAttribute[]>()
  private readonly scanned = new Map<AttributeNumber, ReadonlyMap<Oid, readonly Oid[]>>()

  constructor(context: StatementContext, attributes: readonly ReferenceAttribute[], farClass: SchemaClass | undefined) {
    this.context = context
    this.attributes = attributes
    this.farClass = farClass
  }

  async forward(view: ObjectView): Promise<Step[]> {
    const cls = view.format?.cls
    if (cls === undefined) return []
    const steps: Step[] = []
    for (const attribute of this.forwardAttributes(view, cls)) {
      const { outputName, number } = attribute.attribute
      const from = { from: view.oid, fromClass: cls.name, attribute: outputName, attributeNumber: number }
      for (const far of await this.targets(view, attribute))
        steps.push({ far, edge: { ...from, to: far, toClass: '' } })
    }
    return steps
  }

  async backward(view: ObjectView): Promise<Step[]> {
    const cls = view.format?.cls
    if (cls === undefined) return []
    const steps: Step[] = []
    for (const reference of this.backwardAttributes(cls)) {
      const { name, number } = reference.attribute
      const to = { attribute: name, attributeNumber: number, to: view.oid, toClass: cls.name }
      for (const far of await this.owners(view, reference))
        steps.push({ far, edge: { from: far, fromClass: '', ...to } })
    }
    return steps
  }

  private forwardAttributes(view: ObjectView, cls: SchemaClass): readonly AttributeFormat[] {
    let found = this.forwardOf.get(cls.number)
    if (found === undefined) {
      const numbers = new Set(this.attributes.map(({ attribute }) => attribute.number))
      found = (view.format?.attributes ?? []).filter(({ attribute }) => {
        return numbers.has(attribute.number) && this.mayLeadTo(referenceSpecIn(attribute.spec)?.referencedClass)
      })
      this.forwardOf.set(cls.number, found)
    }
    return found
  }

  private mayLeadTo(referenced: ClassNumber | undefined): boolean {
    const { farClass } = this
    const cls = referenced === undefined ? undefined : this.context.catalog.classByNumber(referenced)
    if (farClass === undefined || cls === undefined) return true
    return farClass.isOrInherits(cls.number) || cls.isOrInherits(farClass.number)
  }

  private backwardAttributes(cls: SchemaClass): readonly ReferenceAttribute[] {
    let found = this.backwardOf.get(cls.number)
    if (found === undefined) {
      const { farClass } = this
      found = this.attributes.filter(({ declaringClass, referencedClass }) => {
        const isFar =
          farClass === undefined ||
          farClass.isOrInherits(declaringClass.number) ||
          declaringClass.isOrInherits(farClass.number)
        return isFar && cls.isOrInherits(referencedClass.number)
      })
      this.backwardOf.set(cls.number, found)
    }
    return found
  }

  /** What the object refers to by one attribute, each once. */
  private async targets(view: ObjectView, attribute: AttributeFormat): Promise<readonly Oid[]> {
    const { spec } = attribute.attribute
    let held: unknown
    if (attribute.linkForm === undefined) held = view.value(attribute.index)
    else {
      const { reader } = this.context
      const [links] = await evaluateRows(this.context, [view], (row) =>
        reader.links(row, this.boundOf(view, attribute)),
      )
      held = links
    }
    if (spec.logicalType === 'reference') return held === null || held === noOid ? [] : [held as Oid]
    const elements =
      spec.logicalType === 'map' ? (held as readonly MapPair[]).map(({ value }) => value) : (held as readonly unknown[])
    return [...new Set(elements as readonly Oid[])].filter((oid) => oid !== noOid)
  }

  private boundOf(view: ObjectView, { attribute, index, linkForm }: AttributeFormat): BoundAttribute {
    const cls = view.format?.cls as SchemaClass
    const { number, outputName: name, spec } = attribute
    return { cls, number, name, index, spec, linkForm, type: typeOfSpec(spec, this.context.catalog) }
  }

  /** Who refers to the object by one attribute: over the inverse, by an index, or by a scan of all who could. */
  private async owners(view: ObjectView, reference: ReferenceAttribute): Promise<readonly Oid[]> {
    const { attribute, declaringClass, inverse } = reference
    if (inverse !== null) {
      const far = view.format?.attribute(inverse)
      this.ways.add(`${attribute.name}: inverse ${far?.attribute.name}`)
      return far === undefined ? [] : this.targets(view, far)
    }
    const index = declaringClass.indexes.find(({ keyAttributes, state }) => {
      return (
        state === 'ready' && isSamePath([{ number: attribute.number } as BoundAttribute], keyAttributes[0]?.path ?? [])
      )
    })
    if (index !== undefined && attribute.spec.logicalType === 'reference') {
      this.ways.add(`${attribute.name}: index ${index.name}`)
      const format = indexKeyFormat(index, this.context.reader.formats.of(declaringClass))
      const oids: Oid[] = []
      for await (const batch of readIndexOids(this.context.snapshot, referringRange(format, view.oid), false))
        oids.push(...batch)
      return oids
    }
    this.ways.add(`${attribute.name}: scan of ${declaringClass.name}`)
    return (await this.scan(reference)).get(view.oid) ?? []
  }

  /** Once a statement: everybody who refers to anybody by the attribute. */
  private async scan({ attribute, declaringClass }: ReferenceAttribute): Promise<ReadonlyMap<Oid, readonly Oid[]>> {
    const known = this.scanned.get(attribute.number)
    if (known !== undefined) return known
    const { context } = this
    const owners = new Map<Oid, Oid[]>()
    const classes = new Set([declaringClass.number, ...declaringClass.subclasses.map(({ number }) => number)])
    const use = (key: Uint8Array, record: Uint8Array): ObjectView => context.reader.view(undefined, key, record).copy()
    const containers = await context.containersOf(classes)
    const extents = containers.map(({ database, container }) => containerExtent(database, container))
    for await (const batch of context.scanAll(extents, use)) {
      context.check()
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
