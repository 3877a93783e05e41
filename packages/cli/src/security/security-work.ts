/** The changes to users, tokens and roles that commands make through a server or on its machine. */
import type { AshlarClient } from '@ashlar/client'
import type { Output } from '../output/output.ts'

/** The part of the client's interface that `on-machine.ts` also implements. */
export type SecurityWork = Pick<
  AshlarClient['security'],
  | 'listUsers'
  | 'addUser'
  | 'updateUser'
  | 'removeUser'
  | 'listTokens'
  | 'createToken'
  | 'revokeToken'
  | 'listRoles'
  | 'getRole'
  | 'addRole'
  | 'updateRole'
  | 'removeRole'
>

export interface SecurityContext {
  readonly security: SecurityWork
  readonly output: Output
}
