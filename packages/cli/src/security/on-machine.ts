/** Users, tokens and roles in the security database itself, on the machine of the server, which need not run (contract 9.2). */
import { existsSync } from 'node:fs'
import type {
  ChangeRoleBody,
  CreateRoleBody,
  CreateTokenBody,
  SecurityUserChanged,
  TokenCreated,
  UpdateUserBody,
} from '@ashlar/client'
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
  type RoleProblem,
  type RoleRecord,
  refuseCommonPassword,
  removeRole,
  removeUser,
  revokeToken,
  roleProblems,
  SecurityDatabase,
  ServerError,
  type TokenRecord,
  type UserRecord,
} from '@ashlar/server/security'
import type { Config } from '@ashlar/server/shared'
import { CommandError } from '../errors/command-error.ts'
import { exitCodeOfStatus, exitCodes } from '../errors/exit-codes.ts'
import { CommandAudit } from './command-audit.ts'
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
    throw new CommandError(exitCodes.notFound, `There is no security database at ${address}: ${hint}`)
  }
  const database = await SecurityDatabase.open(address)
  // Otherwise a mistyped directory would be noticed only when a sign-in fails.
  if (isNew) note(`${address} is a new security database.`)
  try {
    return await work(new MachineSecurity(database, place, note))
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

class MachineSecurity implements SecurityWork {
  private readonly database: SecurityDatabase
  private readonly audit: CommandAudit
  private readonly place: SecurityPlace
  private readonly note: (message: string) => void

  constructor(database: SecurityDatabase, place: SecurityPlace, note: (message: string) => void) {
    this.database = database
    this.audit = new CommandAudit(place)
    this.place = place
    this.note = note
  }

  listUsers(): Promise<UserRecord[]> {
    return listUsers(this.database)
  }

  async addUser({ name, roles = [], password }: Parameters<SecurityWork['addUser']>[0]): Promise<SecurityUserChanged> {
    const passwordHash = password === undefined ? undefined : await hashOf(password, name)
    const user = await this.audit.note('user add', `user:${name}`, () =>
      addUser(this.database, { name, roles, passwordHash }),
    )
    return { ...user, problems: this.unknownAliases(roles) }
  }

  async updateUser(name: string, { roles, isDisabled, password }: UpdateUserBody): Promise<SecurityUserChanged> {
    const passwordHash = password === undefined ? undefined : await hashOf(password, name)
    const command =
      password !== undefined ? 'password' : roles !== undefined ? 'roles' : isDisabled ? 'disable' : 'enable'
    const user = await this.audit.note(`user ${command}`, `user:${name}`, () =>
      changeUser(this.database, name, { roles, isDisabled, passwordHash }),
    )
    return { ...user, problems: this.unknownAliases(roles) }
  }

  removeUser(name: string): Promise<void> {
    return this.audit.note('user remove', `user:${name}`, () => removeUser(this.database, name))
  }

  listTokens(): Promise<TokenRecord[]> {
    return listTokens(this.database)
  }

  async createToken({ name, owner, roles, expiresAt }: CreateTokenBody): Promise<TokenCreated> {
    const expiresAtMs = expiresAt === undefined ? undefined : Date.parse(expiresAt)
    const created = await this.audit.note(
      'token create',
      ({ id }) => `token:${id}`,
      () => createToken(this.database, { name, owner, roles, expiresAtMs, isByAdministrator: true }),
    )
    return { ...created, problems: this.unknownAliases(created.roles) }
  }

  async revokeToken(id: string): Promise<void> {
    await this.audit.note('token revoke', `token:${id}`, () => revokeToken(this.database, id))
  }

  listRoles(): Promise<RoleRecord[]> {
    return listRoles(this.database)
  }

  async getRole(name: string) {
    return this.checked(await findRole(this.database, name))
  }

  async addRole({ name, ...role }: CreateRoleBody) {
    return this.checked(await this.audit.note('role add', `role:${name}`, () => addRole(this.database, name, role)))
  }

  async updateRole(name: string, change: ChangeRoleBody) {
    return this.checked(
      await this.audit.note('role set', `role:${name}`, () => changeRole(this.database, name, change)),
    )
  }

  removeRole(name: string): Promise<void> {
    return this.audit.note('role remove', `role:${name}`, () => removeRole(this.database, name))
  }

  /** Checks grants against the configured stores that can be read while a server uses them. */
  private async checked(role: RoleRecord): Promise<RoleRecord & { readonly problems: readonly RoleProblem[] }> {
    if (role.grants.length === 0) return { ...role, problems: [] }
    const fds: GrantChecking[] = []
    for (const { alias, store } of this.place.federatedDatabases) {
      const exists = !store.startsWith('memory:') && existsSync(storeDirectory(store) ?? '.')
      try {
        if (!exists) throw new Error('its store is not there')
        const found = await grantProblemsIn(store, role.grants)
        fds.push({ alias, grantProblems: async () => found })
      } catch (error) {
        this.note(
          `The grants could not be checked against the federated database ${alias}: ${messageOf(error)}. With --url, a server that has it open checks them.`,
        )
      }
    }
    if (fds.length > 0) return { ...role, problems: await roleProblems(fds, role.grants) }
    this.note(
      `What the grants name was not checked. Repeat the command with --url, and a server checks it; GET /v1/security/role/${role.name} tells it too.`,
    )
    return { ...role, problems: [] }
  }

  /** The server may have federated databases that are missing in this configuration. */
  private unknownAliases(roles: readonly string[] | null | undefined): string[] {
    const named = this.place.federatedDatabases.map(({ alias }) => alias)
    return aliasProblems(roles ?? null, named).map(
      (problem) =>
        `${problem.replace('is served', 'is in this configuration')} The server may have it by other options.`,
    )
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
}
