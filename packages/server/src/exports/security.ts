/** The security database and the audit log, for commands on the machine of the server, which need not run (contract 9.2). */
export { AuditFile } from '../audit/audit-file.ts'
export { problemEntry, ServerError } from '../errors/server-errors.ts'
export { addRole, changeRole, findRole, listRoles, type RoleRecord, removeRole } from '../security/custom-roles.ts'
export { PasswordHashes, refuseCommonPassword } from '../security/password-hashes.ts'
export { aliasProblems, type GrantChecking, type RoleProblem, roleProblems } from '../security/role-problems.ts'
export { SecurityDatabase } from '../security/security-database.ts'
export { createToken, listTokens, revokeToken, type TokenRecord } from '../security/tokens.ts'
export { addUser, changeUser, listUsers, removeUser, type UserRecord } from '../security/users.ts'
