/** Workers whose start goes wrong: the system starts no process, or one is killed while another is starting. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { rule } from '../contract/rule.ts'
import { childrenOf, isAlive } from '../process-tree.ts'
import { type Started, start, temporaryDirectory } from './process.ts'

/** However slow the machine is. */
const retryingConnect = { interval: 20 }

/** A server with two workers; each of its processes runs the module first. */
function startWith(module: string): Started {
  const directory = temporaryDirectory()
  const path = join(directory, 'first.mjs')
  writeFileSync(path, `import cluster from 'node:cluster'\n${module}`)
  const environment = { NODE_OPTIONS: `--import ${pathToFileURL(path)}` }
  return start(['--port', '0', '--workers', '2'], environment, directory)
}

async function logged({ log }: Started, text: RegExp, times = 1): Promise<string[]> {
  const everywhere = new RegExp(text, 'g')
  for (;;) {
    const found = log().match(everywhere) ?? []
    if (found.length >= times) return [...found]
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL')
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** As the system has it: `T` is stopped by a signal. */
function stateOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0]
}

it('a worker that cannot be started is started later, and the others go on serving', async () => {
  const server = startWith(`if (cluster.isPrimary) {
    const startIn = (cwd) => {
      cluster.setupPrimary({ cwd })
      console.error('starts in ' + cwd)
    }
    process.on('SIGUSR2', () => startIn('/nonexistent'))
    process.on('SIGHUP', () => startIn(undefined))
  }`)
  const url = await server.url
  server.child.kill('SIGUSR2')
  // It may hear of the death of its worker before it hears of a signal.
  await logged(server, /starts in \/nonexistent/)
  await kill(childrenOf(server.child.pid as number)[0] as number)
  await logged(server, /"a worker process cannot be started/, 2)
  expect((await fetch(`${url}/health/ready`)).status).toBe(200)
  server.child.kill('SIGHUP')
  await logged(server, /"a worker serves"/, 3)
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

rule('8.1.32', 'a worker that is killed before it serves is replaced, while another serves', async () => {
  const server = startWith(`if (cluster.worker?.id === 2) process.kill(process.pid, 'SIGSTOP')`)
  const [served = ''] = await logged(server, /"pid":\d+,"msg":"a worker serves"/)
  const first = Number(/\d+/.exec(served))
  await expect.poll(() => childrenOf(server.child.pid as number).length, retryingConnect).toBe(2)
  const second = childrenOf(server.child.pid as number).find((pid) => pid !== first) as number
  await expect.poll(() => stateOf(second), retryingConnect).toBe('T')
  await kill(second)
  const url = await server.url
  await logged(server, /"a worker serves"/, 2)
  expect((await fetch(`${url}/health/ready`)).status).toBe(200)
  expect(server.log()).toMatch(/"worker":2,.*"signal":"SIGKILL","msg":"a worker ended; another takes its place"/)
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

it('the port stays the same where the first worker is killed before the second serves', async () => {
  const server = startWith(`if (cluster.worker?.id === 2) process.kill(process.pid, 'SIGSTOP')`)
  const [served = ''] = await logged(server, /"pid":\d+,"msg":"a worker serves"/)
  const first = Number(/\d+/.exec(served))
  await expect.poll(() => childrenOf(server.child.pid as number).length, retryingConnect).toBe(2)
  const second = childrenOf(server.child.pid as number).find((pid) => pid !== first) as number
  // It may be slow to stop itself, and would not be continued then.
  await expect.poll(() => stateOf(second), retryingConnect).toBe('T')
  await kill(first)
  process.kill(second, 'SIGCONT')
  const url = await server.url
  await logged(server, /"a worker serves"/, 3)
  await expect.poll(() => fetch(`${url}/health/ready`).then(({ status }) => status, String), retryingConnect).toBe(200)
  expect(server.log()).not.toContain('before it served')
  server.child.kill('SIGTERM')
  await server.ended
})
