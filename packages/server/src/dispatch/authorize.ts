/** Where authorisation stands: every operation passes here before it runs, alone or in a transaction (contract 9.3). */
import type { FederatedDatabase } from '@ashlar/engine'
import { ServerError } from '../errors/server-errors.ts'
import { unauthenticated } from '../security/authenticator.ts'
import type { Caller } from '../security/caller.ts'
import type { Need } from '../security/roles.ts'

/**
 * Throws Unauthenticated, Forbidden. `needs`: where it is a function, it is asked only for callers who may do anything at all, since that of a query takes
 * parsing its text; it may throw what the query would be refused for. `fd`: undefined for operations on the service.
 */
export function authorize(caller: Caller, needs: Need | (() => Need), fd: FederatedDatabase | undefined): void {
  if (caller.kind === 'everyone') return
  if (typeof needs === 'function' && fd !== undefined && !caller.mayAnything(fd.alias)) refuse(caller, 'use', fd)
  const need = typeof needs === 'string' ? needs : needs()
  if (!caller.may(need, fd?.alias)) refuse(caller, need, fd)
}

const words: Readonly<Record<Exclude<Need, 'nothing'> | 'use', string>> = {
  use: 'use',
  read: 'read',
  write: 'change objects of',
  define: 'change classes and indexes of',
  operate: 'operate',
  administer: 'change users, tokens and roles of',
  identify: 'use',
}

function refuse({ kind }: Caller, action: Need | 'use', fd: FederatedDatabase | undefined): never {
  if (kind === 'nobody' || action === 'nothing') throw unauthenticated({ headers: {} }, mustBeKnown)
  const place = fd === undefined ? 'the server as a whole' : `the federated database ${fd.alias}`
  throw new ServerError('Forbidden', `The caller may not ${words[action]} ${place} (${action}).`)
}

export const mustBeKnown = 'The server has to know who asks: send a token, a user name with its password, or sign in.'
