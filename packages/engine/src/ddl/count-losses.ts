/** Counts the stored values that a change of types would lose (contract 5.3.9). */
import { AshlarError } from '../errors.ts'
import type { AttributeFormat, ClassFormat } from '../records/class-format.ts'
import { type Container, listContainers } from '../records/container-registry.ts'
import { containerExtent } from '../records/object-key.ts'
import { recordHeaderBytes, shapeNumberOf } from '../records/record-format.ts'
import { recordFormats } from '../records/record-formats.ts'
import { visitValue } from '../records/visit-values.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { Bytes, Snapshot } from '../store/store.ts'
import type { AttributeNumber } from '../types/type-spec.ts'

export interface AttributeLoss {
  readonly className: string
  readonly attributeName: string
  /** Single values and elements of collections. */
  readonly values: number
}

/** `changing`: a catalog in which the new types of `attributes` are pending. Omits attributes without losses. */
export async function countLosses(
  snapshot: Snapshot,
  changing: Catalog,
  attributes: readonly AttributeNumber[],
  newContainers: readonly Container[] = [],
): Promise<AttributeLoss[]> {
  const requested = new Set(attributes)
  const formats = recordFormats(changing)
  const classes = changing.classes.filter((cls) => cls.isReferenceable && formats.of(cls).hasPendingType)
  const losses = new AttributeLosses()
  const count = (_owner: ClassFormat, { attribute, pendingType }: AttributeFormat, value: unknown): void => {
    if (pendingType === undefined || value === null || !requested.has(attribute.number)) return
    losses.add(attribute.declaringClass.name, attribute.name, pendingType.lossyValues(value).length)
  }
  const read = (_key: Bytes, record: Bytes): void => {
    const shape = shapeNumberOf(record)
    const format = formats.forShape(shape)
    for (const attribute of format.changingAttributes) {
      if (attribute.linkStorage !== undefined) continue
      const value = format.readValue(record, recordHeaderBytes, shape, attribute.index)
      visitValue(format, attribute, value, formats, count)
    }
  }
  const numbers = new Set(classes.map(({ number }) => number))
  for (const { database, container } of await listContainers(snapshot, numbers, newContainers)) {
    for await (const _batch of snapshot.scan(containerExtent(database, container), read)) {
    }
  }
  return losses.all()
}

/** Counts by class and attribute. */
export class AttributeLosses {
  private readonly counts = new Map<string, AttributeLoss>()
  /** A description of the first value found that does not fit. */
  example: string | undefined

  add(className: string, attributeName: string, values: number, example?: string): void {
    if (values === 0) return
    this.example ??= example
    const key = `${className}::${attributeName}`
    const before = this.counts.get(key)?.values ?? 0
    this.counts.set(key, { className, attributeName, values: before + values })
  }

  addAll(losses: readonly AttributeLoss[]): void {
    for (const { className, attributeName, values } of losses) this.add(className, attributeName, values)
  }

  all(): AttributeLoss[] {
    return [...this.counts.values()]
  }

  /** Throws ValuesWouldBeLost if there are losses. */
  refuse(): void {
    if (this.counts.size > 0) throw valuesWouldBeLost(this.all(), this.example)
  }
}

function valuesWouldBeLost(losses: readonly AttributeLoss[], example: string | undefined): AshlarError {
  const descriptions = losses.map(({ className, attributeName, values }) => {
    return `${values} ${values === 1 ? 'value' : 'values'} of ${attributeName} of class ${className}`
  })
  return new AshlarError(
    'ValuesWouldBeLost',
    `The change would lose ${descriptions.join(', ')}${example === undefined ? '' : ` (${example})`}; with the option allowLoss what does not fit becomes the default.`,
    [],
    { valuesLost: losses },
  )
}
