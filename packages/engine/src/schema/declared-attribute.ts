/** Finds the attribute that a command changes, which the class itself must declare. */
import { type CommandPlace, truncateForMessage } from '../errors.ts'
import { commandError } from './command-error.ts'
import { didYouMean } from './names.ts'
import type { ClassDraft, DraftAttribute, SchemaBuilder } from './schema-builder.ts'

/** An inherited attribute must be changed in the class that declares it. */
export function declaredAttribute(
  builder: SchemaBuilder,
  draft: ClassDraft,
  name: string,
  place: CommandPlace,
): DraftAttribute {
  const own = draft.attributes.get(name)
  if (own !== undefined) return own
  const inherited = builder.findAttribute(draft, name)
  const advice =
    inherited === undefined
      ? didYouMean(name, [...draft.attributes.keys()])
      : ` It is declared by class ${builder.declared(inherited.number)?.owner.name}.`
  const message = `Class ${draft.name} has no attribute '${truncateForMessage(name)}' of its own.${advice}`
  throw commandError('UnknownAttribute', message, place)
}
