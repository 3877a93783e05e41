/** Clients that send byte by byte, do nothing, or read nothing, all at once: others are answered, and nothing of them stays. */
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { rule } from '../contract/rule.ts'
import { open } from './endless-statements.ts'

const each = 20
const endless = `MATCH (p:Place)-[:roads*1..30]->(q) RETURN '${'x'.repeat(20_000)}' AS text`
const head = 'POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n'

rule(
  ['1.5.10', '1.5.11', '1.5.16'],
  'slow senders, idle connections and readers that never read, at once',
  async () => {
    const limits = { headersMsMax: 400, requestMsMax: 800, replyStallMsMax: 300 }
    const running = await open(limits)
    const port = Number(new URL(running.url).port)
    const closed: Promise<void>[] = []
    const begin = (text: string, more?: string): Socket => {
      const socket = connect(port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      closed.push(new Promise((resolve) => socket.once('close', () => resolve())))
      socket.on('error', () => undefined).write(text)
      if (more === undefined) return socket
      const timer = setInterval(() => socket.write(more), 50)
      socket.once('close', () => clearInterval(timer))
      onTestFinished(() => clearInterval(timer))
      return socket
    }
    for (let i = 0; i < each; i++) {
      begin(`${head}X-Slow: `, 'x').resume()
      begin(`${head}Content-Length: 100000\r\n\r\n`, ' ').resume()
      begin('').resume()
    }
    // Of one address some are refused at once; those wait for another request, which does not come.
    const readers = Array.from({ length: 6 }, () => begin(`${head}Content-Length: ${endless.length}\r\n\r\n${endless}`))
    await Promise.all(readers.map((socket) => new Promise((resolve) => socket.once('data', resolve))))
    for (const socket of readers) socket.pause()
    for (let i = 0; i < 30; i++) {
      expect((await running.get('/v1/schema/Place')).status).toBe(200)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await running.listed(0)
    // What the operating system has kept for them is there for them still.
    for (const socket of readers) socket.resume()
    const [, ...others] = closed
    expect(others).toHaveLength(3 * each + readers.length - 1)
    await Promise.all(closed.slice(0, 3 * each))
    const told = async () => JSON.parse((await running.get('/v1/fd')).text).readers
    // A request that has not ended yet, as this one, may have a snapshot that is a moment old.
    await expect.poll(async () => (await told()).oldestSnapshotMs).toBe(0)
    expect((await told()).repliesBrokenOff).toBeGreaterThan(0)
  },
)
