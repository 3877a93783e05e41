/** The federated databases of a server, by alias and by boot file. */
import type { FederatedDatabase } from '@ashlar/engine'
import { ServerError } from './errors/server-errors.ts'
import { bootFileAgrees, type Place, refuseBootFile } from './tools/boot-file.ts'

/** A caller, who sees only the federated databases that it may use. */
interface Requester {
  mayAnything(alias: string): boolean
}

export class FederatedDatabases {
  readonly all: readonly FederatedDatabase[]
  private readonly byAlias: ReadonlyMap<string, FederatedDatabase>
  private readonly places: ReadonlyMap<string, Place>
  private readonly fallback: FederatedDatabase | undefined

  /** `defaultAlias`: for requests without `fdAlias`; not needed for a single federated database. `places`: by alias, if known. */
  constructor(
    all: readonly FederatedDatabase[],
    defaultAlias: string | undefined,
    places: ReadonlyMap<string, Place> = new Map(),
  ) {
    this.all = all
    this.byAlias = new Map(all.map((fd) => [fd.alias, fd]))
    this.places = places
    this.fallback = defaultAlias === undefined && all.length === 1 ? all[0] : this.byAlias.get(defaultAlias ?? '')
  }

  /** `fdAlias`: as in the URL. Throws FederatedDatabaseRequired, FederatedDatabaseNotFound, MalformedAlias. */
  resolve(fdAlias: unknown, caller: Requester): FederatedDatabase {
    if (fdAlias === undefined) {
      if (this.fallback !== undefined) return this.fallback
      throw new ServerError('FederatedDatabaseRequired', `fdAlias is required${oneOf(this.namesFor(caller))}.`)
    }
    if (typeof fdAlias !== 'string' || fdAlias === '') {
      throw new ServerError('MalformedAlias', 'fdAlias must be specified once and must not be empty.')
    }
    const fd = this.byAlias.get(fdAlias)
    // A caller without permissions must not be able to probe for names.
    if (fd !== undefined && caller.mayAnything(fdAlias)) return fd
    const others = listed(this.namesFor(caller))
    throw new ServerError(
      'FederatedDatabaseNotFound',
      `There is no federated database '${fdAlias.slice(0, 64)}'${others}.`,
    )
  }

  /**
   * Resolves the flag `bootFile` of a tool, which selects a federated database if the URL does not. Throws the errors of `resolve`, and
   * MalformedRequest if the flag contradicts the URL or matches none.
   */
  resolveByBootFile(fdAlias: unknown, bootFile: string, caller: Requester): FederatedDatabase {
    // A single federated database needs no default.
    if (fdAlias !== undefined || this.all.length === 1) {
      const fd = this.resolve(fdAlias, caller)
      if (this.all.length === 1 || this.agrees(bootFile, fd)) return fd
      return refuseBootFile(bootFile, `is not that of the federated database ${fd.alias}`)
    }
    const agreeing = this.all.filter((fd) => caller.mayAnything(fd.alias) && this.agrees(bootFile, fd))
    if (agreeing.length === 0) {
      return refuseBootFile(bootFile, `is none of the federated databases ${this.namesFor(caller).join(', ')}`)
    }
    const [only] = agreeing
    if (only !== undefined && agreeing.length === 1) return only
    if (this.fallback !== undefined && agreeing.includes(this.fallback)) return this.fallback
    return refuseBootFile(bootFile, `may be each of ${this.namesFor(caller, agreeing).join(', ')}; name one by fdAlias`)
  }

  agrees(bootFile: string, { alias, store }: FederatedDatabase): boolean {
    const { location } = store.capabilities
    return location === bootFile || bootFileAgrees(bootFile, alias, this.places.get(alias) ?? { store: location })
  }

  private namesFor(caller: Requester, among = this.all): string[] {
    return among.map(({ alias }) => alias).filter((alias) => caller.mayAnything(alias))
  }
}

const namedMax = 20

/** Lists existing names in a message, up to a limit. */
function listed(names: readonly string[]): string {
  if (names.length === 0) return ''
  const more = names.length > namedMax ? `, and ${names.length - namedMax} more` : ''
  return `; there ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, namedMax).join(', ')}${more}`
}

function oneOf(names: readonly string[]): string {
  return names.length === 0 ? '' : `: one of ${names.join(', ')}`
}
