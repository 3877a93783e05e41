/** `ashlar role`: custom roles of a server with authentication. */
import type { AccessGrant, SecurityRole, SecurityRoleChanged } from '@ashlar/client'
import { readGrantsFile } from './read-files.ts'
import type { SecurityContext } from './security-work.ts'

interface RoleOptions {
  readonly grantsFile?: string
  readonly actions?: boolean
  readonly grants?: boolean
}

export async function listRoles({ security, output }: SecurityContext): Promise<void> {
  const roles = await security.listRoles()
  const rows = roles.map(({ name, actions, grants, isBuiltIn }) => {
    return [name, actions.join(' '), String(grants.length), isBuiltIn ? 'built in' : '']
  })
  await output.data(roles, () => output.table(['Name', 'Actions', 'Grants', ''], rows))
}

export async function showRole({ security, output }: SecurityContext, [name]: readonly [string]): Promise<void> {
  const role = await security.getRole(name)
  await output.data(role, () => {
    const grants = JSON.stringify(role.grants, null, 2).split('\n')
    return [`Role ${name}: ${wordsOf(role)}.`, ...grants, ...problemsOf(role)]
  })
}

export async function addRole(
  { security, output }: SecurityContext,
  [name, actions]: readonly [string, readonly string[]],
  { grantsFile }: RoleOptions,
): Promise<void> {
  const role = await security.addRole({ name, actions, ...grantsBody(readGrantsFile(grantsFile)) })
  await output.result(role, () => [`Role ${name} is added: ${wordsOf(role)}.`, ...problemsOf(role)])
}

export async function setRole(
  { security, output }: SecurityContext,
  [name, actions]: readonly [string, readonly string[]],
  { grantsFile, actions: hasActions, grants: hasGrants }: RoleOptions,
): Promise<void> {
  const role = await security.updateRole(name, {
    ...((actions.length > 0 || hasActions === false) && { actions }),
    ...grantsBody(readGrantsFile(grantsFile) ?? (hasGrants === false ? [] : undefined)),
  })
  await output.result(role, () => [`Role ${name}: ${wordsOf(role)}.`, ...problemsOf(role)])
}

export async function removeRole({ security, output }: SecurityContext, [name]: readonly [string]): Promise<void> {
  await security.removeRole(name)
  await output.result({ removed: name }, () => [`Role ${name} is removed.`])
}

function problemsOf({ problems }: SecurityRoleChanged): string[] {
  if (problems.length === 0) return []
  const lines = problems.map(({ fdAlias, grant, field, message }) => {
    return `- Grant ${grant}, ${field}${fdAlias === null ? '' : ` in ${fdAlias}`}: ${message}`
  })
  return ['Grants that do not match the current classes, and therefore have no effect:', ...lines]
}

function wordsOf({ actions, grants }: SecurityRole): string {
  const granted = grants.length === 0 ? [] : [grants.length === 1 ? '1 grant' : `${grants.length} grants`]
  return [...actions, ...granted].join(', ')
}

/** The server validates the grants. */
function grantsBody(grants: unknown): { readonly grants?: readonly AccessGrant[] } {
  return grants === undefined ? {} : { grants: grants as readonly AccessGrant[] }
}
