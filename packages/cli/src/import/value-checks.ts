/** Checks whether the server would accept the values of an object, as far as their types determine it. */

import type { AttributeDefinition } from '@ashlar/client'
import { valueChecker } from '@ashlar/engine'
import { defined } from '../output/defined.ts'
import type { AttributesOf } from './stored-values.ts'

/** Returns why a value would be refused, or undefined. */
export type ValueCheck = (value: unknown) => string | undefined

export function checksOf(
  attributes: readonly AttributeDefinition[],
  attributesOf: AttributesOf,
): ReadonlyMap<string, ValueCheck> {
  return new Map(attributes.map((one) => [one.attributeName, checkOf(one, attributesOf)]))
}

export function checkOf(type: Partial<AttributeDefinition>, attributesOf: AttributesOf): ValueCheck {
  switch (type.logicalType) {
    case 'object': {
      const checks = checksOf(attributesOf(type.class ?? '') ?? [], attributesOf)
      return (value) => firstProblem(Object.entries(value ?? {}), ([name, inner]) => checks.get(name)?.(inner))
    }
    case 'list': {
      const check = checkOf((type.elementSpecification ?? {}) as Partial<AttributeDefinition>, attributesOf)
      return (value) => (Array.isArray(value) ? firstProblem(value, check) : undefined)
    }
    case 'reference':
    case 'set':
    case 'map':
      return () => undefined
    default:
      return singleCheck(type)
  }
}

function singleCheck(type: Partial<AttributeDefinition>): ValueCheck {
  const { logicalType = '', encoding, storage } = type
  const digits = (value: unknown): number | undefined => (value === undefined ? undefined : Number(value))
  const [fixedLength, precision, scale] = [type.fixedLength, type.precision, type.scale].map(digits)
  return valueChecker(defined({ logicalType, encoding, storage, fixedLength, precision, scale }))
}

function firstProblem<T>(values: readonly T[], check: (value: T) => string | undefined): string | undefined {
  for (const value of values) {
    const problem = check(value)
    if (problem !== undefined) return problem
  }
  return undefined
}
