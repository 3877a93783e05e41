/** Whose share of the server a request takes: that of its caller where it is known, else that of its address (contract 1.5.23). */
import { type ArrivedMessage, clientAddressOf } from './client-address.ts'
import { networkOf } from './network.ts'

/** What of a request tells whose it is. */
export interface SharedRequest {
  readonly caller?: { readonly identity: string }
  readonly raw: ArrivedMessage
}

const addressPrefix = 'address:'

/** The same for all requests of one caller, with all its connections, addresses, tokens and sessions; for those that are not known, of one address. */
export function sharerOf({ caller, raw }: SharedRequest): string {
  const { identity = '' } = caller ?? {}
  return identity === '' ? sharerAt(clientAddressOf(raw)) : identity
}

/** For callers that are not known. */
export function sharerAt(address: string): string {
  return `${addressPrefix}${networkOf(address)}`
}

/** As refusals name it: whose share is used up, and what one share is. */
export function sharerText(sharer: string): { readonly whose: string; readonly share: string } {
  return sharer.startsWith(addressPrefix)
    ? { whose: `The address ${sharer.slice(addressPrefix.length)}`, share: 'one address without authentication' }
    : { whose: `The caller ${sharer}`, share: 'one caller' }
}
