/** The operations on users, tokens, sessions and roles (contract 9.2), for administrators, and for users on their own data. */
import type { ServiceOperation } from '../../dispatch/operation.ts'
import { roleOperations } from './roles.ts'
import { sessionOperations } from './sessions.ts'
import { tokenOperations } from './tokens.ts'
import { userOperations } from './users.ts'

export const securityOperations: readonly ServiceOperation[] = [
  ...sessionOperations,
  ...userOperations,
  ...tokenOperations,
  ...roleOperations,
]
