/** The process that starts, supervises and stops the workers; it serves no requests and opens no stores. */
import cluster, { type Worker as Child } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type Config, storesOf } from '../config/config.ts'
import type { ServerLimits } from '../limits.ts'
import { GatherRequests } from '../peers/gather-requests.ts'
import { type StoreSummary, sendToWorker, type ToPrimary } from '../peers/peers.ts'
import { CrashCount, crashOf, crashSentence, lmdbStores } from './crash.ts'
import { closeUnacknowledged } from './unacknowledged.ts'

const firstDelayMs = 100
const delayMsMax = 10_000
/** Added to the time that a worker takes to stop. */
const stopGraceMs = 5_000

/** Exit code after crashes of the workers (EX_SOFTWARE), for supervisors that must not restart the server. */
const crashExitCode = 70

export interface Served {
  readonly url: string
  readonly stores: readonly StoreSummary[]
}

export class Primary {
  /** Resolves when the server has stopped for any reason, with the exit code. */
  readonly stopped: Promise<number>
  private readonly config: Config
  private readonly logger: Logger
  private readonly stopMsMax: number
  /** Start of the process in milliseconds of the clock. Loading `performance` would cost a module of Node. */
  private readonly upSince = Math.round(Date.now() - process.uptime() * 1000)
  private readonly crashes: CrashCount<Child>
  private readonly children = new Set<Child>()
  private readonly listening = new Set<Child>()
  private readonly gatherRequests = new GatherRequests()
  /** Set when all workers serve; later, workers that exit are replaced. */
  private served: Served | undefined
  /** The address of the first worker, shared by all. */
  private url: string | undefined
  /** Workers share a port if they request the same number, so all request the same: 0 if the first did. */
  private port: number
  private failures = 0
  private stopping: Promise<void> | undefined
  private readonly abortDelays = new AbortController()
  private hasStopped: (exitCode: number) => void = () => undefined
  private exitCode = 0

  /** `workerProgram`: the file that a worker runs. */
  constructor(config: Config, logger: Logger, limits: ServerLimits, workerProgram: string) {
    this.config = config
    this.logger = logger
    this.stopMsMax = limits.stopMsMax
    this.crashes = new CrashCount(limits.workerCrashesMax, limits.workerCrashWindowMs)
    this.port = config.port
    this.stopped = new Promise((resolve) => {
      this.hasStopped = resolve
    })
    cluster.setupPrimary({ exec: workerProgram, serialization: 'advanced' })
  }

  /**
   * Starts the first worker alone, since it creates missing files, and then the rest. Returns undefined if a worker exits, having reported the
   * reason; one that is killed while another serves is replaced.
   */
  async start(): Promise<Served | undefined> {
    const first = await this.startOne()
    // A worker that is still starting receives no other message to stop.
    if (first === undefined || first === 'killed' || this.stopping !== undefined) return this.failed()
    const others = Array.from({ length: this.config.workers - 1 }, () => this.startOne())
    if ((await Promise.all(others)).includes(undefined) || this.stopping !== undefined) return this.failed()
    this.served = first
    for (let missing = this.config.workers - this.children.size; missing > 0; missing--) void this.replace()
    return first
  }

  /** Later calls wait for the same stop. */
  readonly stop = (): Promise<void> => {
    this.stopping ??= this.stopAll()
    return this.stopping
  }

  readonly reload = (): void => {
    for (const child of this.listening) sendToWorker(child, { kind: 'reload' })
  }

  private async failed(): Promise<undefined> {
    if (this.stopping === undefined) this.exitCode ||= 1
    await this.stop()
  }

  private startOne(): Promise<Served | 'killed' | undefined> {
    const child = cluster.fork(environmentOf(this.config, process))
    closeUnacknowledged(child)
    this.children.add(child)
    return new Promise((resolve) => {
      child.on('message', (message: ToPrimary) => {
        if (message.kind === 'ready') this.startWork(child)
        else if (message.kind === 'listening') resolve(this.onWorkerListening(child, message))
        else if (message.kind === 'stopAll') void this.stop()
        else if (message.kind === 'answer') this.gatherRequests.addAnswers(child, message.id, message.answers)
        else this.gatherRequests.start(child, message.id, message.question, this.othersThan(child))
      })
      child.on('exit', (code, signal) => {
        resolve(signal !== null && crashOf(code, signal) === undefined ? 'killed' : undefined)
        this.ended(child, code, signal)
      })
      child.on('error', (error) => {
        // A message could not be sent to a process that is ending; its exit follows.
        if (child.process.pid !== undefined) return
        resolve(undefined)
        this.notStarted(child, error)
      })
    })
  }

  private startWork(child: Child): void {
    const config = { ...this.config, port: this.port }
    sendToWorker(child, { kind: 'start', config, upSince: this.upSince })
  }

  private onWorkerListening(child: Child, { url, stores }: Served): Served {
    const { pid } = child.process
    this.url ??= url
    // It requested any port, because the last worker with the shared port had exited.
    if (this.url !== url) child.process.kill('SIGKILL')
    this.failures = 0
    this.crashes.serves()
    this.listening.add(child)
    this.logger.info({ worker: child.id, pid }, 'a worker serves')
    return { url, stores }
  }

  private othersThan(child: Child): Child[] {
    return [...this.listening].filter((other) => other !== child)
  }

  /** Reports a temporary lack of processes, memory or files; no process exists that could exit. */
  private notStarted(child: Child, error: Error): void {
    this.children.delete(child)
    if (this.stopping !== undefined) return
    if (this.served === undefined) {
      writeError(`A worker process cannot be started: ${error.message}.`)
      return
    }
    this.logger.error({ worker: child.id, err: error }, 'a worker process cannot be started; another attempt follows')
    void this.replace()
  }

  private ended(child: Child, code: number | null, signal: string | null): void {
    const serving = [...this.listening]
    this.children.delete(child)
    this.listening.delete(child)
    this.gatherRequests.removeWorker(child)
    const { pid } = child.process
    const crash = crashOf(code, signal)
    if (crash !== undefined) this.crashed(child, crash, serving)
    else if (signal !== null && this.url === undefined && this.stopping === undefined) {
      writeError(`Process ${pid} was ended by ${signal} before it served.`)
    }
    // The shared port is free again; the next worker must request it by its number.
    if (this.listening.size === 0 && this.url !== undefined) this.port = Number(new URL(this.url).port)
    // A worker that exits before all serve has reported the reason, and the server ends.
    const isStarting = this.served === undefined && (this.url === undefined || signal === null)
    if (this.stopping !== undefined || isStarting) return
    this.logger.error({ worker: child.id, pid, code, signal }, 'a worker ended; another takes its place')
    // Otherwise it is replaced when all workers serve.
    if (this.served !== undefined) void this.replace()
  }

  /** Reports a crash; before all workers serve, or if there are too many, the crash ends the server. */
  private crashed(child: Child, crash: string, serving: readonly Child[]): void {
    const { pid } = child.process
    const stores = lmdbStores(storesOf(this.config))
    writeError(crashSentence({ pid, crash, stores, work: 'serve' }))
    const isTooMany = this.crashes.isTooMany(child, serving, performance.now())
    if (this.served !== undefined && !isTooMany) return
    if (this.served !== undefined && this.stopping === undefined) {
      writeError('Workers have crashed too often within a short time; the server is not started again.')
    }
    this.exitCode = crashExitCode
    void this.stop()
  }

  private async replace(): Promise<void> {
    const { signal } = this.abortDelays
    const delayMs = Math.min(delayMsMax, firstDelayMs * 2 ** this.failures++)
    const isTime = await delay(delayMs, true, { signal }).catch(() => false)
    if (isTime) await this.startOne()
  }

  private async stopAll(): Promise<void> {
    this.abortDelays.abort()
    const timeout = setTimeout(() => this.killAll(), this.stopMsMax + stopGraceMs)
    const codes = [...this.children].map((child) => {
      const isServing = this.listening.has(child)
      sendToWorker(child, { kind: 'stop' })
      // A worker that does not serve yet has nothing to complete, and does not listen to the primary.
      if (!isServing) child.process.kill('SIGTERM')
      return new Promise<number | null>((resolve) => {
        child.once('exit', (code) => resolve(isServing ? code : 0))
        child.once('error', () => child.process.pid === undefined && resolve(0))
      })
    })
    const isWell = (await Promise.all(codes)).every((code) => code === 0)
    clearTimeout(timeout)
    this.hasStopped(isWell ? this.exitCode : this.exitCode || 1)
  }

  private killAll(): void {
    for (const child of this.children) {
      const { pid } = child.process
      this.logger.error({ worker: child.id, pid }, 'a worker does not stop in time, and is killed')
      child.process.kill('SIGKILL')
    }
  }
}

function writeError(sentence: string): void {
  process.stderr.write(`ashlar: ${sentence}\n`)
}

/**
 * Returns overrides of the environment of the primary for `cluster.fork`; undefined values are not set. Node parses the certificates of
 * NODE_EXTRA_CA_CERTS, along with its own, at each start, which for 144 certificates takes longer than the rest of its start. Workers without
 * outgoing connections do not get the variable, unless NODE_OPTIONS or `execArgv` load modules, which may make connections.
 */
export function environmentOf(
  config: Pick<Config, 'federatedDatabases' | 'auth' | 'securityStore' | 'jwt' | 'webhooks'>,
  { env, execArgv }: Pick<NodeJS.Process, 'env' | 'execArgv'>,
): Readonly<Record<string, undefined>> {
  const isExtended = (env.NODE_OPTIONS ?? '') !== '' || execArgv.length > 0
  return isExtended || connects(config) ? {} : { NODE_EXTRA_CA_CERTS: undefined }
}

/** Returns whether a worker connects to PostgreSQL, to an issuer of tokens, or to receivers of webhooks. */
function connects(config: Parameters<typeof environmentOf>[0]): boolean {
  const isRemote = storesOf(config).some((address) => !/^(lmdb|memory):/.test(address))
  return isRemote || config.jwt !== undefined || config.webhooks !== undefined
}
