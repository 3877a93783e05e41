/** Finds objects that violate constraints on the number of their links: `minItems`, `maxItems`, and checks that count references. */
import type { CancelSignal } from '../cancel-signal.ts'
import { countViolations } from '../ddl/count-violations.ts'
import { checkKey } from '../ddl/violations.ts'
import type { CheckSource } from '../records/constraints.ts'
import { recordFormats } from '../records/record-formats.ts'
import type { StoredConstraints } from '../schema/alter-plan.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { NewCheck } from '../schema/pending-checks.ts'
import type { Snapshot } from '../store/store.ts'
import type { AttributeNumber } from '../types/type-spec.ts'

/** Returns the problems. The links themselves must be undamaged. Throws the signal's reason. */
export async function problemsOfCountedLinks(
  snapshot: Snapshot,
  catalog: Catalog,
  expressions: CheckSource,
  signal: CancelSignal | undefined,
): Promise<string[]> {
  const constraints = countingConstraints(catalog, expressions)
  const onProgress = (): void => signal?.throwIfAborted()
  const violations = await countViolations(snapshot, catalog, constraints, { expressions, onProgress })
  return violations.all.flatMap(({ className, attributeName, checkName, constraint, objects, oids }) => {
    const broken = checkName === undefined ? `${constraint} of attribute ${attributeName}` : `check ${checkName}`
    const problems = oids.map((oid) => `object ${oid} violates ${broken} of class ${className}`)
    const more = objects - oids.length
    return more === 0 ? problems : [...problems, `${more} more objects violate ${broken} of class ${className}`]
  })
}

/** The checks that all stored objects are known to satisfy. */
function countingConstraints(catalog: Catalog, expressions: CheckSource): StoredConstraints {
  const formats = recordFormats(catalog)
  const attributes = new Set<AttributeNumber>()
  const checks = new Map<string, NewCheck>()
  for (const cls of catalog.classes) {
    if (!cls.isReferenceable) continue
    const format = formats.of(cls)
    for (const { attribute } of format.linkAttributes) {
      const { number, properties } = attribute
      if (properties === undefined || properties.isValidated === false) continue
      if (properties.own.minItems !== undefined || properties.own.maxItems !== undefined) attributes.add(number)
    }
    for (const check of expressions.checksOf(format, formats)) {
      if (check.isValidated && check.counts.size > 0) checks.set(checkKey(check), check)
    }
  }
  return { attributes, checks: [...checks.values()] }
}
