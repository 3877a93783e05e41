/** Roles of one's own: names for sets of actions, beside the built-in ones (contract 9.3). */
import { ServerError } from '../errors/server-errors.ts'
import { type Action, actions, builtInRoles, checkRoleName, type OwnRoles, readGrant } from './roles.ts'
import type { SecurityDatabase } from './security-database.ts'
import { className } from './security-schema.ts'

export interface RoleRecord {
  readonly name: string
  readonly actions: readonly Action[]
  readonly isBuiltIn: boolean
}

interface StoredRole {
  readonly __identifier__: string
  readonly name: string
  readonly actions: readonly Action[]
}

type Reader = Pick<SecurityDatabase, 'rows'>

export async function ownRolesOf(reader: Reader): Promise<OwnRoles> {
  const roles = await reader.rows<StoredRole>(`FROM ${className.role} ORDER BY name RETURN *`)
  return new Map(roles.map((role) => [role.name, role.actions]))
}

export async function listRoles(reader: Reader): Promise<RoleRecord[]> {
  const builtIn = Object.entries(builtInRoles).map(([name, allowed]) => ({ name, actions: allowed, isBuiltIn: true }))
  const own = [...(await ownRolesOf(reader))].map(([name, allowed]) => ({ name, actions: allowed, isBuiltIn: false }))
  return [...builtIn, ...own]
}

/** Throws InvalidRole, RoleExists. */
export async function addRole(
  database: SecurityDatabase,
  name: string,
  allowed: readonly string[],
): Promise<RoleRecord> {
  checkRoleName(name)
  const known = actions.filter((action) => allowed.includes(action))
  const unknown = allowed.find((word) => !(actions as readonly string[]).includes(word))
  if (unknown !== undefined || known.length === 0) {
    const what =
      unknown === undefined ? 'A role allows at least one action' : `There is no action '${unknown.slice(0, 60)}'`
    throw new ServerError('InvalidRole', `${what}: they are ${actions.join(', ')}.`)
  }
  // Processes remember which roles there are: they have to read them again, or the new one grants nothing.
  return database.change(async (change) => {
    if ((await findRole(change, name)) !== undefined)
      throw new ServerError('RoleExists', `There is a role '${name}' already.`)
    await change.create(className.role, { name, actions: known })
    return { name, actions: known, isBuiltIn: false }
  })
}

/** Throws InvalidRole, RoleNotFound, RoleInUse. */
export async function removeRole(database: SecurityDatabase, name: string): Promise<void> {
  checkRoleName(name)
  await database.change(async (change) => {
    const role = await findRole(change, name)
    if (role === undefined) throw new ServerError('RoleNotFound', `There is no role '${name}'.`)
    for (const holder of [className.user, className.token]) {
      const holders = await change.rows<{ readonly name: string; readonly roles: readonly string[] }>(
        `FROM ${holder} RETURN name, roles`,
      )
      const user = holders.find(({ roles }) => roles.some((grant) => readGrant(grant).role === name))
      if (user !== undefined) throw new ServerError('RoleInUse', `The role ${name} is granted to '${user.name}'.`)
    }
    await change.delete(role.__identifier__)
  })
}

async function findRole(reader: Reader, name: string): Promise<StoredRole | undefined> {
  return (await reader.rows<StoredRole>(`FROM ${className.role} WHERE name = $name RETURN *`, { name }))[0]
}
