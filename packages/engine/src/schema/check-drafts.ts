/** Validates the classes of a batch and their superclasses (contract 5.1). */
import type { AshlarError, CommandPlace } from '../errors.ts'
import { inheritanceDepthMax } from '../limits.ts'
import { commandError, placeWithin } from './command-error.ts'
import { type ClassDraft, countAttributes, type SchemaBuilder, selfAndAncestors } from './schema-builder.ts'

/** Rejects inheritance cycles and excessive depth. Must run before any other code follows superclasses. */
export function checkInheritance(builder: SchemaBuilder): void {
  for (const draft of builder.all()) {
    let depth = 0
    for (let at = draft.superClass; at !== null; at = at.superClass) {
      depth += 1
      if (at === draft) throw invalidSuperClass(draft, `Class ${draft.name} inherits from itself.`)
      // In a cycle that does not include the class, the depth limit ends the loop.
      if (depth > inheritanceDepthMax) throw tooDeep(draft)
    }
  }
}

/** A superclass must be of the same kind. */
export function checkKinds(builder: SchemaBuilder): void {
  for (const draft of builder.all()) {
    const { name, isReferenceable, superClass } = draft
    if (superClass === null || superClass.isReferenceable === isReferenceable) continue
    const message = `Class ${name} is ${kindOf(isReferenceable)}, but its superclass ${superClass.name} is ${kindOf(superClass.isReferenceable)}.`
    if (draft.existing === undefined) throw invalidSuperClass(draft, message)
    throw commandError('InvalidDefinition', message, placeWithin(draft.place ?? superClass.place, 'isReferenceable'))
  }
}

/** `place`: of the cause, if it is not a description of the class. Throws LimitExceeded. */
export function checkAttributeCount(draft: ClassDraft, attributesMax: number, place?: CommandPlace): void {
  const count = countAttributes(draft)
  if (count <= attributesMax) return
  throw commandError(
    'LimitExceeded',
    `Class ${draft.name} would have ${count} attributes, inherited ones included; the limit is ${attributesMax} (classAttributesMax).`,
    place ?? placeWithin(nearestPlace(draft), 'attributes'),
  )
}

function tooDeep(draft: ClassDraft): AshlarError {
  const seen = new Set<ClassDraft>()
  for (let at: ClassDraft | null = draft; at !== null; at = at.superClass) {
    if (seen.has(at)) return invalidSuperClass(at, `Class ${at.name} inherits from itself.`)
    seen.add(at)
  }
  return commandError(
    'LimitExceeded',
    `Class ${draft.name} would have ${seen.size - 1} superclasses above it; the limit is ${inheritanceDepthMax}.`,
    placeWithin(nearestPlace(draft), 'superClass'),
  )
}

/** The place of the class or of its nearest superclass in the batch. */
function nearestPlace(draft: ClassDraft): CommandPlace | undefined {
  return selfAndAncestors(draft).find(({ place }) => place !== undefined)?.place
}

function invalidSuperClass({ place }: ClassDraft, message: string): AshlarError {
  return commandError('InvalidDefinition', message, placeWithin(place, 'superClass'))
}

function kindOf(isReferenceable: boolean): string {
  return isReferenceable ? 'referenceable' : 'embeddable'
}
