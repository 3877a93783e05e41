/** The kinds of computed attributes (contract 10.6). */
import type { Attribute } from '../schema/class-definition.ts'
import { isExpression } from '../schema/expression.ts'

type WithProperties = Pick<Attribute, 'properties'>

/** Whether its value depends on nothing except the object that has it. */
export function isComputed({ properties }: WithProperties): boolean {
  const computed = properties?.own.computed
  return isExpression(computed) && !('text' in computed) && computed.isFollowing !== true
}

/** Whether it is evaluated on every read. */
export function isUnstored({ properties }: WithProperties): boolean {
  const computed = properties?.own.computed
  return isExpression(computed) && computed.isStored !== true
}

/** Whether it is only evaluated by name, since its value does not depend on the object alone. */
export function isFollowing({ properties }: WithProperties): boolean {
  const computed = properties?.own.computed
  return isExpression(computed) && !('text' in computed) && computed.isFollowing === true
}
