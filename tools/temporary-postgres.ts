/** A real PostgreSQL for as long as a run of tests or measurements lasts, in a temporary folder that goes with it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  PostgresUnavailable,
  type PostgresUser,
  packagedPostgres,
  postgresUser,
  programIn,
  temporaryFolders,
  usablePrograms,
} from './postgres-binaries.ts'
import { makeServerFolder, removeLeftovers, removeServerFolder, sleep } from './postgres-leftovers.ts'

export interface RunningPostgres {
  readonly address: string
  /** A folder with the data as they were before the first start, where they were to be kept. */
  readonly template?: string
  /** Of the process that has started all others of it, as long as it has not crashed since. */
  readonly pid: number
  /** Stops it as if it had crashed (its immediate mode), and starts it again. */
  crash(): Promise<void>
  stop(): Promise<void>
}

interface StartOptions {
  readonly isDurable?: boolean
  /** The data before the first start are kept for others to begin with. */
  readonly keepsTemplate?: boolean
  /** Of another one, which still runs. */
  readonly template?: string
  /** Address of one that began with the same template: what is started follows it as a standby, until it is promoted. */
  readonly standbyOf?: string
}

interface Cluster {
  readonly folder: string
  readonly data: string
  readonly user: PostgresUser
  programs: string
  server?: ChildProcess
}

const password = 'granite'

/** A port that was free a moment ago may be taken by somebody else. */
const portsTriedMax = 5

/** How long a server that is told to stop may take before it is killed. */
const stopMsMax = 10_000

/** What this process has made and not yet removed. */
const clusters = new Set<Cluster>()

/**
 * Unless it is to be durable, files are not forced to the disk: what is tested outlives a process, not the machine. Begins with the data of
 * `template`, which are copied: to make them takes a second.
 *
 * @throws PostgresUnavailable where it cannot be started
 */
export async function startPostgres({
  isDurable = false,
  keepsTemplate = false,
  template,
  standbyOf,
}: StartOptions = {}): Promise<RunningPostgres> {
  const cluster = await initialize(template)
  const flags = [
    '-c',
    `fsync=${isDurable ? 'on' : 'off'}`,
    '-c',
    'max_connections=400',
    '-c',
    'max_prepared_transactions=8',
  ]
  if (standbyOf !== undefined) {
    flags.push('-c', `primary_conninfo=${standbyOf}`)
    writeFileSync(join(cluster.data, 'standby.signal'), '')
  }
  try {
    const kept = join(cluster.folder, 'template')
    if (keepsTemplate) copyData(cluster, cluster.data, kept)
    const port = await startOnFreePort(cluster, flags)
    return {
      ...(keepsTemplate ? { template: kept } : {}),
      address: `postgres://ashlar:${password}@127.0.0.1:${port}/postgres`,
      get pid() {
        return cluster.server?.pid ?? 0
      },
      async crash() {
        await end(cluster, 'SIGQUIT')
        await start(cluster, port, flags)
      },
      async stop() {
        await end(cluster, 'SIGINT')
        remove(cluster)
      },
    }
  } catch (error) {
    remove(cluster)
    throw error
  }
}

/** In the first temporary folder where it succeeds: one may be closed to the user, or full, or run no programs. */
async function initialize(template: string | undefined): Promise<Cluster> {
  const user = postgresUser()
  const packaged = packagedPostgres()
  const reasons: string[] = []
  for (const parent of temporaryFolders()) {
    let cluster: Cluster | undefined
    try {
      removeLeftovers(parent)
      const folder = makeServerFolder(parent)
      cluster = { folder, data: join(folder, 'data'), user, programs: '' }
      track(cluster)
      cluster.programs = usablePrograms(packaged, folder, user)
      if (template === undefined) await runInitdb(cluster)
      else copyData(cluster, template, cluster.data)
      return cluster
    } catch (error) {
      if (cluster !== undefined) remove(cluster)
      reasons.push(`in ${parent}: ${(error as Error).message}`)
    }
  }
  throw new PostgresUnavailable(reasons.join('; '))
}

async function runInitdb({ folder, data, user, programs }: Cluster): Promise<void> {
  const passwordFile = join(folder, 'password')
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (user.uid !== undefined && user.gid !== undefined) {
    for (const path of [data, passwordFile]) chownSync(path, user.uid, user.gid)
  }
  const words = [
    ...[`--pgdata=${data}`, '--username=ashlar', `--pwfile=${passwordFile}`, '--auth=password'],
    ...['--encoding=UTF8', '--locale=C', '--no-sync'],
  ]
  const child = spawn(programIn(programs, 'initdb'), words, { ...user, cwd: data, env: environment(), stdio: pipes })
  const [output, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new PostgresUnavailable(`initdb ended with ${signal ?? code}: ${lastError(output)}`)
}

/** All of it belongs to whom the server runs as: to others it is closed. */
function copyData({ user: { uid, gid } }: Cluster, from: string, to: string): void {
  cpSync(from, to, { recursive: true })
  if (uid === undefined || gid === undefined) return
  for (const name of ['', ...readdirSync(to, { recursive: true, encoding: 'utf8' })])
    chownSync(join(to, name), uid, gid)
}

const pipes: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe']

/** Of our own PG… variables the server must know nothing; its messages are read. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))
  return { ...Object.fromEntries(kept), LC_ALL: 'C' }
}

/** The line that tells the reason, without what precedes it. */
function lastError(output: string): string {
  const lines = output.trim().split('\n')
  return (lines.findLast((line) => /error:|FATAL:|could not/.test(line)) ?? lines.at(-1) ?? '').replace(
    /^.*(FATAL|error): */,
    '',
  )
}

async function startOnFreePort(cluster: Cluster, flags: readonly string[]): Promise<number> {
  for (let tried = 1; ; tried++) {
    const port = await freePort()
    try {
      await start(cluster, port, flags)
      return port
    } catch (error) {
      if (tried === portsTriedMax) throw error
    }
  }
}

/** Resolves when it accepts connections: on the loopback interface alone, since a path in a deep folder is too long for a socket. */
async function start(cluster: Cluster, port: number, flags: readonly string[]): Promise<void> {
  const { data, user, programs } = cluster
  const places = ['-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=']
  const server = spawn(programIn(programs, 'postgres'), ['-D', data, ...places, ...flags], {
    ...user,
    cwd: data,
    env: environment(),
    stdio: pipes,
  })
  cluster.server = server
  let log = ''
  await new Promise<void>((resolve, reject) => {
    server.stderr.setEncoding('utf8').on('data', (piece: string) => {
      // Only until it is ready: what it tells afterwards, tests provoke.
      if (log.length < 65_536) log += piece
      if (/ready to accept (read-only )?connections/.test(log)) resolve()
    })
    server.once('error', (error) => reject(new PostgresUnavailable(error.message)))
    server.once('close', () => reject(new PostgresUnavailable(lastError(log))))
  })
}

async function end({ server }: Cluster, signal: NodeJS.Signals): Promise<void> {
  if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
  const isOver = once(server, 'exit')
  server.kill(signal)
  const timer = setTimeout(() => server.kill('SIGKILL'), stopMsMax)
  await isOver
  clearTimeout(timer)
}

/** Whatever ends this process, short of SIGKILL and a crash of Node, takes its servers with it. */
const endings: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

function track(cluster: Cluster): void {
  if (clusters.size === 0) {
    process.on('exit', removeAll)
    // A worker of the test runner whose parent was killed.
    process.on('disconnect', onDisconnect)
    for (const signal of endings) process.on(signal, onSignal)
  }
  clusters.add(cluster)
}

function remove(cluster: Cluster): void {
  const { server, folder, data } = cluster
  if (server !== undefined && server.exitCode === null && server.signalCode === null) {
    server.kill('SIGQUIT')
    // We may not get to hear that it has ended; it removes this file last.
    const end = Date.now() + stopMsMax
    while (existsSync(join(data, 'postmaster.pid')) && Date.now() < end) sleep(10)
  }
  removeServerFolder(folder)
  clusters.delete(cluster)
  if (clusters.size > 0) return
  process.off('exit', removeAll)
  process.off('disconnect', onDisconnect)
  for (const signal of endings) process.off(signal, onSignal)
}

function removeAll(): void {
  for (const cluster of clusters) remove(cluster)
}

function onDisconnect(): void {
  process.exit(1)
}

/** The signal does what it does without us; unless somebody else, who has been told too, ends the process in his own way. */
function onSignal(signal: NodeJS.Signals): void {
  removeAll()
  setTimeout(() => process.kill(process.pid, signal), 100)
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return address.port
}
