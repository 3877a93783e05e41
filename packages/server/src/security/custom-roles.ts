/** Custom roles: names for actions on entire federated databases, and for grants on parts of them (contract 9.3). */
import { type Grant as AccessGrant, AshlarError, checkRule, readAccessGrants } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import {
  actions,
  builtInRoles,
  type CustomRoles,
  checkRoleName,
  customRolesText,
  type PermittedAction,
  readGrant,
} from './roles.ts'
import type { SecurityChange, SecurityDatabase } from './security-database.ts'
import { className } from './security-schema.ts'

export interface RoleRecord {
  readonly name: string
  readonly actions: readonly PermittedAction[]
  readonly grants: readonly AccessGrant[]
  readonly isBuiltIn: boolean
}

/** A requested change; `grants` is unchecked JSON. */
export interface RoleChange {
  readonly actions?: readonly string[] | undefined
  readonly grants?: unknown
}

interface StoredRole {
  readonly __identifier__: string
  readonly name: string
  readonly actions: readonly PermittedAction[]
  /** JSON; empty for none. */
  readonly grants: string
}

type Reader = Pick<SecurityDatabase, 'rows'>

type OnUnread = (error: Error) => void

/** For callers that do not apply the roles. */
const ignored: OnUnread = () => undefined

/** `onUnread`: called for roles that allow nothing because this process cannot parse their grants. */
export async function customRolesOf(reader: Reader, onUnread: OnUnread = ignored): Promise<CustomRoles> {
  return new Map((await listCustomRoles(reader, onUnread)).map((role) => [role.name, role]))
}

/** Lists all roles; roles that this process cannot parse are listed without actions and grants. */
export async function listRoles(reader: Reader): Promise<RoleRecord[]> {
  return [...Object.keys(builtInRoles).map(builtIn), ...(await listCustomRoles(reader, ignored))]
}

async function listCustomRoles(reader: Reader, onUnread: OnUnread): Promise<RoleRecord[]> {
  const roles = await reader.rows<StoredRole>(`FROM ${className.role} ORDER BY name RETURN *`)
  return roles.map((role) => readable(role, onUnread))
}

/**
 * Parses grants, which a newer process may have written in an unknown format. Since their restrictions are unknown, the entire role allows nothing;
 * other roles are not affected.
 */
function readable(role: StoredRole, onUnread: OnUnread): RoleRecord {
  try {
    return roleRecord(role)
  } catch (error) {
    if (!(error instanceof AshlarError || error instanceof SyntaxError)) throw error
    onUnread(new Error(`The role ${role.name} allows nothing, since its grants cannot be read: ${error.message}`))
    return { name: role.name, actions: [], grants: [], isBuiltIn: false }
  }
}

/** Throws RoleNotFound. */
export async function findRole(reader: Reader, name: string): Promise<RoleRecord> {
  return Object.hasOwn(builtInRoles, name) ? builtIn(name) : roleRecord(await existing(reader, name))
}

/** Throws InvalidRole, RoleExists, and for an invalid grant MalformedRequest, LimitExceeded, QuerySyntaxError, QueryError. */
export async function addRole(database: SecurityDatabase, name: string, requested: RoleChange): Promise<RoleRecord> {
  checkRoleName(name)
  const [allowed = [], grants = []] = [readActions(requested.actions), readGrants(name, requested.grants)]
  checkNotEmpty(allowed, grants)
  // Processes cache the roles and must reload them, or the new one grants nothing.
  return database.change(async (change) => {
    if ((await stored(change, name)) !== undefined)
      throw new ServerError('RoleExists', `There is a role '${name}' already.`)
    await change.create(className.role, { name, actions: allowed, grants: JSON.stringify(grants) })
    return { name, actions: allowed, grants, isBuiltIn: false }
  })
}

/** Changes a role. Omitted fields keep their values. Throws the errors of `addRole`, except RoleExists, and RoleNotFound. */
export async function changeRole(database: SecurityDatabase, name: string, requested: RoleChange): Promise<RoleRecord> {
  checkRoleName(name)
  const replaced = { actions: readActions(requested.actions), grants: readGrants(name, requested.grants) }
  return database.change(async (change) => {
    const role = await existing(change, name)
    // Replaced grants need not be readable by this process.
    const before = roleRecord(replaced.grants === undefined ? role : { ...role, grants: '' })
    const [allowed, grants] = [replaced.actions ?? before.actions, replaced.grants ?? before.grants]
    checkNotEmpty(allowed, grants)
    await change.update(role.__identifier__, { actions: allowed, grants: JSON.stringify(grants) })
    return { ...before, actions: allowed, grants }
  })
}

/** Throws InvalidRole, RoleNotFound, RoleInUse. */
export async function removeRole(database: SecurityDatabase, name: string): Promise<void> {
  checkRoleName(name)
  await database.change(async (change) => {
    const role = await existing(change, name)
    await checkUnused(change, name)
    await change.delete(role.__identifier__)
  })
}

const namedMax = 20

async function checkUnused(change: SecurityChange, name: string): Promise<void> {
  const users: string[] = []
  for (const [kind, holder] of [
    ['user', className.user],
    ['token', className.token],
  ] as const) {
    const holders = await change.rows<{ readonly name: string; readonly roles: readonly string[] }>(
      `FROM ${holder} RETURN name, roles`,
    )
    const having = holders.filter(({ roles }) => roles.some((grant) => readGrant(grant).role === name))
    for (const one of having) users.push(`${kind} '${one.name}'`)
  }
  if (users.length === 0) return
  const more = users.length > namedMax ? ` and ${users.length - namedMax} more` : ''
  const named = `${users.slice(0, namedMax).join(', ')}${more}`
  throw new ServerError('RoleInUse', `The role ${name} cannot be removed while it is granted to ${named}.`)
}

function builtIn(name: string): RoleRecord {
  return { name, actions: builtInRoles[name as keyof typeof builtInRoles], grants: [], isBuiltIn: true }
}

function roleRecord({ name, actions: allowed, grants }: StoredRole): RoleRecord {
  return { name, actions: allowed, grants: grants === '' ? [] : readAccessGrants(JSON.parse(grants)), isBuiltIn: false }
}

/** Returns the actions in canonical order; undefined if there are none. */
function readActions(names: readonly string[] | undefined): readonly PermittedAction[] | undefined {
  const unknown = names?.find((word) => !(actions as readonly string[]).includes(word))
  if (unknown !== undefined) throw invalid(`There is no action '${unknown.slice(0, 60)}'`)
  return names && actions.filter((action) => names.includes(action))
}

function checkNotEmpty(allowed: readonly PermittedAction[], grants: readonly AccessGrant[]): void {
  if (allowed.length === 0 && grants.length === 0) throw invalid('A role has at least one action or one grant')
}

function invalid(problem: string): ServerError {
  return new ServerError('InvalidRole', `${problem}: actions are ${actions.join(', ')}.`)
}

/** Undefined if there are none. Errors name role, grant and field. */
function readGrants(role: string, json: unknown): readonly AccessGrant[] | undefined {
  if (json === undefined) return undefined
  const read = within(role, [], '', () => readAccessGrants(json))
  for (const [position, { rules = {} }] of read.entries()) {
    for (const [action, text] of Object.entries(rules)) {
      const place = ['grants', position, 'rules', action]
      within(role, place, `Grant ${position + 1}: rules.${action}: `, () => checkRule(text))
    }
  }
  return read
}

function within<T>(role: string, place: readonly (string | number)[], prefix: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error
    const message = `Role ${role}: ${prefix}${error.message}`
    const places = place.length > 0 ? [place] : error.errors.map((detail) => detail.place)
    throw new AshlarError(
      error.type,
      message,
      places.map((one) => ({ place: one, message })),
      error.extensions,
    )
  }
}

async function existing(reader: Reader, name: string): Promise<StoredRole> {
  const role = await stored(reader, name)
  if (role !== undefined) return role
  const names = (await listCustomRoles(reader, ignored)).map((one) => one.name)
  throw new ServerError('RoleNotFound', `There is no role '${name.slice(0, 100)}'; ${customRolesText(names)}.`)
}

async function stored(reader: Reader, name: string): Promise<StoredRole | undefined> {
  return (await reader.rows<StoredRole>(`FROM ${className.role} WHERE name = $name RETURN *`, { name }))[0]
}
