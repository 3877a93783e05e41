/** The operations on roles (contract 9.3). */
import { type OperationReply, param, type ServiceOperation } from '../../dispatch/operation.ts'
import type { FederatedDatabases } from '../../federated-databases.ts'
import { addRole, changeRole, findRole, listRoles, type RoleRecord, removeRole } from '../../security/custom-roles.ts'
import { roleProblems } from '../../security/role-problems.ts'
import type { Security } from '../../security/security.ts'
import type { SecurityDatabase } from '../../security/security-database.ts'
import { Type } from '../../wire/json-schema.ts'
import { ChangeRoleBody, CreateRoleBody, SecurityRole, SecurityRoleChanged } from '../../wire/wire-schemas.ts'
import { readChangeRole, readCreateRole } from './read-role.ts'
import { securityOperation } from './security-operation.ts'

const nameParam = { name: 'The name of the role.' }
const grantErrors = [
  'MalformedRequest',
  'UnknownField',
  'LimitExceeded',
  'QuerySyntaxError',
  'QueryError',
  'InvalidRole',
] as const

async function changed(
  security: Security,
  { all }: FederatedDatabases,
  change: (database: SecurityDatabase) => Promise<RoleRecord>,
): Promise<OperationReply> {
  return withProblems(all, await security.change(change))
}

async function withProblems(all: FederatedDatabases['all'], role: RoleRecord): Promise<OperationReply> {
  return { body: { ...role, problems: await roleProblems(all, role.grants) } }
}

export const roleOperations: readonly ServiceOperation[] = [
  securityOperation({
    method: 'GET',
    path: '/v1/security/role',
    needs: 'administer',
    summary: 'List the roles, including the built-in ones',
    status: 200,
    reply: Type.Array(SecurityRole),
    errors: [],
    run: async ({ database }) => ({ body: await listRoles(database) }),
  }),
  securityOperation({
    method: 'POST',
    path: '/v1/security/role',
    needs: 'administer',
    summary: 'Add a role: actions on whole federated databases, grants for parts of them, or both',
    description:
      '`problems` lists grants that do not match the classes of the federated databases served; they have no effect.',
    status: 201,
    body: CreateRoleBody,
    isBodyCheckedByEngine: true,
    reply: SecurityRoleChanged,
    errors: [...grantErrors, 'RoleExists'],
    run(security, { body, service }) {
      const { name, ...change } = readCreateRole(body)
      return changed(security, service.federatedDatabases, (database) => addRole(database, name, change))
    },
  }),
  securityOperation({
    method: 'GET',
    path: '/v1/security/role/:name',
    needs: 'administer',
    summary: 'A role',
    params: nameParam,
    status: 200,
    description:
      'With its `problems` according to the current classes, which may have changed since the role was created.',
    reply: SecurityRoleChanged,
    errors: ['RoleNotFound'],
    async run({ database }, request) {
      const { all } = request.service.federatedDatabases
      return withProblems(all, await findRole(database, param(request, 'name')))
    },
  }),
  securityOperation({
    method: 'PUT',
    path: '/v1/security/role/:name',
    needs: 'administer',
    summary: 'Change a role',
    description:
      'Omitted fields stay unchanged; the reply to GET can be sent back. Takes effect within a second on all processes; statements of callers who lose rights are ended. `problems` is as for a new role.',
    params: nameParam,
    status: 200,
    body: ChangeRoleBody,
    isBodyCheckedByEngine: true,
    reply: SecurityRoleChanged,
    errors: [...grantErrors, 'RoleNotFound'],
    run(security, request) {
      const name = param(request, 'name')
      const change = readChangeRole(name, request.body)
      return changed(security, request.service.federatedDatabases, (database) => changeRole(database, name, change))
    },
  }),
  securityOperation({
    method: 'DELETE',
    path: '/v1/security/role/:name',
    needs: 'administer',
    summary: 'Remove a role that is not assigned to anybody',
    params: nameParam,
    status: 204,
    errors: ['InvalidRole', 'RoleNotFound', 'RoleInUse'],
    async run(security, request) {
      await security.change((database) => removeRole(database, param(request, 'name')))
      return {}
    },
  }),
]
