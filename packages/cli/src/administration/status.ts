/** `ashlar status`: readiness, contents and activity of the server. */
import { AshlarRequestError, type FederatedDatabaseRecord, type StatementRecord } from '@ashlar/client'
import type { CommandContext } from '../connection/command-context.ts'
import { CommandError } from '../errors/command-error.ts'
import { exitCodeOfStatus, exitCodes } from '../errors/exit-codes.ts'
import { durationText, numberText } from '../output/texts.ts'

const statementCharactersMax = 200

/** Ends with exit code 6 if the server is not ready, after its output. */
export async function showStatus({ client, connection, output }: CommandContext): Promise<void> {
  const [service, resources] = await Promise.all([client.getService(), client.listResources()])
  const readiness = await client.getReadiness().catch(refusal)
  const notReady = readiness instanceof AshlarRequestError ? readiness : undefined
  const seen = readiness instanceof AshlarRequestError ? [] : await visibleFds(connection, readiness.federatedDatabases)
  const statements = await client.listStatements().catch(undefinedIfHidden)
  const status = {
    url: connection.url,
    apiVersion: resources.version,
    uptimeMs: service.uptime,
    isReady: notReady === undefined,
    ...(notReady !== undefined && { problem: notReady.message }),
    federatedDatabases: seen.map((fd) => ({
      alias: fd.alias,
      store: fd.store,
      counts: fd.counts,
      readers: fd.readers,
    })),
    statements: statements ?? null,
  }
  await output.data(status, () => [
    `${status.url}: ${notReady === undefined ? 'ready' : `not ready: ${notReady.message}`}, up ${durationText(status.uptimeMs)}, interface ${status.apiVersion}`,
    ...(seen.length === 0 ? [] : ['', ...output.table(fdsHead, seen.map(fdRow))]),
    ...statementLines(statements, output),
  ])
  if (notReady !== undefined) throw new CommandError(exitCodeOfStatus(notReady.status), 'The server is not ready.')
}

function statementLines(
  statements: readonly StatementRecord[] | undefined,
  output: CommandContext['output'],
): string[] {
  if (statements === undefined) return ['', 'Running statements: no permission to list them.']
  if (statements.length === 0) return ['', 'No running statements.']
  const rows = statements.map(({ id, kind, fdAlias, state, startedAt, clientAddress, text }) => {
    const since = durationText(Date.now() - Date.parse(startedAt))
    return [id, kind, fdAlias, state, since, clientAddress, text.slice(0, statementCharactersMax)]
  })
  return ['', ...output.table(['Statement', 'Kind', 'FD', 'State', 'For', 'Client', 'Text'], rows)]
}

async function visibleFds(
  connection: CommandContext['connection'],
  aliases: readonly string[],
): Promise<FederatedDatabaseRecord[]> {
  const fds = aliases.map((alias) => connection.withFd(alias).getFederatedDatabase().catch(undefinedIfHidden))
  return (await Promise.all(fds)).filter((fd) => fd !== undefined)
}

/** Returns undefined for the error of a caller who lacks the permission; throws any other. */
function undefinedIfHidden(error: unknown): undefined {
  if (error instanceof AshlarRequestError && [401, 403, 404].includes(error.status)) return undefined
  throw error
}

function refusal(error: unknown): AshlarRequestError {
  if (error instanceof AshlarRequestError && exitCodeOfStatus(error.status) === exitCodes.unavailable) return error
  throw error
}

const fdsHead = ['FD', 'Store', 'Classes', 'Indexes', 'Entries', 'Bytes']

/** Lists the federated databases that the caller may see. */
export async function listFds({ client, connection, output }: CommandContext): Promise<void> {
  const seen = await visibleFds(connection, (await client.getReadiness()).federatedDatabases)
  await output.data(seen, () => output.table(fdsHead, seen.map(fdRow)))
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

function fdRow({ alias, store, counts }: FederatedDatabaseRecord): string[] {
  const count = (name: string): string => (counts[name] === undefined ? '' : numberText(counts[name]))
  return [alias, store.kind, count('classes'), count('indexes'), count('storeEntries'), count('storeBytes')]
}
