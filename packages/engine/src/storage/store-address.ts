/** What the address of a store says, without opening it. It imports nothing: processes that open no store read addresses too. */

const knownAddresses = 'lmdb:<directory>, postgres://<host>/<database> or memory:'

/** Where the store is a directory of this machine: that directory. */
export function storeDirectory(address: string): string | undefined {
  return /^lmdb:(.+)$/s.exec(address)?.[1]
}

/** The address of the store in a directory. */
export function addressOfDirectory(directory: string): string {
  return `lmdb:${directory}`
}

/** Why it is no address of a store, a sentence for the operator; undefined where it is one, whether or not there is such a store. */
export function addressProblem(address: string): string | undefined {
  const colon = address.indexOf(':')
  if (colon < 0) return `The store address '${address}' names no kind of store; use ${knownAddresses}.`
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
      return undefined
    default:
      // What follows the kind could hold a password.
      return `The store address '${kind}:…' names an unknown kind of store; use ${knownAddresses}.`
  }
}
