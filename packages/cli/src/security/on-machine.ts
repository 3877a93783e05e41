/** Users, tokens and roles in the security database itself, on the machine of the server, which need not run (contract 9.2). */
import { existsSync } from 'node:fs'
import { AshlarError, grantProblemsIn } from '@ashlar/engine'
import { storeDirectory } from '@ashlar/engine/store-address'
import {
  addRole,
  addUser,
  aliasProblems,
  changeRole,
  changeUser,
  createToken,
  findRole,
  type GrantChecking,
  listRoles,
  listTokens,
  listUsers,
  PasswordHashes,
  problemEntry,
  type RoleRecord,
  refuseCommonPassword,
  removeRole,
  removeUser,
  revokeToken,
  roleProblems,
  SecurityDatabase,
  ServerError,
} from '@ashlar/server/security'
import type { Config } from '@ashlar/server/shared'
import { CommandError, notFoundError } from '../errors/command-error.ts'
import { exitCodeOfStatus } from '../errors/exit-codes.ts'
import { auditedBy } from './command-audit.ts'
import type { SecurityWork } from './security-work.ts'

/** The settings that locate the security database and the audit log of the server. */
export type SecurityPlace = Pick<
  Config,
  'federatedDatabases' | 'securityStore' | 'auditLog' | 'auditOnFailure' | 'limits'
>

/** `mayMake`: creates the security database if it does not exist. `note`: prints notes in addition to the result. */
export async function onMachine<T>(
  place: SecurityPlace,
  { mayMake, note }: { readonly mayMake: boolean; note(message: string): void },
  work: (security: SecurityWork) => Promise<T>,
): Promise<T> {
  const { securityStore: address } = place
  const directory = storeDirectory(address)
  const isNew = directory !== undefined && !existsSync(directory)
  if (!mayMake && isNew) {
    const hint = 'ashlar serve --auth, or ashlar user add, creates it; --url asks a server elsewhere.'
    throw notFoundError(`There is no security database at ${address}: ${hint}`)
  }
  const database = await SecurityDatabase.open(address)
  // Otherwise a mistyped directory would be noticed only when a sign-in fails.
  if (isNew) note(`${address} is a new security database.`)
  try {
    return await work(machineSecurity(database, place, note))
  } catch (error) {
    if (!(error instanceof AshlarError || error instanceof ServerError)) throw error
    const { status } = problemEntry(error.type)
    throw new CommandError(exitCodeOfStatus(status), error.message, [], { type: error.type, status })
  } finally {
    await database.close()
  }
}

async function hashOf(password: string, name: string): Promise<string> {
  await refuseCommonPassword(password, name)
  return new PasswordHashes().hash(password)
}

/** Does the work of a server on its security database, and notes changes in its audit log. */
function machineSecurity(
  database: SecurityDatabase,
  place: SecurityPlace,
  note: (message: string) => void,
): SecurityWork {
  const audited = auditedBy(place)
  const checked = (role: RoleRecord) => checkedRole(role, place, note)
  const withProblems = <T extends { readonly roles: readonly string[] | null }>(one: T) => ({
    ...one,
    problems: unknownAliases(one.roles, place),
  })
  return {
    listUsers: () => listUsers(database),
    async addUser({ name, roles = [], password }) {
      const passwordHash = password === undefined ? undefined : await hashOf(password, name)
      return withProblems(
        await audited('user add', `user:${name}`, () => addUser(database, { name, roles, passwordHash })),
      )
    },
    async updateUser(name, { roles, isDisabled, password }) {
      const passwordHash = password === undefined ? undefined : await hashOf(password, name)
      const command =
        password !== undefined ? 'password' : roles !== undefined ? 'roles' : isDisabled ? 'disable' : 'enable'
      const change = { roles, isDisabled, passwordHash }
      const user = await audited(`user ${command}`, `user:${name}`, () => changeUser(database, name, change))
      return { ...user, problems: unknownAliases(roles ?? null, place) }
    },
    removeUser: (name) => audited('user remove', `user:${name}`, () => removeUser(database, name)),
    listTokens: () => listTokens(database),
    async createToken({ name, owner, roles, expiresAt }) {
      const expiresAtMs = expiresAt === undefined ? undefined : Date.parse(expiresAt)
      const token = { name, owner, roles, expiresAtMs, isByAdministrator: true }
      const subject = ({ id }: { readonly id: string }): string => `token:${id}`
      return withProblems(await audited('token create', subject, () => createToken(database, token)))
    },
    revokeToken: async (id) => void (await audited('token revoke', `token:${id}`, () => revokeToken(database, id))),
    listRoles: () => listRoles(database),
    getRole: async (name) => checked(await findRole(database, name)),
    addRole: async ({ name, ...role }) =>
      checked(await audited('role add', `role:${name}`, () => addRole(database, name, role))),
    updateRole: async (name, change) =>
      checked(await audited('role set', `role:${name}`, () => changeRole(database, name, change))),
    removeRole: (name) => audited('role remove', `role:${name}`, () => removeRole(database, name)),
  }
}

/** Checks grants against the configured stores that can be read while a server uses them. */
async function checkedRole(role: RoleRecord, { federatedDatabases }: SecurityPlace, note: (message: string) => void) {
  if (role.grants.length === 0) return { ...role, problems: [] }
  const fds: GrantChecking[] = []
  for (const { alias, store } of federatedDatabases) {
    const exists = !store.startsWith('memory:') && existsSync(storeDirectory(store) ?? '.')
    try {
      if (!exists) throw new Error('its store is not there')
      const found = await grantProblemsIn(store, role.grants)
      fds.push({ alias, grantProblems: async () => found })
    } catch (error) {
      note(
        `The grants could not be checked against the federated database ${alias}: ${messageOf(error)}. With --url, a server that has it open checks them.`,
      )
    }
  }
  if (fds.length > 0) return { ...role, problems: await roleProblems(fds, role.grants) }
  note(
    `What the grants name was not checked. Repeat the command with --url, and a server checks it; GET /v1/security/role/${role.name} tells it too.`,
  )
  return { ...role, problems: [] }
}

/** The server may have federated databases that are missing in this configuration. */
function unknownAliases(roles: readonly string[] | null, { federatedDatabases }: SecurityPlace): string[] {
  const named = federatedDatabases.map(({ alias }) => alias)
  return aliasProblems(roles, named).map(
    (problem) => `${problem.replace('is served', 'is in this configuration')} The server may have it by other options.`,
  )
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
}
