/** Creation, listing and revocation of tokens (contract 9.2). */
import { ServerError } from '../errors/server-errors.ts'
import { lastUseMsMin, tokensPerUserMax } from '../limits.ts'
import { customRolesOf } from './custom-roles.ts'
import { readGrants, writeGrant } from './roles.ts'
import { digestText, makeSecret, noTokenId, tokenIdOf, writeToken } from './secrets.ts'
import type { SecurityDatabase } from './security-database.ts'
import { className } from './security-schema.ts'
import { findUser } from './users.ts'

export interface TokenRecord {
  readonly id: string
  readonly name: string
  readonly owner: string | null
  /** Null: the roles of the owner. */
  readonly roles: readonly string[] | null
  readonly createdAt: string
  readonly expiresAt: string | null
  /** Precise to the minute. */
  readonly lastUsedAt: string | null
}

export interface NewToken {
  /** A description for people. */
  readonly name: string
  readonly owner: string | undefined
  /** Undefined: the roles of the owner. */
  readonly roles: readonly string[] | undefined
  readonly expiresAtMs: number | undefined
  /** The error for an unknown role may then list the existing roles. */
  readonly isByAdministrator?: boolean
}

/** A new token with its text, which is returned only this once. */
export interface CreatedToken extends TokenRecord {
  readonly token: string
}

interface StoredToken {
  readonly tokenId: string
  readonly name: string
  readonly roles: readonly string[]
  readonly hasRoles: boolean
  readonly 'owner.name': string | null
  readonly createdAtMs: number
  readonly expiresAtMs: number
  readonly lastUsedAtMs: number
}

type Reader = Pick<SecurityDatabase, 'rows'>

const columns = 'tokenId, name, roles, hasRoles, owner.name, createdAtMs, expiresAtMs, lastUsedAtMs'

/** `owner`: only tokens of that user. */
export async function listTokens(reader: Reader, owner?: string): Promise<TokenRecord[]> {
  const where = owner === undefined ? '' : 'WHERE owner.name = $owner '
  const text = `FROM ${className.token} ${where}ORDER BY createdAtMs, tokenId RETURN ${columns}`
  return (await reader.rows<StoredToken>(text, owner === undefined ? {} : { owner })).map(tokenRecord)
}

/** Throws InvalidToken, InvalidGrant, UserNotFound. */
export async function createToken(database: SecurityDatabase, requested: NewToken): Promise<CreatedToken> {
  const { name, owner, roles, expiresAtMs = 0, isByAdministrator = false } = requested
  check(requested)
  const secret = makeSecret()
  return database.note(async (change) => {
    const user = owner === undefined ? undefined : await findUser(change, owner)
    if (owner !== undefined && user === undefined)
      throw new ServerError('UserNotFound', `There is no user '${owner.slice(0, 100)}'.`)
    if (user !== undefined && user.tokens.length >= tokensPerUserMax) {
      throw new ServerError('InvalidToken', `A user has ${tokensPerUserMax} tokens at most: revoke some.`)
    }
    const grants =
      roles === undefined ? [] : readGrants(roles, await customRolesOf(change), isByAdministrator).map(writeGrant)
    await change.create(className.token, {
      tokenId: secret.id,
      name,
      secretHash: digestText(secret.secret),
      roles: grants,
      hasRoles: roles !== undefined,
      owner: user?.__identifier__ ?? null,
      createdAtMs: Date.now(),
      expiresAtMs,
      lastUsedAtMs: 0,
    })
    const [stored] = await change.rows<StoredToken>(`FROM ${className.token} WHERE tokenId = $id RETURN ${columns}`, {
      id: secret.id,
    })
    return { ...tokenRecord(stored as StoredToken), token: writeToken(secret) }
  })
}

/** Returns the ID. `text`: the ID, or the whole token. `owner`: only a token of that user. Throws TokenNotFound. */
export async function revokeToken(database: SecurityDatabase, text: string, owner?: string): Promise<string> {
  const id = tokenIdOf(text)
  if (id === undefined) throw new ServerError('TokenNotFound', noTokenId)
  await database.change(async (change) => {
    const [token] = await change.rows<{ readonly __identifier__: string; readonly owner: string | null }>(
      `FROM ${className.token} WHERE tokenId = $id RETURN *`,
      { id },
    )
    const isOwned =
      owner === undefined || (token !== undefined && token.owner === (await findUser(change, owner))?.__identifier__)
    if (token === undefined || !isOwned) throw new ServerError('TokenNotFound', `There is no token '${id}'.`)
    await change.delete(token.__identifier__)
  })
  return id
}

/** Records last uses. `times`: by token ID. */
export async function noteUses(database: SecurityDatabase, times: ReadonlyMap<string, number>): Promise<void> {
  await database.note(async (change) => {
    for (const [id, usedAtMs] of times) {
      const [token] = await change.rows<{ readonly __identifier__: string; readonly lastUsedAtMs: number }>(
        `FROM ${className.token} WHERE tokenId = $id RETURN *`,
        { id },
      )
      if (token === undefined || usedAtMs - token.lastUsedAtMs < lastUseMsMin) continue
      await change.update(token.__identifier__, { lastUsedAtMs: usedAtMs })
    }
  })
}

function check({ name, owner, roles, expiresAtMs }: NewToken): void {
  const refuse = (problem: string): never => {
    throw new ServerError('InvalidToken', problem)
  }
  if (name.length === 0 || name.length > 128) refuse('The name of a token has 1 to 128 characters.')
  if (owner === undefined && (roles === undefined || roles.length === 0)) {
    refuse('A token without an owner needs roles of its own.')
  }
  if (expiresAtMs !== undefined && !(expiresAtMs > Date.now())) refuse('A token expires in the future.')
}

function tokenRecord(stored: StoredToken): TokenRecord {
  const { tokenId: id, name, roles, hasRoles, createdAtMs, expiresAtMs, lastUsedAtMs } = stored
  return {
    id,
    name,
    owner: stored['owner.name'],
    roles: hasRoles ? roles : null,
    createdAt: new Date(createdAtMs).toISOString(),
    expiresAt: timeOrNull(expiresAtMs),
    lastUsedAt: timeOrNull(lastUsedAtMs),
  }
}

function timeOrNull(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString()
}
