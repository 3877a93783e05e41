/** Built servers that a workload runs against, each on a port of its own, where it is started again after it was killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Server {
  readonly url: string
  /** Ends all its processes at once, as a machine does that fails, and starts it again. */
  crash(): Promise<void>
  /** Ends one of its workers at once; the server replaces it. False where none serves. */
  killWorker(nth: number): boolean
  stop(): Promise<void>
}

export interface ServerOptions {
  /** The built program, as `npm start` runs it. */
  readonly program: string
  /** For its configuration, its log and, on LMDB, its data. */
  readonly folder: string
  /** Address of the store; on LMDB in the folder where it is left out. */
  readonly store?: string
  readonly workers: number
  /** Of transactions that ask for none; that of the server where it is left out. */
  readonly isolation?: 'snapshot' | undefined
}

/** All clients have one address, and what is tested is not who has to wait. */
const limits = {
  statementsMax: 200,
  statementsPerCallerMax: 200,
  statementQueueMsMax: 60_000,
  queuedStatementsPerCallerMax: 1_000,
}

export async function startServer({ program, folder, store, workers, isolation }: ServerOptions): Promise<Server> {
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'ashlar.json')
  const federatedDatabases = [{ alias: 'history', store, isolation }]
  writeFileSync(config, JSON.stringify({ federatedDatabases, limits, logLevel: 'error' }))
  const words = [program, 'serve', '--config', config, '--data', folder, '--workers', String(workers)]
  let port = '0'
  let child = await start()

  async function start(): Promise<ChildProcess> {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ASHLAR_'))
    const started = spawn(process.execPath, [...words, '--port', port], {
      env: Object.fromEntries(inherited),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(started)
    started.once('exit', () => running.delete(started))
    let errors = ''
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = `${errors}${text}`.slice(-4_000)
    })
    let output = ''
    const address = await new Promise<string>((resolve, reject) => {
      started.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text
        const found = /listening on http:\/\/[^:]+:(\d+)/.exec(output)?.[1]
        if (found !== undefined) resolve(found)
      })
      started.once('close', () => reject(new Error(`the server ended before it listened: ${errors}`)))
    })
    port = address
    return started
  }

  return {
    url: `http://127.0.0.1:${port}`,
    async crash() {
      const ended = once(child, 'exit')
      for (const each of [...workersOf(child), child.pid!]) kill(each)
      await ended
      child = await start()
    },
    killWorker(nth) {
      const pids = workersOf(child)
      const pid = pids[nth % pids.length]
      if (pid !== undefined) kill(pid)
      return pid !== undefined
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

const running = new Set<ChildProcess>()

/** Whoever ends a run before its time must not find its servers later. */
process.on('exit', () => {
  for (const child of running) for (const each of [...workersOf(child), child.pid!]) kill(each)
})

function workersOf({ pid }: ChildProcess): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
