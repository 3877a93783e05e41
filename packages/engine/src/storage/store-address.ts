/** Parses store addresses without opening stores. Imports nothing, since processes without stores parse addresses too. */

const supportedAddresses = 'lmdb:<directory>, postgres://<host>/<database>, citus://<coordinator>/<database> or memory:'

/** The directory of a store on this machine, if the address names one. */
export function storeDirectory(address: string): string | undefined {
  return /^lmdb:(.+)$/s.exec(address)?.[1]
}

export function addressOfDirectory(directory: string): string {
  return `lmdb:${directory}`
}

/** Why the text is not a store address, as a sentence for the operator; undefined if it is one, whether or not the store exists. */
export function addressProblem(address: string): string | undefined {
  const colon = address.indexOf(':')
  if (colon < 0) return `The store address '${address}' names no kind of store; use ${supportedAddresses}.`
  const kind = address.slice(0, colon)
  const isEmpty = colon === address.length - 1
  switch (kind) {
    case 'lmdb':
      return isEmpty ? `The store address '${address}' names no directory; use lmdb:<directory>.` : undefined
    case 'memory':
      if (isEmpty) return undefined
      return `The store address '${address}' has more than its kind; the address of a store in memory is memory:.`
    case 'postgres':
    case 'postgresql':
    case 'citus':
      return undefined
    default:
      // The rest could contain a password.
      return `The store address '${kind}:…' names an unknown kind of store; use ${supportedAddresses}.`
  }
}
