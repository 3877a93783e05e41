/**
 * How far the data file grows under a reader that reads nothing: `node --import tsx bench/stalled-reader.ts [seconds] [readers] [server words …]`,
 * with so many readers that never read their replies, one after the other, while objects are changed 600 times a second
 * (`STALLED_WRITES`). Without readers: what the file grows by itself.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AshlarClient } from '@ashlar/client'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { startChild } from './child-server.ts'
import { programOf } from './program.ts'

const [seconds = '180', readers = '1', ...words] = process.argv.slice(2)
const writesPerSecond = Number(process.env.STALLED_WRITES ?? 600)
const objects = 100_000
const text = 'FROM Part RETURN *'

const data = mkdtempSync(join(tmpdir(), 'ashlar-stalled-'))
const directory = join(data, 'default')
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
try {
  await run(await fill())
} finally {
  agent.destroy()
  rmSync(data, { recursive: true, force: true })
}

async function fill(): Promise<readonly string[]> {
  const fd = await FederatedDatabase.open({ alias: 'default', store: await openStore(`lmdb:${directory}`) })
  const attributes = ['name', 'text'].map((attributeName) => ({ attributeName, logicalType: 'string' }))
  await fd.defineClasses([{ className: 'Part', isReferenceable: true, attributes }], 'create')
  const oids: string[] = []
  for (let from = 0; from < objects; from += 5_000) {
    const of = (i: number) => ({ class: 'Part', attributes: { name: `part ${from + i}`, text: 'x'.repeat(200) } })
    oids.push(...(await fd.createObjects(Array.from({ length: 5_000 }, (_, i) => of(i)))).map(String))
  }
  await fd.close()
  return oids
}

async function run(oids: readonly string[]): Promise<void> {
  const server = await startChild([
    programOf(),
    'serve',
    '--port',
    '0',
    '--data',
    data,
    '--log-level',
    'warn',
    ...words,
  ])
  const client = new AshlarClient({ baseUrl: server.url })
  const mebibytes = (): number => Math.round(statSync(join(directory, 'data.mdb')).size / 2 ** 20)
  const begunAt = performance.now()
  const before = mebibytes()
  for (let i = 0; i < Number(readers); i++) startReader(server.url)
  let written = 0
  let sent = 0
  let nextLine = 20
  for (;;) {
    const second = (performance.now() - begunAt) / 1_000
    if (second >= Number(seconds)) break
    for (; sent < second * writesPerSecond; sent++) {
      void put(server.url, oids[(sent * 7_919) % oids.length] as string, sent).then(() => written++)
    }
    if (second >= nextLine) {
      const { oldestSnapshotMs, repliesBrokenOff } = (await client.getFederatedDatabase()).readers
      console.log(
        `${nextLine} s: ${written} writes, ${mebibytes()} MiB, oldest snapshot ${oldestSnapshotMs} ms, ${repliesBrokenOff} broken off`,
      )
      nextLine += 20
    }
    await delay(10)
  }
  console.log(`${before} MiB before, ${mebibytes()} MiB after ${seconds} s and ${written} writes`)
  await server.stop()
}

function startReader(url: string): void {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const head = `POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: ${text.length}`
  socket.on('error', () => undefined).write(`${head}\r\n\r\n${text}`)
  socket.pause()
}

function put(url: string, oid: string, n: number): Promise<void> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' }
    const asked = request(`${url}/v1/object/${oid}`, { method: 'PUT', agent, headers }, (response) => {
      response.resume().once('end', () => resolve())
    })
    asked.once('error', () => resolve())
    asked.end(JSON.stringify({ attributes: { name: `part ${n}` } }))
  })
}
