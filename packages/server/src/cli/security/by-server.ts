/** Users, tokens and roles by `/v1/security` of a server that runs (contract 9.2). */
import type { AccessGrant, AshlarClient, SecurityUserChanged, TokenCreated } from '@ashlar/client'
import { noTokenId, tokenIdOf } from '../../security/secrets.ts'
import { CommandError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { RoleWords, SecurityWork, TokenWords } from './security-work.ts'

/** The server looks at the grants, and tells what is wrong with them. */
function roleBody({ actions, grants }: RoleWords) {
  return {
    ...(actions !== undefined && { actions }),
    ...(grants !== undefined && { grants: grants as readonly AccessGrant[] }),
  }
}

export function securityByServer({ security }: AshlarClient): SecurityWork {
  const update = (name: string, change: Parameters<typeof security.updateUser>[1]): Promise<SecurityUserChanged> =>
    security.updateUser(name, change)
  return {
    listUsers: () => security.listUsers(),
    addUser: (name, roles, password) => security.addUser({ name, roles, ...(password !== undefined && { password }) }),
    setPassword: (name, password) => update(name, { password }),
    setRoles: (name, roles) => update(name, { roles }),
    setDisabled: (name, isDisabled) => update(name, { isDisabled }),
    removeUser: (name) => security.removeUser(name),

    listTokens: () => security.listTokens(),
    createToken: ({ name, owner, roles, expiresAtMs }: TokenWords): Promise<TokenCreated> =>
      security.createToken({
        name,
        ...(owner !== undefined && { owner }),
        ...(roles !== undefined && { roles }),
        ...(expiresAtMs !== undefined && { expiresAt: new Date(expiresAtMs).toISOString() }),
      }),
    async revokeToken(text) {
      const id = tokenIdOf(text)
      if (id === undefined) throw new CommandError(exitCodes.notFound, noTokenId)
      await security.revokeToken(id)
      return id
    },

    listRoles: () => security.listRoles(),
    findRole: (name) => security.getRole(name),
    addRole: (name, words) => security.addRole({ name, ...roleBody(words) }),
    setRole: (name, words) => security.updateRole(name, roleBody(words)),
    removeRole: (name) => security.removeRole(name),
  }
}
