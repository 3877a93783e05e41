/** The path to an attribute of an object, or of an embedded object within it. */
import { assert } from '../errors.ts'
import type { AttributeNumber } from '../types/type-spec.ts'
import type { AttributeChange, ValueChange } from './attribute-change.ts'
import type { AttributeFormat, ClassFormat } from './class-format.ts'

export interface PathStep {
  readonly number: AttributeNumber
  /** As spelled in the command. */
  readonly name: string
}

/** The format of the attribute at the end of the path. */
export function formatAt(format: ClassFormat, path: readonly PathStep[]): AttributeFormat {
  let found: AttributeFormat | undefined
  let owner: ClassFormat | undefined = format
  for (const { number } of path) {
    assert(owner !== undefined, 'a path leads through embedded objects')
    found = owner.attribute(number)
    owner = found.embedded
  }
  assert(found !== undefined, 'a path has an attribute')
  return found
}

/** Wraps the change of the attribute at the end of the path into a change of the object. */
export function changeAt(format: ClassFormat, path: readonly PathStep[], change: ValueChange): AttributeChange {
  const [first, ...rest] = path
  assert(first !== undefined, 'a path has an attribute')
  const attribute = format.attribute(first.number)
  if (rest.length === 0) return { attribute, name: first.name, change }
  assert(attribute.embedded !== undefined, 'a path leads through embedded objects')
  const field = changeAt(attribute.embedded, rest, change)
  return { attribute, name: first.name, change: { kind: 'merge', fields: [field] } }
}
