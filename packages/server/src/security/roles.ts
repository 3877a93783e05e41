/** The permissions that operations require, and the permissions that roles grant (contract 9.3). */
import type { Grant as AccessGrant } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'

/**
 * Permissions. `read`, `write` (objects) and `define` (classes and indexes) concern a federated database; `operate` concerns the server: tools,
 * statements of other callers, stopping it. `administer`: users, tokens and roles. `identify`: any authenticated caller. `nothing`: no authentication
 * needed.
 */
export type Need = 'read' | 'write' | 'define' | 'operate' | 'administer' | 'identify' | 'nothing'

export const actions = ['read', 'write', 'define', 'operate', 'administer'] as const
export type PermittedAction = (typeof actions)[number]

export const builtInRoles = {
  reader: ['read'],
  writer: ['read', 'write'],
  designer: ['read', 'define'],
  operator: ['operate'],
  admin: actions,
} as const satisfies Readonly<Record<string, readonly PermittedAction[]>>

export type BuiltInRole = keyof typeof builtInRoles

function isBuiltInRole(name: string): name is BuiltInRole {
  return Object.hasOwn(builtInRoles, name)
}

export function isRole(name: string, customRoles: CustomRoles): boolean {
  return isBuiltInRole(name) || customRoles.has(name)
}

/** A role, and the federated databases for which a caller has it. */
export interface RoleGrant {
  readonly role: string
  /** Undefined: all databases, including ones added later. */
  readonly aliases: readonly string[] | undefined
}

/** A custom role: actions on whole federated databases, and grants for classes, attributes and objects. */
export interface CustomRole {
  readonly actions: readonly PermittedAction[]
  readonly grants: readonly AccessGrant[]
}

export type CustomRoles = ReadonlyMap<string, CustomRole>

export const noCustomRoles: CustomRoles = new Map()

/** Returns no actions for an unknown role. */
export function actionsOf(role: string, customRoles: CustomRoles): readonly PermittedAction[] {
  return isBuiltInRole(role) ? builtInRoles[role] : (customRoles.get(role)?.actions ?? [])
}

/** Returns no grants for an unknown or built-in role. */
export function grantsOf(role: string, customRoles: CustomRoles): readonly AccessGrant[] {
  return isBuiltInRole(role) ? [] : (customRoles.get(role)?.grants ?? [])
}

export const nameForm = /^[A-Za-z0-9][A-Za-z0-9._+@-]{0,127}$/
const roleForm = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const aliasForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/
/** Maximum of grants per caller, and of aliases per grant. */
const grantsMax = 100

/** Parses `role` or `role@alias,alias`. Throws InvalidGrant. */
export function readGrant(text: string): RoleGrant {
  const [role = '', ...rest] = text.trim().split('@')
  const aliases = rest.length === 0 ? undefined : rest.join('@').split(',')
  if (!roleForm.test(role))
    return refuse(text, 'is not a role: write reader, or writer@orders,shop for some federated databases')
  if (aliases !== undefined && (aliases.length > grantsMax || !aliases.every((alias) => aliasForm.test(alias)))) {
    return refuse(text, 'names federated databases that cannot be: write writer@orders,shop')
  }
  return { role, aliases }
}

/** Throws InvalidGrant, also for an unknown role. `isAdministrator`: the message may list the existing roles. */
export function readGrants(
  texts: readonly string[],
  customRoles: CustomRoles,
  isAdministrator: boolean,
): readonly RoleGrant[] {
  if (texts.length > grantsMax) {
    throw new ServerError(
      'InvalidGrant',
      `A caller has at most ${grantsMax} roles; a role may name several federated databases.`,
    )
  }
  const grants = texts.map(readGrant)
  for (const { role } of grants) {
    if (isRole(role, customRoles)) continue
    const builtIn = `built in are ${Object.keys(builtInRoles).join(', ')}`
    const custom = isAdministrator ? `; ${customRolesText([...customRoles.keys()])}` : ''
    throw new ServerError('InvalidGrant', `There is no role '${role}'; ${builtIn}${custom}.`)
  }
  return grants
}

/** Throws InvalidGrant if the role's actions exceed the holder's: permissions granted to the holder later must not extend existing tokens. */
export function requireWithin(
  texts: readonly string[],
  customRoles: CustomRoles,
  holder: { may(action: PermittedAction, alias: string | undefined): boolean },
): void {
  for (const text of texts) {
    const { role, aliases = [undefined] } = readGrant(text)
    if (actionsOf(role, customRoles).every((action) => aliases.every((alias) => holder.may(action, alias)))) continue
    throw new ServerError('InvalidGrant', `The role '${text.trim()}' allows more than you may do.`)
  }
}

/** Maximum of roles listed in a message. */
const listedMax = 50

/** Lists the custom roles, for administrators only. */
export function customRolesText(names: readonly string[]): string {
  if (names.length === 0) return 'there are no roles of your own'
  const more = names.length > listedMax ? ` and ${names.length - listedMax} more` : ''
  return `roles of your own are ${names.slice(0, listedMax).join(', ')}${more}`
}

/** Formats a grant for `readGrant`. */
export function writeGrant({ role, aliases }: RoleGrant): string {
  return aliases === undefined ? role : `${role}@${aliases.join(',')}`
}

/** Throws InvalidRole. */
export function checkRoleName(name: string): void {
  if (isBuiltInRole(name)) throw new ServerError('InvalidRole', `The role ${name} is built in and cannot be changed.`)
  if (roleForm.test(name)) return
  throw new ServerError(
    'InvalidRole',
    'The name of a role is letters, digits, _ and -, beginning with a letter, at most 64.',
  )
}

function refuse(text: string, problem: string): never {
  throw new ServerError('InvalidGrant', `'${text.slice(0, 100)}' ${problem}.`)
}
