/** Processes that embed the engine, several on one store, as targets of a workload: they carry out what a server would be asked for over HTTP. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Answer, Connection, Loose } from './connection.ts'

export interface EngineProcess {
  readonly connection: Connection
  /** Ends it at once, whatever is under way, and starts another on the store. */
  crash(): Promise<void>
  stop(): Promise<void>
}

/** `command`: what starts the program `answer-requests` (its file, or Node's options and its file). */
export async function startEngineProcess(command: readonly string[], address: string): Promise<EngineProcess> {
  const waiting = new Map<number, (answer: Answer) => void>()
  let asked = 0
  let child = await start()

  async function start(): Promise<ChildProcess> {
    const started = spawn(process.execPath, [...command, address], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    running.add(started)
    await once(started, 'message')
    started.on('message', ([number, status, json, etag]: Loose) => {
      waiting.get(number)?.({ status, json, etag })
      waiting.delete(number)
    })
    started.once('close', () => {
      running.delete(started)
      // What was under way has no answer.
      for (const answer of waiting.values()) answer({ status: 0, json: undefined })
      waiting.clear()
    })
    return started
  }

  async function end(): Promise<void> {
    const ended = once(child, 'close')
    child.kill('SIGKILL')
    await ended
  }

  return {
    connection: {
      send(method, path, body, headers = {}) {
        if (!child.connected) return Promise.resolve({ status: 503, json: { type: 'NotStarted' } })
        const number = ++asked
        return new Promise((resolve) => {
          waiting.set(number, resolve)
          child.send([number, method, path, body, headers['if-match']])
        })
      },
      cut: () => undefined,
    },
    async crash() {
      await end()
      child = await start()
    },
    stop: end,
  }
}

const running = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
