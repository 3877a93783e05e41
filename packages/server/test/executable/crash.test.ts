/** Processes that die beside the one that watches over them: replaced, told of, or not started again. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { describe, expect, it } from 'vitest'
import { CrashCount, crashOf, crashSentence } from '../../src/workers/crash.ts'
import { childrenOf, isAlive } from '../process-tree.ts'
import { freePort, isFree, type Started, start, temporaryDirectory } from './process.ts'

const gadget = {
  className: 'Gadget',
  isReferenceable: true,
  attributes: [{ attributeName: 'name', logicalType: 'string' }],
}

/** The numbers of the processes that have come to serve so far, in that order, once there are `count`. */
async function serving({ log, ended }: Started, count: number): Promise<number[]> {
  let hasEnded = false
  void ended.then(() => {
    hasEnded = true
  })
  for (;;) {
    const lines = log().split('\n').slice(0, -1)
    const pids = lines.flatMap((line) => {
      const { msg, pid } = line.startsWith('{')
        ? (JSON.parse(line) as { msg: string; pid: number })
        : { msg: '', pid: 0 }
      return msg === 'a worker serves' ? [pid] : []
    })
    if (pids.length >= count) return pids
    if (hasEnded) throw new Error(`the server has ended:\n${log()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const sentences = (log: string): string[] => log.split('\n').filter((line) => line.startsWith('ashlar: '))

async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Runs before anything else in each process, unless it is the one that watches. */
function beforehand(script: string): Record<string, string> {
  const text = `import cluster from 'node:cluster'; if (cluster.isWorker) { ${script} }`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(text)}` }
}

const aborting = beforehand('process.abort()')
const holding = beforehand('await new Promise((resolve) => setTimeout(resolve, 600_000))')

/** The process that works for it, as soon as there is one. */
async function childOf({ child }: Started): Promise<number> {
  for (;;) {
    const [pid] = childrenOf(child.pid as number)
    if (pid !== undefined) return pid
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

describe('a server on LMDB', () => {
  it('whose process is killed by native code has another, is told of it in a sentence, and ends when that happens too often', async () => {
    const directory = temporaryDirectory()
    const store = `lmdb:${join(directory, 'one')}`
    const server = start(['--port', '0', '--fd', `one=${store}`, '--fd', 'two=memory:'], {}, directory)
    const client = new AshlarClient({ baseUrl: await server.url, fdAlias: 'one' })
    await client.defineClasses([gadget])
    const { __identifier__: oid } = await client.createObject('Gadget', { name: 'kept' })
    for (const crash of [1, 2]) {
      const pid = (await serving(server, crash)).at(-1) as number
      process.kill(pid, 'SIGSEGV')
      await serving(server, crash + 1)
      expect(await client.readObject(oid)).toMatchObject({ name: 'kept' })
      const told = sentences(server.log())
      expect(told).toHaveLength(crash)
      expect(told.at(-1)).toBe(
        `ashlar: Process ${pid} crashed (SIGSEGV) while it had ${store} open. The likeliest cause is that its data file is damaged, ` +
          `though a fault of Ashlar cannot be excluded. Stop the server and run: ashlar verify ${store} . Where that reports damage, ` +
          `restore a backup, or copy what can be read: ashlar copy ${store} lmdb:<new directory>`,
      )
    }
    process.kill((await serving(server, 3)).at(-1) as number, 'SIGBUS')
    const { code, stderr } = await server.ended
    expect(code).toBe(70)
    expect(sentences(stderr).slice(2)).toEqual([
      expect.stringContaining('crashed (SIGBUS)'),
      'ashlar: Workers have crashed too often within a short time; the server is not started again.',
    ])
  })

  it('whose workers all crash at once goes on with others: that is one crash', async () => {
    const config = join(temporaryDirectory(), 'ashlar.json')
    writeFileSync(config, JSON.stringify({ limits: { workerCrashesMax: 2 } }))
    const server = start(['--port', '0', '--workers', '2', '--config', config])
    const client = new AshlarClient({ baseUrl: await server.url })
    await client.defineClasses([gadget])
    const pids = await serving(server, 2)
    // However late the second signal is: the process that watches learns of both at once.
    server.child.kill('SIGSTOP')
    for (const pid of pids) process.kill(pid, 'SIGBUS')
    server.child.kill('SIGCONT')
    await serving(server, 4)
    expect((await client.createObject('Gadget', { name: 'after' })).__identifier__).toBeDefined()
    server.child.kill('SIGTERM')
    const { code, stderr } = await server.ended
    expect(code).toBe(0)
    expect(sentences(stderr)).toEqual(Array.from({ length: 2 }, () => expect.stringContaining('crashed (SIGBUS)')))
  })

  it.each([1, 2])('of %i workers that crashes before it serves is not started again', async (workers) => {
    const words = ['--port', '0', '--workers', String(workers), '--log-level', 'silent']
    const { code, stdout, stderr } = await start(words, aborting).ended
    expect([code, stdout]).toEqual([70, ''])
    const told = sentences(stderr)
    expect(told).toEqual([
      expect.stringMatching(
        /^ashlar: Process \d+ crashed \(SIGABRT\) while it had lmdb:data\/default open\. Unless the lines above say that memory ran out, /,
      ),
    ])
  })

  it('whose process is killed otherwise has another on the same port, and nothing is lost', async () => {
    const server = start(['--port', '0'])
    const client = new AshlarClient({ baseUrl: await server.url })
    await client.defineClasses([gadget])
    const oids: string[] = []
    for (let killed = 1; killed <= 3; killed++) {
      oids.push((await client.createObject('Gadget', { name: `${killed}` })).__identifier__)
      process.kill((await serving(server, killed)).at(-1) as number, 'SIGKILL')
      await serving(server, killed + 1)
    }
    for (const oid of oids) expect(await client.readObject(oid)).toMatchObject({ __identifier__: oid })
    server.child.kill('SIGTERM')
    const { code, stderr } = await server.ended
    expect(code).toBe(0)
    expect(sentences(stderr)).toEqual([])
  })

  it('is gone, and its port free, when the process that watches is killed', async () => {
    const port = await freePort()
    const server = start(['--port', String(port)])
    const [pid = 0] = await serving(server, 1)
    expect(childrenOf(server.child.pid as number)).toEqual([pid])
    server.child.kill('SIGKILL')
    await gone(pid)
    expect(await isFree(port)).toBe(true)
  })

  it('ends without an error when the process that watches is killed while it stops', async () => {
    // The worker may find out at each moment of its end that nobody hears it any more.
    for (let round = 0; round < 6; round++) {
      const server = start(['--port', '0'])
      const [pid = 0] = await serving(server, 1)
      process.kill(pid, 'SIGTERM')
      server.child.kill('SIGKILL')
      // Both have the pipe: it is closed by the last of them.
      expect(sentences((await server.ended).stderr)).toEqual([])
      await gone(pid)
    }
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('ends by %s while it starts, without an error', async (signal) => {
    const server = start(['--port', '0'], holding)
    await childOf(server)
    server.child.kill(signal)
    expect(await server.ended).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('ends by a signal that comes before it has heard of its first worker, and starts no other', async () => {
    // The worker tells that it serves once it is to stop.
    const environment = beforehand(`if (cluster.worker.id === 1) {
      const { send } = process
      process.send = (message, ...others) => {
        if (message.kind !== 'listening') return send.call(process, message, ...others)
        process.on('message', ({ kind }) => kind === 'stop' && send.call(process, message, ...others))
        process.kill(process.ppid, 'SIGTERM')
      }
    }`)
    const server = start(['--port', '0', '--workers', '2', '--log-level', 'error'], environment)
    expect(await server.ended).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })
})

it('a server on stores without native code is one process', async () => {
  const server = start(['--port', '0', '--fd', 'a=memory:'])
  await server.url
  expect(childrenOf(server.child.pid as number)).toEqual([])
  server.child.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})

it('a copy whose process crashes ends with a sentence', async () => {
  const directory = temporaryDirectory()
  const { code, stdout, stderr } = await start(['copy', 'lmdb:old', 'lmdb:new'], aborting, directory).ended
  expect([code, stdout]).toEqual([1, ''])
  expect(sentences(stderr)).toEqual([
    expect.stringMatching(
      /crashed \(SIGABRT\) while it had lmdb:old, lmdb:new open\. .*Run: ashlar verify lmdb:old ; ashlar verify lmdb:new \. /,
    ),
  ])
})

it('a copy that is stopped by Ctrl-C before its process listens ends with the exit code of that, and says nothing', async () => {
  const copy = start(['copy', 'lmdb:old', 'lmdb:new'], holding)
  const pid = await childOf(copy)
  copy.child.kill('SIGINT')
  process.kill(pid, 'SIGINT')
  expect(await copy.ended).toEqual({ code: 130, stdout: '', stderr: '' })
})

it('a check whose process crashes ends with a sentence, and with the exit code of what could not be checked', async () => {
  const { code, stdout, stderr } = await start(['verify', 'lmdb:old'], aborting).ended
  expect([code, stdout]).toEqual([2, ''])
  expect(sentences(stderr)).toEqual([
    expect.stringMatching(
      /had lmdb:old open\. .* To go on, restore a backup, or copy what can be read: ashlar copy lmdb:old /,
    ),
  ])
})

describe('what a crash is', () => {
  it.each([
    [null, 'SIGSEGV', 'SIGSEGV'],
    [null, 'SIGABRT', 'SIGABRT'],
    [null, 'SIGKILL', undefined],
    [null, 'SIGTERM', undefined],
    [1, null, undefined],
    [0, null, undefined],
  ])('exit code %j and signal %j: %j', (code, signal, crash) => {
    expect(crashOf(code, signal)).toBe(crash)
  })

  it('is told without a store to check where none is open', () => {
    const sentence = crashSentence({ pid: 7, crash: 'SIGSEGV', stores: [], work: 'serve' })
    expect(sentence).toBe('Process 7 crashed (SIGSEGV): native code of Ashlar, or of what it is built on, has failed.')
  })

  it('is told with the bound of files where there is one, which is the cause then', () => {
    const crashed = { pid: 7, crash: 'SIGSEGV', stores: ['lmdb:new'], work: 'copy', fileBytesMax: 51_200 } as const
    expect(crashSentence(crashed)).toMatch(
      /^Process 7 crashed \(SIGSEGV\) while it had lmdb:new open\. .* 51200 bytes \(ulimit -f\), .* raise the limit/,
    )
  })

  it('is too often when there were so many within the time', () => {
    const count = new CrashCount<number>(3, 1_000)
    const areTooMany = [0, 999, 1_001, 1_998, 1_999].map((ms, process) => count.isTooMany(process, [process], ms))
    expect(areTooMany).toEqual([false, false, false, true, true])
  })

  it('counts once those that served together and crash before another serves, and each that has not served', () => {
    const count = new CrashCount<string>(3, 1_000)
    const all = ['a', 'b', 'c']
    expect(all.map((process) => count.isTooMany(process, all, 0))).toEqual([false, false, false])
    count.serves()
    expect(['d', 'e'].map((process) => count.isTooMany(process, ['d', 'e'], 1))).toEqual([false, false])
    // It was to take the place of one of those.
    expect(count.isTooMany('f', [], 2)).toBe(true)
  })
})
