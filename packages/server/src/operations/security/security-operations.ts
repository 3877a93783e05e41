/** The operations on users, tokens, sessions and roles (contract 9.2); who asks has to be their administrator, but for what is its own. */
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
