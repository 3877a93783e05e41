/** Interns the attributes of stored shapes: subclasses inherit most attributes, and their shapes repeat them. */
import type { Shape, ShapeAttribute } from '../schema/class-definition.ts'
import type { AttributeNumber } from '../types/type-spec.ts'

export class SharedAttributes {
  /** By attribute number; one element per distinct definition over time. */
  private readonly versions = new Map<AttributeNumber, ShapeAttribute[]>()

  /** Modifies the shape in place, since its identity indicates whether it has changed. Returns it. */
  share(shape: Shape): Shape {
    const attributes = shape.attributes as ShapeAttribute[]
    for (const [i, attribute] of attributes.entries()) attributes[i] = this.shared(attribute)
    return shape
  }

  private shared(attribute: ShapeAttribute): ShapeAttribute {
    const versions = this.versions.get(attribute.number)
    if (versions === undefined) {
      this.versions.set(attribute.number, [attribute])
      return attribute
    }
    const same = versions.find((one) => isSameJson(one, attribute))
    if (same === undefined) versions.push(attribute)
    return same ?? attribute
  }
}

/** Compares parsed JSON values; member order is significant. */
function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  const [names, otherNames] = [Object.keys(one), Object.keys(other)]
  if (names.length !== otherNames.length) return false
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as keyof typeof one
    if (name !== otherNames[i] || !isSameJson(one[name], other[name])) return false
  }
  return true
}
