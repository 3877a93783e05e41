/** Sharers: the unit of request limits, i.e. the authenticated caller, or else the address (contract 1.5.23). */
import { type ArrivedMessage, clientAddressOf, networkOf } from './client-address.ts'

/** The parts of a request that identify its sharer. */
export interface SharedRequest {
  readonly caller?: { readonly identity: string } | undefined
  readonly raw: ArrivedMessage
}

const addressPrefix = 'address:'

/** Returns the identity of an authenticated caller, for all its connections, addresses, tokens and sessions; otherwise the address. */
export function sharerOf({ caller, raw }: SharedRequest): string {
  const { identity = '' } = caller ?? {}
  return identity === '' ? sharerAt(clientAddressOf(raw)) : identity
}

/** Returns the sharer of unauthenticated requests. */
export function sharerAt(address: string): string {
  return `${addressPrefix}${networkOf(address)}`
}

/** Text for refusals: whose share is used up, and what one share is. */
export function sharerText(sharer: string): { readonly whose: string; readonly share: string } {
  return sharer.startsWith(addressPrefix)
    ? { whose: `The address ${sharer.slice(addressPrefix.length)}`, share: 'one address without authentication' }
    : { whose: `The caller ${sharer}`, share: 'one caller' }
}
