/** A role from the body of a request; its grants are read by whoever keeps them, with better messages than a schema has. */
import { AshlarError } from '@ashlar/engine'
import type { RoleChange } from '../../security/own-roles.ts'

/** Throws MalformedRequest, UnknownField. */
export function readCreateRole(body: unknown): RoleChange & { readonly name: string } {
  const { name, ...wanted } = fieldsOf(body, ['name', 'actions', 'grants'])
  if (typeof name !== 'string') throw malformed('A role has a name, a text.', ['name'])
  return { name, ...readFields(wanted) }
}

/** Likewise. */
export function readChangeRole(body: unknown): RoleChange {
  return readFields(fieldsOf(body, ['actions', 'grants']))
}

function readFields({ actions, grants }: Readonly<Record<string, unknown>>): RoleChange {
  if (actions !== undefined && !isTexts(actions))
    throw malformed('The actions of a role are an array of texts.', ['actions'])
  return { actions, grants }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function fieldsOf(body: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw malformed('A role is an object.', [])
  for (const name of Object.keys(body)) {
    if (known.includes(name)) continue
    const message = `A role has no field '${name.slice(0, 60)}': it has ${known.join(', ')}.`
    throw new AshlarError('UnknownField', message, [{ place: [name], message }])
  }
  return body as Readonly<Record<string, unknown>>
}

function malformed(message: string, place: readonly string[]): AshlarError {
  return new AshlarError('MalformedRequest', message, [{ place, message }])
}
