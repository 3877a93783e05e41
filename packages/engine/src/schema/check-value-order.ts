/**
 * Refuses expressions of defaults and updates that depend on each other by way of computed attributes: the order in which they
 * are evaluated is undefined (contract 10.6.9, 10.6.10). Those that name each other are refused when they are bound.
 */
import type { CommandPlace } from '../errors.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { Attribute, ClassDefinition } from './class-definition.ts'
import { commandError } from './command-error.ts'
import { attributesNamed, isDefaultExpression, isExpression, type SchemaExpression } from './expression.ts'
import { describeSite } from './expression-uses.ts'

type Kind = 'default' | 'onUpdate'

/** `classes`: with bound expressions, without circles of computed attributes. `added`: the places of new expressions. Throws InvalidDefinition. */
export function refuseChainedValues(
  classes: readonly ClassDefinition[],
  added: ReadonlyMap<SchemaExpression, CommandPlace>,
): void {
  const present = classes.filter(({ isDeleted }) => !isDeleted)
  const attributes = new Map(present.flatMap((cls) => cls.attributes.map((one) => [one.number, one])))
  for (const kind of ['default', 'onUpdate'] as const) {
    const reached = new Reached(kind, attributes)
    for (const cls of present) {
      for (const attribute of cls.attributes) {
        const expression = expressionOf(attribute, kind)
        for (const number of expression === undefined ? [] : attributesNamed(expression)) {
          // What it was before the update is no other attribute.
          const other = reached.by(number).find((one) => kind === 'default' || one !== attribute)
          if (other === undefined || other.number === number) continue
          const named = attributes.get(number) as Attribute
          const where = describeSite(cls.name, { kind, name: attribute.name, attribute })
          const what = `by way of ${named.name} it depends on attribute ${other.name}`
          const message = `${where}: ${what}, which itself has an expression for its ${kind}.`
          throw commandError('InvalidDefinition', message, placeOf([attribute, named, other], added) ?? [])
        }
      }
    }
  }
}

/** The place of the first expression that is part of the change. */
function placeOf(
  attributes: readonly Attribute[],
  added: ReadonlyMap<SchemaExpression, CommandPlace>,
): CommandPlace | undefined {
  const values = attributes.flatMap(({ properties }) => {
    const { default: initial, onUpdate, computed } = properties?.own ?? {}
    return [initial, onUpdate, computed]
  })
  return values.map((value) => added.get(value as SchemaExpression)).find((place) => place !== undefined)
}

function expressionOf({ spec, properties }: Attribute, kind: Kind): SchemaExpression | undefined {
  const value = properties?.own[kind]
  const isOne = kind === 'default' ? isDefaultExpression(value, spec) : isExpression(value)
  return isOne ? (value as SchemaExpression) : undefined
}

/** The attributes with an expression of one kind on which others depend. */
class Reached {
  private readonly kind: Kind
  private readonly attributes: ReadonlyMap<AttributeNumber, Attribute>
  private readonly found = new Map<AttributeNumber, readonly Attribute[]>()

  constructor(kind: Kind, attributes: ReadonlyMap<AttributeNumber, Attribute>) {
    this.kind = kind
    this.attributes = attributes
  }

  /** The first two of them: one may be the attribute whose expression is looked at. */
  by(number: AttributeNumber): readonly Attribute[] {
    const known = this.found.get(number)
    if (known !== undefined) return known
    const attribute = this.attributes.get(number)
    const computed = attribute?.properties?.own.computed
    let found: readonly Attribute[] = []
    if (attribute !== undefined && expressionOf(attribute, this.kind) !== undefined) found = [attribute]
    else if (isExpression(computed)) {
      const all = new Set<Attribute>()
      for (const named of attributesNamed(computed)) {
        for (const one of this.by(named)) all.add(one)
        if (all.size > 1) break
      }
      found = [...all].slice(0, 2)
    }
    this.found.set(number, found)
    return found
  }
}
