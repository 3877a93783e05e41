/** The values that existing objects get for a new attribute, as its first shape records them (contract 10.1.4). */
import type { ClassNumber, ShapeNumber, TypeSpec } from '../types/type-spec.ts'
import type { ClassBatch } from './class-batch.ts'
import type { Shape } from './class-definition.ts'
import { plainJson, scalarCodec } from './properties/attribute-property.ts'
import { creationDefault } from './properties/index.ts'
import { type ClassDraft, type DraftAttribute, storedAttributes } from './schema-builder.ts'

export class InitialValues {
  private readonly batch: ClassBatch
  private readonly shapes: readonly Shape[]
  private byNumber: ReadonlyMap<ShapeNumber, Shape> | undefined
  private readonly embedded = new Map<ClassNumber, unknown>()

  /** `shapes`: before the batch. */
  constructor(batch: ClassBatch, shapes: readonly Shape[]) {
    this.batch = batch
    this.shapes = shapes
  }

  /** JSON; for an embedded object, the initial values of its attributes by number. Undefined for the defaults of the types. */
  of({ existing }: ClassDraft, { number, spec, properties }: DraftAttribute): unknown {
    if (spec?.logicalType !== 'object') return creationDefault(spec as TypeSpec, properties)
    return existing !== undefined && this.batch.isAdded(number) ? this.embeddedValues(spec.class) : undefined
  }

  /** Changing a default makes no shape, so the defaults in the shape of the embedded class may be earlier ones. */
  private embeddedValues(number: ClassNumber): unknown {
    if (this.embedded.has(number)) return this.embedded.get(number)
    const draft = this.batch.builder.get(number)
    const initials: Record<string, unknown> = {}
    for (const attribute of storedAttributes(draft)) {
      const value = this.partValues(draft, attribute)
      if (value !== undefined) initials[attribute.number] = value
    }
    const found = Object.keys(initials).length === 0 ? undefined : initials
    this.embedded.set(number, found)
    return found
  }

  private partValues({ existing }: ClassDraft, { number, spec, properties }: DraftAttribute): unknown {
    if (spec?.logicalType === 'object') return this.embeddedValues(spec.class)
    const value = creationDefault(spec as TypeSpec, properties)
    if (value !== undefined || existing === undefined) return value
    const shaped = this.shape(existing.shapeNumber)?.attributes.find((one) => one.number === number)
    if (shaped?.initial === undefined) return undefined
    const codec = scalarCodec(spec as TypeSpec)
    const typeDefault = codec?.defaultValue ?? null
    return typeDefault === null ? null : plainJson(codec?.toJson(typeDefault))
  }

  private shape(number: ShapeNumber): Shape | undefined {
    this.byNumber ??= new Map(this.shapes.map((shape) => [shape.number, shape]))
    return this.byNumber.get(number)
  }
}
