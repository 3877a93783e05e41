/** A server in this process with authentication: its security database is in memory, with an administrator. */
import { expect, onTestFinished } from 'vitest'
import { Security } from '../../src/security/security.ts'
import { SecurityDatabase } from '../../src/security/security-database.ts'
import { createToken, type NewToken } from '../../src/security/tokens.ts'
import { addUser } from '../../src/security/users.ts'
import { openServer, type ServerSetting, type TestServer } from './open-server.ts'

export interface SecureServer {
  readonly app: TestServer
  readonly security: Security
  /** The Authorization header of a new token. */
  token(wanted: Partial<NewToken>): Promise<string>
  /** Adds a user; the Authorization header by its password. */
  user(name: string, roles: readonly string[]): Promise<string>
}

export const passwordOf = (name: string): string => `the password of ${name}`

export function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}

export async function openSecurity(schemes: SecureSetting['schemes']): Promise<Security> {
  const onFault = (error: unknown): never => {
    throw error
  }
  const security = new Security(await SecurityDatabase.open('memory:'), onFault, schemes)
  await security.start()
  onTestFinished(async () => {
    expect(await security.database.problems()).toEqual([])
    await security.close()
  })
  return security
}

interface SecureSetting extends ServerSetting {
  /** Beside those of the security database. */
  readonly schemes?: ConstructorParameters<typeof Security>[2]
}

export async function openSecureServer({ schemes, ...setting }: SecureSetting = {}): Promise<SecureServer> {
  const security = await openSecurity(schemes)
  const { app } = await openServer({ ...setting, security })
  const user = async (name: string, roles: readonly string[]): Promise<string> => {
    const passwordHash = await security.hashes.hash(passwordOf(name))
    await security.change((database) => addUser(database, { name, roles, passwordHash }))
    return basic(name, passwordOf(name))
  }
  const token = async (wanted: Partial<NewToken>): Promise<string> => {
    const whole = { name: 'a token', owner: undefined, roles: undefined, expiresAtMs: undefined, ...wanted }
    return `Bearer ${(await createToken(security.database, whole)).token}`
  }
  await user('admin', ['admin'])
  return { app, security, token, user }
}
