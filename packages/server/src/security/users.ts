/** Creation, listing, changes and removal of users (contract 9.2). */
import { AshlarError } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import { customRolesOf } from './custom-roles.ts'
import { type CustomRoles, nameForm, readGrant, readGrants, writeGrant } from './roles.ts'
import type { SecurityChange, SecurityDatabase } from './security-database.ts'
import { className } from './security-schema.ts'

export interface UserRecord {
  readonly name: string
  readonly roles: readonly string[]
  readonly isDisabled: boolean
  readonly hasPassword: boolean
  readonly createdAt: string
}

export interface StoredUser {
  readonly __identifier__: string
  readonly name: string
  readonly passwordHash: string
  readonly roles: readonly string[]
  readonly isDisabled: boolean
  readonly createdAtMs: number
  readonly tokens: readonly string[]
  readonly sessions: readonly string[]
}

export interface NewUser {
  readonly name: string
  /** Grants as text. */
  readonly roles: readonly string[]
  /** Undefined: none; the user can then only use tokens. */
  readonly passwordHash: string | undefined
}

export interface UserChange {
  readonly roles?: readonly string[] | undefined
  readonly isDisabled?: boolean | undefined
  /** Ends the sessions of the user. */
  readonly passwordHash?: string | undefined
  /** The hash of the verified password: the change is refused if the password has changed since. */
  readonly checkedHash?: string | undefined
}

type Reader = Pick<SecurityDatabase, 'rows'>

export function userRecord({ name, roles, isDisabled, passwordHash, createdAtMs }: StoredUser): UserRecord {
  return { name, roles, isDisabled, hasPassword: passwordHash !== '', createdAt: new Date(createdAtMs).toISOString() }
}

export async function findUser(reader: Reader, name: string): Promise<StoredUser | undefined> {
  return (await reader.rows<StoredUser>(`FROM ${className.user} WHERE name = $name RETURN *`, { name }))[0]
}

export async function listUsers(reader: Reader): Promise<UserRecord[]> {
  return (await reader.rows<StoredUser>(`FROM ${className.user} ORDER BY name RETURN *`)).map(userRecord)
}

/** Throws InvalidUserName, InvalidGrant, UserExists. */
export async function addUser(database: SecurityDatabase, user: NewUser): Promise<UserRecord> {
  if (!nameForm.test(user.name)) {
    const form = 'letters, digits and . _ + @ -, beginning with a letter or digit, at most 128'
    throw new ServerError('InvalidUserName', `The name of a user is ${form}.`)
  }
  // The change increments the revision, so that of two concurrent additions the second one sees the first.
  return database.change(async (change) => {
    const text = `FROM ${className.user} WHERE LOWER(name) = $lower TAKE 1 RETURN name`
    const [existing] = await change.rows<Pick<StoredUser, 'name'>>(text, { lower: user.name.toLowerCase() })
    if (existing !== undefined) {
      const problem = existing.name === user.name ? '' : '; names must differ by more than upper and lower case'
      throw new ServerError('UserExists', `There is a user '${existing.name}' already${problem}.`)
    }
    await createUser(change, user, await customRolesOf(change))
    return userRecord((await findUser(change, user.name)) as StoredUser)
  })
}

async function createUser(
  change: SecurityChange,
  { name, roles, passwordHash = '' }: NewUser,
  customRoles: CustomRoles,
): Promise<void> {
  const grants = readGrants(roles, customRoles, true).map(writeGrant)
  await change.create(className.user, { name, roles: grants, passwordHash, isDisabled: false, createdAtMs: Date.now() })
}

/** Adds the first user if there is none. Returns true in the process that has added it. */
export function addFirstUser(database: SecurityDatabase, user: NewUser): Promise<boolean> {
  return database.note(async (change) => {
    const users = await change.rows(`FROM ${className.user} TAKE 1 RETURN name`)
    if (users.length > 0) return false
    await createUser(change, user, await customRolesOf(change))
    return true
  })
}

/** Throws UserNotFound, InvalidGrant, LastAdministrator, and Forbidden if the password does not match `checkedHash`. */
export function changeUser(database: SecurityDatabase, name: string, requested: UserChange): Promise<UserRecord> {
  return database.change(async (change) => {
    const user = await requireUser(change, name)
    const { roles, isDisabled, passwordHash, checkedHash = user.passwordHash } = requested
    if (checkedHash !== user.passwordHash) throw wrongCurrentPassword()
    const grants =
      roles === undefined ? undefined : readGrants(roles, await customRolesOf(change), true).map(writeGrant)
    await requireAdministratorAfter(change, async () => {
      await change.update(user.__identifier__, {
        ...(grants !== undefined && { roles: grants }),
        ...(isDisabled !== undefined && { isDisabled }),
        ...(passwordHash !== undefined && { passwordHash }),
      })
    })
    if (passwordHash !== undefined || isDisabled === true) for (const oid of user.sessions) await change.delete(oid)
    return userRecord((await findUser(change, name)) as StoredUser)
  })
}

export function wrongCurrentPassword(): AshlarError {
  return new AshlarError('Forbidden', 'The current password is not right.')
}

/** Also removes the tokens and sessions of the user. Throws UserNotFound, LastAdministrator. */
export function removeUser(database: SecurityDatabase, name: string): Promise<void> {
  return database.change(async (change) => {
    const user = await requireUser(change, name)
    await requireAdministratorAfter(change, async () => {
      for (const oid of [...user.tokens, ...user.sessions]) await change.delete(oid)
      await change.delete(user.__identifier__)
    })
  })
}

async function requireUser(reader: Reader, name: string): Promise<StoredUser> {
  const user = await findUser(reader, name)
  if (user !== undefined) return user
  throw new ServerError('UserNotFound', `There is no user '${name.slice(0, 100)}'.`)
}

/** Whether only administrators may change a user or token with these roles. */
const isForAdministrators = (roles: readonly string[]): boolean =>
  roles.map(readGrant).some(({ role, aliases }) => role === 'admin' && aliases === undefined)

/** Refuses a change that leaves no administrator, after which users could only be changed by the command line on the machine. */
async function requireAdministratorAfter(change: SecurityChange, act: () => Promise<void>): Promise<void> {
  const had = await hasAdministrator(change)
  await act()
  if (!had || (await hasAdministrator(change))) return
  throw new ServerError(
    'LastAdministrator',
    'There would be no administrator left: give another user the role admin first.',
  )
}

/** Whether an enabled administrator can authenticate, by a password or an unexpired token. */
async function hasAdministrator(reader: Reader): Promise<boolean> {
  const users = await reader.rows<Pick<StoredUser, 'name' | 'roles' | 'passwordHash'>>(
    `FROM ${className.user} WHERE isDisabled = false RETURN name, roles, passwordHash`,
  )
  const administrators = users.filter(({ roles }) => isForAdministrators(roles))
  if (administrators.some(({ passwordHash }) => passwordHash !== '')) return true
  const names = administrators.map(({ name }) => name)
  const tokens = await reader.rows<{ readonly roles: readonly string[]; readonly hasRoles: boolean }>(
    `FROM ${className.token} WHERE owner.name IN $names AND (expiresAtMs = 0 OR expiresAtMs > $now) RETURN roles, hasRoles`,
    { names, now: Date.now() },
  )
  return tokens.some(({ roles, hasRoles }) => !hasRoles || isForAdministrators(roles))
}
