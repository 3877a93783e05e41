/** Tests that a temporary PostgreSQL starts wherever the checkout lies, says why where it cannot, and leaves nothing behind. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { PostgresUnavailable, packagedPostgres, postgresUser, usablePrograms } from '../postgres-binaries.ts'
import { makeServerFolder, removeLeftovers } from '../postgres-leftovers.ts'
import { postgresOfRun } from '../postgres-of-run.ts'
import { markOf } from '../process-mark.ts'
import { startPostgres } from '../temporary-postgres.ts'

const isRoot = process.getuid?.() === 0
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ashlar-test-'))
  chmodSync(folder, 0o755)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

/** What is there of servers; the loader of the child process has a cache of its own beside it. */
function leftIn(parent: string): string[] {
  const names = readdirSync(parent).filter((name) => name.startsWith('ashlar-'))
  return names.map((name) => join(parent, name))
}

/** In a process of its own, its data below `folder`. */
async function holdPostgres(): Promise<{ holder: ChildProcess; port: number }> {
  postgresOfRun()
  const script = new URL('./hold-postgres.ts', import.meta.url)
  const env = { ...process.env, TMPDIR: folder }
  const holder = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(script), inject('postgresTemplate')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [address] = await once(createInterface({ input: holder.stdout! }), 'line')
  return { holder, port: Number(new URL(String(address)).port) }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

async function end(holder: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const isOver = once(holder, 'exit')
  holder.kill(signal)
  await isOver
  expect(holder.signalCode).toBe(signal)
}

describe('what a run leaves behind', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('is nothing when it ends by %s', async (signal) => {
    const { holder, port } = await holdPostgres()
    expect(await answers(port)).toBe(true)
    await end(holder, signal)
    expect(await answers(port)).toBe(false)
    expect(leftIn(folder)).toEqual([])
  })

  it('is removed by the next one when it was killed, and by none before', async () => {
    const { holder, port } = await holdPostgres()
    expect(removeLeftovers(folder)).toEqual([])
    await end(holder, 'SIGKILL')
    expect(await answers(port)).toBe(true)
    const left = leftIn(folder)
    expect(left).toHaveLength(1)
    expect(removeLeftovers(folder)).toEqual(left)
    expect(await answers(port)).toBe(false)
    expect(leftIn(folder)).toEqual([])
  })

  it('is told from what is alive, what another numbering of processes knows, and what bears no such name', () => {
    const own = makeServerFolder(folder)
    const [pid, start, space] = markOf(process.pid).split('-')
    const ofAnEarlier = `ashlar-postgres.${pid}-${start}1-${space}.abc`
    const kept = [
      `ashlar-postgres.${pid}-${start}1-0.abc`,
      'ashlar-postgres.abc',
      `ashlar.${pid}-${start}1-${space}.abc`,
    ]
    for (const name of [ofAnEarlier, ...kept]) mkdirSync(join(folder, name))
    writeFileSync(join(folder, `${ofAnEarlier}d`), 'a file, not a folder')
    expect(removeLeftovers(folder)).toEqual([join(folder, ofAnEarlier)])
    expect([own, ...kept.map((name) => join(folder, name))].every(existsSync)).toBe(true)
  })

  it.runIf(process.getuid !== undefined)('is not taken for ours where others may write to it', () => {
    const [pid, start, space] = markOf(process.pid).split('-')
    const planted = join(folder, `ashlar-postgres.${pid}-${start}1-${space}.abc`)
    mkdirSync(planted)
    chmodSync(planted, 0o777)
    expect(removeLeftovers(folder)).toEqual([])
  })
})

describe('programs that cannot be used in place', () => {
  it('are copied into the folder of the run, and run there', () => {
    postgresOfRun()
    const packaged = join(folder, 'package of ours, ä', 'native')
    cpSync(packagedPostgres(), packaged, { recursive: true, verbatimSymlinks: true })
    const user = postgresUser()
    chmodSync(folder, 0o711)
    expect(usablePrograms(packaged, makeServerFolder(folder), user)).toBe(join(packaged, 'bin'))
    for (const name of readdirSync(join(packaged, 'bin'))) chmodSync(join(packaged, 'bin', name), 0o600)
    const ofRun = makeServerFolder(folder)
    const programs = usablePrograms(packaged, ofRun, user)
    expect(programs).toBe(join(ofRun, 'native', 'bin'))
    expect(spawnSync(join(programs, 'postgres'), ['--version'], { ...user }).status).toBe(0)
  })

  it.runIf(isRoot)('are found where a private folder closes them to the user that PostgreSQL runs as', async () => {
    postgresOfRun()
    chmodSync(folder, 0o700)
    vi.stubEnv('TMPDIR', folder)
    const server = await startPostgres()
    expect(await answers(Number(new URL(server.address).port))).toBe(true)
    await server.stop()
    expect(leftIn(folder)).toEqual([])
  })

  it('are named in the reason', async () => {
    vi.stubEnv('TMPDIR', folder)
    vi.stubEnv('ASHLAR_POSTGRES_BIN', join(folder, 'none'))
    const reason = await startPostgres().catch((error: unknown) => error)
    expect(reason).toBeInstanceOf(PostgresUnavailable)
    expect(String(reason)).toContain(`${join(folder, 'none', 'postgres')} cannot be started (ENOENT)`)
    expect(leftIn(folder)).toEqual([])
  })
})
