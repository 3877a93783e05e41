/** What commands do to users, tokens and roles: by a server, or on its machine. */
import type {
  SecurityRole,
  SecurityRoleChanged,
  SecurityToken,
  SecurityUser,
  SecurityUserChanged,
  TokenCreated,
} from '@ashlar/client'
import type { Output } from '../output.ts'

export interface RoleWords {
  /** Undefined: as they are. */
  readonly actions: readonly string[] | undefined
  /** JSON that nobody has looked at. Undefined: as they are. */
  readonly grants: unknown
}

export interface TokenWords {
  readonly name: string
  readonly owner: string | undefined
  /** Undefined: those of the owner. */
  readonly roles: readonly string[] | undefined
  readonly expiresAtMs: number | undefined
}

/** `problems` of what they resolve with allow or hide nothing. They reject with what is told by `printCommandError`. */
export interface SecurityWork {
  listUsers(): Promise<readonly SecurityUser[]>
  /** `password`: undefined for a user without one. */
  addUser(name: string, roles: readonly string[], password: string | undefined): Promise<SecurityUserChanged>
  setPassword(name: string, password: string): Promise<SecurityUserChanged>
  setRoles(name: string, roles: readonly string[]): Promise<SecurityUserChanged>
  setDisabled(name: string, isDisabled: boolean): Promise<SecurityUserChanged>
  removeUser(name: string): Promise<void>

  listTokens(): Promise<readonly SecurityToken[]>
  createToken(words: TokenWords): Promise<TokenCreated>
  /** The id. `text`: that, or the token itself, which no message may repeat. */
  revokeToken(text: string): Promise<string>

  listRoles(): Promise<readonly SecurityRole[]>
  findRole(name: string): Promise<SecurityRoleChanged>
  addRole(name: string, words: RoleWords): Promise<SecurityRoleChanged>
  setRole(name: string, words: RoleWords): Promise<SecurityRoleChanged>
  removeRole(name: string): Promise<void>
}

export interface SecurityContext {
  readonly security: SecurityWork
  readonly output: Output
}
