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
  const directory = /^lmdb:(.+)$/.exec(address)?.[1]
  if (!mayMake && directory !== undefined && !existsSync(directory)) {
    throw new Error(`There is no security database at ${address}: ashlar serve --auth, or ashlar user add, creates it.`)
  }
  return new SecurityCommands(await SecurityDatabase.open(address), new CommandAudit(place))
}

interface Passworded {
  readonly user: UserRecord
  /** Where it was made here: it is told this once. */
  readonly password: string | undefined
}

export class SecurityCommands {
  private readonly database: SecurityDatabase
  private readonly audit: CommandAudit

  constructor(database: SecurityDatabase, audit: CommandAudit) {
    this.database = database
    this.audit = audit
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

  setRoles(name: string, roles: readonly string[]): Promise<UserRecord> {
    return this.audit.note('user roles', `user:${name}`, () => changeUser(this.database, name, { roles }))
  }

  listUsers(): Promise<UserRecord[]> {
    return listUsers(this.database)
  }

  removeUser(name: string): Promise<void> {
    return this.audit.note('user remove', `user:${name}`, () => removeUser(this.database, name))
  }

  createToken(token: NewToken): Promise<CreatedToken> {
    return this.audit.note(
      'token create',
      ({ id }) => `token:${id}`,
      () => createToken(this.database, token),
    )
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

  findRole(name: string): Promise<RoleRecord> {
    return findRole(this.database, name)
  }

  addRole(name: string, wanted: RoleWords): Promise<RoleRecord> {
    return this.audit.note('role add', `role:${name}`, () => addRole(this.database, name, changeOf(wanted)))
  }

  setRole(name: string, wanted: RoleWords): Promise<RoleRecord> {
    return this.audit.note('role set', `role:${name}`, () => changeRole(this.database, name, changeOf(wanted)))
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
  const text = readFileSync(file === '-' ? 0 : file, 'utf8')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new Error(`The grants in ${file === '-' ? 'standard input' : file} are no JSON: ${(error as Error).message}`)
  }
  return typeof json === 'object' && json !== null && 'grants' in json ? json.grants : json
}

/** `-`: of standard input. Without its last line break; made here without a file. */
function passwordOf(file: string | undefined): string {
  if (file === undefined) return randomBytes(18).toString('base64url')
  return readFileSync(file === '-' ? 0 : file, 'utf8').replace(/\r?\n$/, '')
}
