/** Refuses checks that are always false, and constant defaults for which a check is false: a creation that gives none of the values would always fail (contract 10.1.7). */
import { isDeepStrictEqual } from 'node:util'
import type { CommandPlace } from '../errors.ts'
import { formatForMessage } from '../types/logical-type.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import { buildCatalog } from './build-catalog.ts'
import type { Catalog, SchemaClass } from './catalog.ts'
import type { Attribute, CatalogState } from './class-definition.ts'
import { commandError } from './command-error.ts'
import { expressionText, isDefaultExpression, type SchemaExpression } from './expression.ts'
import { attributesUsed, describeSite, type ExpressionBinder, type ExpressionSite, namesIn } from './expression-uses.ts'

/**
 * Only for checks that are new, or of which an attribute has changed. `state`: with bound expressions. `added`: the new ones, with
 * their places in the command. Throws InvalidDefinition.
 */
export function refuseBrokenDefaults(
  before: Catalog,
  state: CatalogState,
  added: ReadonlyMap<SchemaExpression, CommandPlace>,
  binder: ExpressionBinder,
): void {
  let catalog: Catalog | undefined
  let attributes: ReadonlyMap<AttributeNumber, Attribute> | undefined
  for (const { number, isDeleted, properties, pendingChecks = [] } of state.classes) {
    const checks = [...(properties?.checks ?? []), ...pendingChecks]
    if (isDeleted || checks.length === 0) continue
    attributes ??= new Map(state.classes.flatMap((one) => one.attributes.map((each) => [each.number, each])))
    for (const { name, expression } of checks) {
      const used = defaultsUsed(expression, attributes)
      const place = added.get(expression)
      if (used === undefined || (place === undefined && used.every((one) => isUnchanged(one, before)))) continue
      catalog ??= buildCatalog(state, before.version)
      const cls = catalog.classByNumber(number) as SchemaClass
      const site: ExpressionSite = { kind: 'checks', name, attribute: undefined }
      if (!binder.isFalseForDefaults(expression, site, cls, catalog)) continue
      const constants = used.filter(({ properties }) => properties?.own.computed === undefined)
      const defaults = constants.map((one) => `${one.name} ${formatForMessage(one.properties?.own.default)}`).join(', ')
      const where = `${describeSite(cls.name, site)}: ${expressionText(expression, namesIn(catalog))}`
      const message =
        constants.length === 0
          ? `${where} is false whatever an object holds, so creations would always be refused.`
          : `${where} is false for the default of ${defaults}, so creations that give no value would always be refused.`
      throw commandError('InvalidDefinition', message, place ?? [])
    }
  }
}

/** The attributes on which the check depends, if their values in a creation that gives none are known; otherwise undefined. */
function defaultsUsed(
  check: SchemaExpression,
  attributes: ReadonlyMap<AttributeNumber, Attribute>,
): readonly Attribute[] | undefined {
  const used = [...attributesUsed(check, (number) => attributes.get(number))].map((number) => attributes.get(number))
  const isDefined = (one: Attribute | undefined): one is Attribute => {
    const { default: value = null, computed } = one?.properties?.own ?? {}
    return one !== undefined && (computed !== undefined || (value !== null && !isDefaultExpression(value, one.spec)))
  }
  return used.every(isDefined) ? used : undefined
}

function isUnchanged({ number, spec, properties }: Attribute, before: Catalog): boolean {
  const other = before.attribute(number)
  return isDeepStrictEqual([spec, properties], [other?.spec, other?.properties])
}
