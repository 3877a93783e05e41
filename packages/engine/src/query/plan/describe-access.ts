/** Access paths as EXPLAIN shows them. */

import { type OperatorPlan, operatorPlan } from '../explain/operator-plan.ts'
import type { Access, IndexAccess, OrderedAccess } from './access.ts'

/** What access paths are described for: their source. */
interface DescribedSource {
  readonly cls: { readonly name: string }
}

export function describeAccess(access: Access | OrderedAccess, source: DescribedSource): OperatorPlan {
  const { name } = source.cls
  switch (access.kind) {
    case 'extent':
      return operatorPlan('extentScan', { class: name, classes: access.classes.map((cls) => cls.name) })
    case 'objects':
      return operatorPlan('oidLookup', { class: name, oids: access.references.text })
    case 'index':
      return operatorPlan('indexScan', { class: name, ...describeIndex(access) })
    case 'ordered':
      return operatorPlan('orderedIndexScan', {
        class: name,
        ...describeIndex(access.index),
        direction: access.isReverse ? 'descending' : 'ascending',
      })
    case 'union':
      return operatorPlan(
        'union',
        { class: name },
        access.parts.map((part) => describeAccess(part, source)),
      )
    case 'reverse': {
      const over =
        access.way.kind === 'inverse' ? { inverse: access.way.inverse.name } : { index: access.way.format.index.name }
      const inner = describeAccess(access.inner, access)
      return operatorPlan('reverseNavigation', { class: name, attribute: access.attribute.name, ...over }, [inner])
    }
  }
}

function describeIndex({ format, equal, lower, upper, isTruncated }: IndexAccess): Record<string, unknown> {
  const names = format.parts.map(({ name }) => name)
  const conditions = equal.map((equality, i) => {
    if (equality.kind === 'null') return `${names[i]} is null`
    return equality.kind === 'value' ? `${names[i]} = ${equality.value.text}` : `${names[i]} IN ${equality.values.text}`
  })
  const next = names[equal.length]
  if (lower !== undefined) conditions.push(`${next} ${lower.isInclusive ? '>=' : '>'} ${lower.text}`)
  if (upper !== undefined) conditions.push(`${next} ${upper.isInclusive ? '<=' : '<'} ${upper.text}`)
  const texts = format.parts.filter(({ format: part }) => part.attribute.spec.logicalType === 'string')
  return {
    index: format.index.name,
    isUnique: format.index.isUnique,
    conditions,
    // What is found by a cut text is compared in full by the filter above.
    ...(isTruncated ? { recheck: texts.map(({ name }) => name) } : {}),
  }
}
