/** The two generators of load: sockets of our own, and wrk, which is lighter still, where it is installed. */
import { execFile, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Generator, Load, LoadResult } from './load.ts'

const program = fileURLToPath(new URL('socket-load.ts', import.meta.url))
const script = fileURLToPath(new URL('wrk.lua', import.meta.url))

/** A process that stays until `close`, on the cores that this one has. */
export function openSocketGenerator(): Generator {
  const child = fork(program, [], { execArgv: ['--import', 'tsx'], serialization: 'advanced' })
  const ended = once(child, 'exit').then(() => ({ error: 'the generator ended' }))
  return {
    name: 'sockets of Node',
    async run(load) {
      child.send(load)
      const answer = once(child, 'message').then(([message]) => message as LoadResult | { error: string })
      const result = await Promise.race([answer, ended])
      if ('error' in result) throw new Error(`${load.url}: ${result.error}`)
      return result
    },
    async close() {
      child.disconnect()
      await ended
    },
  }
}

/**
 * For runs of so many seconds. What is to be sent once goes by sockets of our own, since wrk ends by time alone; the rest by wrk where
 * it is installed, unless runs last less than a second, which it cannot do.
 */
export function openGenerator(seconds: number): Generator {
  const sockets = openSocketGenerator()
  if (seconds < 1 || spawnSync('wrk', ['--version']).error !== undefined) return sockets
  const folder = mkdtempSync(join(tmpdir(), 'ashlar-wrk-'))
  return {
    name: 'wrk; creations, deletions, bulk and scans by sockets of Node',
    run: (load) => (load.isOnce ? sockets.run(load) : runWrk(load, join(folder, 'requests'))),
    async close() {
      await sockets.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function runWrk({ url, connections, requests, seconds }: Load, file: string): Promise<LoadResult> {
  const lines = requests.map(({ method, path, body }) => `${method}\t${path}\t${body ?? ''}\n`)
  writeFileSync(file, lines.join(''))
  const words = ['-t1', `-c${connections}`, `-d${Math.max(1, Math.round(seconds))}s`, '-s', script, url, '--', file]
  const { stdout } = await promisify(execFile)('wrk', words)
  const line = stdout.split('\n').find((one) => one.startsWith('{'))
  if (line === undefined) throw new Error(`wrk has told nothing: ${stdout}`)
  return JSON.parse(line) as LoadResult
}
