/** `ashlar fd`: the federated databases of a server. */
import { AshlarRequestError, type FederatedDatabaseRecord } from '@ashlar/client'
import type { CommandContext } from '../command-context.ts'
import { numberText } from './texts.ts'

export const fdsHead = ['FD', 'Store', 'Classes', 'Indexes', 'Entries', 'Bytes']

/** Those that the caller may see. */
export async function listFds({ client, connection, output }: CommandContext): Promise<void> {
  const { federatedDatabases } = await client.getReadiness()
  const fds = await Promise.all(
    federatedDatabases.map((alias) => connection.withFd(alias).getFederatedDatabase().catch(undefinedWhereRefused)),
  )
  const seen = fds.filter((fd) => fd !== undefined)
  await output.data(seen, () => output.table(fdsHead, seen.map(fdRow)))
}

function undefinedWhereRefused(error: unknown): undefined {
  if (error instanceof AshlarRequestError && [401, 403, 404].includes(error.status)) return undefined
  throw error
}

export async function showFd(
  { client, connection, output }: CommandContext,
  [alias]: readonly (string | undefined)[],
): Promise<void> {
  const fd = await (alias === undefined ? client : connection.withFd(alias)).getFederatedDatabase()
  const rows = [
    ['alias', fd.alias],
    ['store', `${fd.store.kind}${fd.store.isDurable ? '' : ', not durable'}`],
    ['place', fd.bootfile],
    ['dialect', fd.dialect],
    ['isolation', fd.isolation],
    ...Object.entries(fd.counts).map(([name, count]) => [name, numberText(count)]),
    ['oldest snapshot', `${numberText(fd.readers.oldestSnapshotMs)} ms`],
    ['replies broken off', numberText(fd.readers.repliesBrokenOff)],
  ]
  await output.data(fd, () => output.table(['', ''], rows).slice(1))
}

export function fdRow({ alias, store, counts }: FederatedDatabaseRecord): string[] {
  const count = (name: string): string => (counts[name] === undefined ? '' : numberText(counts[name]))
  return [alias, store.kind, count('classes'), count('indexes'), count('storeEntries'), count('storeBytes')]
}
