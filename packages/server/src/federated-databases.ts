/** The federated databases of a server, by alias. */
import type { FederatedDatabase } from '@ashlar/engine'
import { ServerError } from './server-errors.ts'

export class FederatedDatabases {
  readonly all: readonly FederatedDatabase[]
  private readonly byAlias: ReadonlyMap<string, FederatedDatabase>
  private readonly fallback: FederatedDatabase | undefined

  /** `defaultAlias`: the one that a request without `fdAlias` means; the only one needs none. */
  constructor(all: readonly FederatedDatabase[], defaultAlias: string | undefined) {
    this.all = all
    this.byAlias = new Map(all.map((fd) => [fd.alias, fd]))
    this.fallback = defaultAlias === undefined && all.length === 1 ? all[0] : this.byAlias.get(defaultAlias ?? '')
  }

  /** `fdAlias` as the URL has it. Throws FederatedDatabaseRequired, FederatedDatabaseNotFound, MalformedAlias. */
  resolve(fdAlias: unknown): FederatedDatabase {
    if (fdAlias === undefined) {
      if (this.fallback !== undefined) return this.fallback
      throw new ServerError('FederatedDatabaseRequired', `fdAlias is needed: one of ${this.names()}.`)
    }
    if (typeof fdAlias !== 'string' || fdAlias === '') {
      throw new ServerError('MalformedAlias', 'fdAlias is given once, and is not empty.')
    }
    const fd = this.byAlias.get(fdAlias)
    if (fd !== undefined) return fd
    throw new ServerError('FederatedDatabaseNotFound', `There is no federated database '${fdAlias.slice(0, 64)}'.`)
  }

  private names(): string {
    return [...this.byAlias.keys()].join(', ')
  }
}
