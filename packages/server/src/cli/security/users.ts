/** `ashlar user`: users of a server with authentication. */
import { randomBytes } from 'node:crypto'
import type { SecurityUserChanged } from '@ashlar/client'
import { readSecretFile } from './read-files.ts'
import type { SecurityContext } from './security-work.ts'

interface PasswordOptions {
  readonly password?: boolean
  readonly passwordFile?: string
}

interface UserOptions extends PasswordOptions {
  readonly role?: readonly string[]
}

export async function listUsers({ security, output }: SecurityContext): Promise<void> {
  const users = await security.listUsers()
  const rows = users.map(({ name, roles, isDisabled, hasPassword, createdAt }) => {
    const notes = [...(isDisabled ? ['disabled'] : []), ...(hasPassword ? [] : ['no password'])]
    return [name, roles.join(' '), notes.join(', '), createdAt]
  })
  await output.data(users, () => output.table(['Name', 'Roles', 'Notes', 'Created'], rows))
}

export async function addUser(
  context: SecurityContext,
  [name]: readonly [string],
  { role = [], ...options }: UserOptions,
): Promise<void> {
  const { password, isGenerated } = passwordOf(options)
  const user = await context.security.addUser({ name, roles: role, ...(password !== undefined && { password }) })
  await printUser(context, user, `User ${name} is added: ${rolesText(user.roles)}.`, isGenerated ? password : undefined)
}

export async function setPassword(
  context: SecurityContext,
  [name]: readonly [string],
  { passwordFile }: PasswordOptions,
): Promise<void> {
  const { password = '', isGenerated } = passwordOf(passwordFile === undefined ? {} : { passwordFile })
  const user = await context.security.updateUser(name, { password })
  const sentence = `User ${name} has another password; the sessions of the user have ended.`
  await printUser(context, user, sentence, isGenerated ? password : undefined)
}

export async function setRoles(
  context: SecurityContext,
  [name, roles]: readonly [string, readonly string[]],
): Promise<void> {
  const user = await context.security.updateUser(name, { roles })
  await printUser(context, user, `User ${name}: ${rolesText(user.roles)}.`)
}

export async function disableUser(context: SecurityContext, [name]: readonly [string]): Promise<void> {
  await printUser(context, await context.security.updateUser(name, { isDisabled: true }), `User ${name} is disabled.`)
}

export async function enableUser(context: SecurityContext, [name]: readonly [string]): Promise<void> {
  await printUser(context, await context.security.updateUser(name, { isDisabled: false }), `User ${name} is enabled.`)
}

export async function removeUser({ security, output }: SecurityContext, [name]: readonly [string]): Promise<void> {
  await security.removeUser(name)
  await output.result({ removed: name }, () => [`User ${name} is removed.`])
}

/** `made`: the generated password, which is printed only this once, also with `--quiet`. */
async function printUser(
  { output }: SecurityContext,
  user: SecurityUserChanged,
  sentence: string,
  made?: string,
): Promise<void> {
  for (const problem of user.problems) output.note(`ashlar: ${problem}`)
  if (made === undefined) return output.result(user, () => [sentence])
  const lines = output.isQuiet ? [made] : [sentence, `The password, which is displayed only once: ${made}`]
  await output.data({ ...user, password: made }, () => lines)
}

function passwordOf({ password: hasPassword, passwordFile }: PasswordOptions): {
  readonly password: string | undefined
  readonly isGenerated: boolean
} {
  if (hasPassword === false) return { password: undefined, isGenerated: false }
  if (passwordFile === undefined) return { password: randomBytes(18).toString('base64url'), isGenerated: true }
  return { password: readSecretFile(passwordFile, 'the password').replace(/\r?\n$/, ''), isGenerated: false }
}

function rolesText(roles: readonly string[]): string {
  return roles.length === 0 ? 'no roles' : `roles ${roles.join(' ')}`
}
