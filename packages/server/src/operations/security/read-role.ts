/** Reads a role from a request body; the engine validates its grants later, with better messages than a schema gives. */
import { AshlarError } from '@ashlar/engine'
import { malformedOperation } from '../../dispatch/transaction/read-operations.ts'
import { ServerError } from '../../errors/server-errors.ts'
import type { RoleChange } from '../../security/custom-roles.ts'

/** Throws MalformedRequest, UnknownField. */
export function readCreateRole(body: unknown): RoleChange & { readonly name: string } {
  const { name, ...change } = fieldsOf(body, ['name', 'actions', 'grants'])
  if (typeof name !== 'string') throw malformedOperation('A role has a name, a text.', ['name'])
  return { name, ...readFields(change) }
}

/** Reads a change of a role. Accepts a role as returned by a read if its immutable fields are unchanged. Throws InvalidRole besides. */
export function readChangeRole(role: string, body: unknown): RoleChange {
  const {
    name = role,
    isBuiltIn = false,
    problems: _told,
    ...change
  } = fieldsOf(body, ['name', 'isBuiltIn', 'problems', 'actions', 'grants'])
  if (name !== role) throw unchangeable(`The name of a role stays: this one is '${role}'. Add another role instead.`)
  if (isBuiltIn !== false) throw unchangeable('A role of your own is not built in: isBuiltIn is false.')
  return readFields(change)
}

function unchangeable(message: string): ServerError {
  return new ServerError('InvalidRole', message)
}

function readFields({ actions, grants }: Readonly<Record<string, unknown>>): RoleChange {
  if (actions !== undefined && !isTexts(actions))
    throw malformedOperation('The actions of a role are an array of texts.', ['actions'])
  return { actions, grants }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function fieldsOf(body: unknown, allowed: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw malformedOperation('A role is an object.', [])
  for (const name of Object.keys(body)) {
    if (allowed.includes(name)) continue
    const message = `A role has no field '${name.slice(0, 60)}': it has ${allowed.join(', ')}.`
    throw new AshlarError('UnknownField', message, [{ place: [name], message }])
  }
  return body as Readonly<Record<string, unknown>>
}
