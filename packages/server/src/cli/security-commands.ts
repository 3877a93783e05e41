/** What the commands on users, tokens and roles do; loaded when one of them is run. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import {
  addRole,
  changeRole,
  findRole,
  listRoles,
  type RoleChange,
  type RoleRecord,
  removeRole,
} from '../security/own-roles.ts'
import { PasswordHashes } from '../security/password-hashes.ts'
import { aliasProblems, type GrantChecking, type RoleProblem, roleProblems } from '../security/role-problems.ts'
import { tokenIdOf } from '../security/secrets.ts'
import { SecurityDatabase } from '../security/security-database.ts'
import {
  type CreatedToken,
  createToken,
  listTokens,
  type NewToken,
  revokeToken,
  type TokenRecord,
} from '../security/tokens.ts'
import { addUser, changeUser, listUsers, removeUser, type UserRecord } from '../security/users.ts'
import { CommandAudit } from './command-audit.ts'
import type { SecurityPlace } from './security-store.ts'

/** The commands on the security database of that place. Throws an Error with a sentence. */
export async function securityCommands(place: SecurityPlace, mayMake = false): Promise<SecurityCommands> {
  const { securityStore: address } = place
  const directory = directoryOf(address)
  if (!mayMake && directory !== undefined && !existsSync(directory)) {
    throw new Error(`There is no security database at ${address}: ashlar serve --auth, or ashlar user add, creates it.`)
  }
  return new SecurityCommands(await SecurityDatabase.open(address), place)
}

function directoryOf(address: string): string | undefined {
  return /^lmdb:(.+)$/.exec(address)?.[1]
}

/** Beside the result, so that JSON stays what it is. */
function note(message: string): void {
  process.stderr.write(`ashlar: ${message}\n`)
}

export interface CheckedRole extends RoleRecord {
  readonly problems: readonly RoleProblem[]
}

interface Passworded {
  readonly user: UserRecord
  /** Where it was made here: it is told this once. */
  readonly password: string | undefined
}

export class SecurityCommands {
  private readonly database: SecurityDatabase
  private readonly audit: CommandAudit
  private readonly place: SecurityPlace

  constructor(database: SecurityDatabase, place: SecurityPlace) {
    this.database = database
    this.audit = new CommandAudit(place)
    this.place = place
  }

  /** Closes the database when `work` is done. */
  async finally<T>(work: (commands: SecurityCommands) => Promise<T>): Promise<T> {
    try {
      return await work(this)
    } finally {
      await this.database.close()
    }
  }

  /** `passwordFile`: false for a user without a password; undefined for one that is made here. */
  async addUser(name: string, roles: readonly string[], passwordFile: string | false | undefined): Promise<Passworded> {
    const password = passwordFile === false ? undefined : passwordOf(passwordFile)
    const passwordHash = password === undefined ? undefined : await new PasswordHashes().hash(password)
    const user = await this.audit.note('user add', `user:${name}`, () =>
      addUser(this.database, { name, roles, passwordHash }),
    )
    this.noteAliases(roles)
    return { user, password: passwordFile === undefined ? password : undefined }
  }

  async setPassword(name: string, passwordFile: string | undefined): Promise<Passworded> {
    const password = passwordOf(passwordFile)
    const passwordHash = await new PasswordHashes().hash(password)
    const user = await this.audit.note('user password', `user:${name}`, () =>
      changeUser(this.database, name, { passwordHash }),
    )
    return { user, password: passwordFile === undefined ? password : undefined }
  }

  setDisabled(name: string, isDisabled: boolean): Promise<UserRecord> {
    const command = isDisabled ? 'user disable' : 'user enable'
    return this.audit.note(command, `user:${name}`, () => changeUser(this.database, name, { isDisabled }))
  }

  async setRoles(name: string, roles: readonly string[]): Promise<UserRecord> {
    const user = await this.audit.note('user roles', `user:${name}`, () => changeUser(this.database, name, { roles }))
    this.noteAliases(roles)
    return user
  }

  listUsers(): Promise<UserRecord[]> {
    return listUsers(this.database)
  }

  removeUser(name: string): Promise<void> {
    return this.audit.note('user remove', `user:${name}`, () => removeUser(this.database, name))
  }

  async createToken(token: NewToken): Promise<CreatedToken> {
    const created = await this.audit.note<CreatedToken>(
      'token create',
      ({ id }) => `token:${id}`,
      () => createToken(this.database, token),
    )
    this.noteAliases(token.roles)
    return created
  }

  listTokens(): Promise<TokenRecord[]> {
    return listTokens(this.database)
  }

  /** The id. `text`: that, or the token itself, of which nothing else may get into the log. */
  revokeToken(text: string): Promise<string> {
    const subject = `token:${tokenIdOf(text) ?? '?'}`
    return this.audit.note('token revoke', subject, () => revokeToken(this.database, text))
  }

  listRoles(): Promise<RoleRecord[]> {
    return listRoles(this.database)
  }

  async findRole(name: string): Promise<CheckedRole> {
    return this.checked(await findRole(this.database, name))
  }

  async addRole(name: string, wanted: RoleWords): Promise<CheckedRole> {
    const change = changeOf(wanted)
    return this.checked(await this.audit.note('role add', `role:${name}`, () => addRole(this.database, name, change)))
  }

  async setRole(name: string, wanted: RoleWords): Promise<CheckedRole> {
    const change = changeOf(wanted)
    return this.checked(
      await this.audit.note('role set', `role:${name}`, () => changeRole(this.database, name, change)),
    )
  }

  /** By the stores that the configuration names, as far as they can be read beside a server. */
  private async checked(role: RoleRecord): Promise<CheckedRole> {
    if (role.grants.length === 0) return { ...role, problems: [] }
    const { grantProblemsIn } = await import('@ashlar/engine')
    const fds: GrantChecking[] = []
    for (const { alias, store } of this.place.federatedDatabases) {
      const isThere = !store.startsWith('memory:') && existsSync(directoryOf(store) ?? '.')
      try {
        if (!isThere) throw new Error('its store is not there')
        const found = await grantProblemsIn(store, role.grants)
        fds.push({ alias, grantProblems: async () => found })
      } catch (error) {
        note(`The grants could not be checked against the federated database ${alias}: ${(error as Error).message}.`)
      }
    }
    if (fds.length > 0) return { ...role, problems: await roleProblems(fds, role.grants) }
    note(`What the grants name was not checked. A server tells it: GET /v1/security/role/${role.name}, and its log.`)
    return { ...role, problems: [] }
  }

  /** The server may have federated databases that this configuration does not name. */
  private noteAliases(roles: readonly string[] | null | undefined): void {
    const named = this.place.federatedDatabases.map(({ alias }) => alias)
    for (const problem of aliasProblems(roles ?? null, named)) {
      note(`${problem.replace('is served', 'is in this configuration')} The server may have it by other options.`)
    }
  }

  removeRole(name: string): Promise<void> {
    return this.audit.note('role remove', `role:${name}`, () => removeRole(this.database, name))
  }
}

/** Undefined: as it is. */
export interface RoleWords {
  readonly actions: readonly string[] | undefined
  /** False for none. */
  readonly grantsFile: string | false | undefined
}

function changeOf({ actions, grantsFile }: RoleWords): RoleChange {
  return { actions, grants: grantsFile === false ? [] : grantsFile && grantsOf(grantsFile) }
}

/** `-`: of standard input. An array, or a role as it is shown, of which the grants are taken. */
function grantsOf(file: string): unknown {
  const text = textOf(file, 'grants')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new Error(`The grants in ${file === '-' ? 'standard input' : file} are no JSON: ${(error as Error).message}`)
  }
  return typeof json === 'object' && json !== null && 'grants' in json ? json.grants : json
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'you may not read it',
  EISDIR: 'it is a directory',
}

/** Throws an Error with a sentence. */
function textOf(file: string, what: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new Error(`The file with ${what}, ${file}, cannot be read: ${reasons[code] ?? message}.`, { cause: error })
  }
}

/** `-`: of standard input. Without its last line break; made here without a file. */
function passwordOf(file: string | undefined): string {
  if (file === undefined) return randomBytes(18).toString('base64url')
  return textOf(file, 'the password').replace(/\r?\n$/, '')
}
