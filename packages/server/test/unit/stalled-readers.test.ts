/** Readers that take nothing any more, and snapshots that are held for too long. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { rule } from '../contract/rule.ts'
import { endless, open, type Running, unsorted } from './endless-statements.ts'
import { rowChunk, stubQuery } from './stub-query.ts'

/** Rows so long that what the operating system takes without a reader is soon full. */
const long = `MATCH (p:Place)-[:roads*1..30]->(q) RETURN '${'x'.repeat(20_000)}' AS text`

/** A reply that has begun, of which no more is read. */
async function stall({ url }: Running, accept = 'application/json', query = long) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const head = `POST /v1/query HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\nContent-Type: text/plain\r\n`
  socket.on('error', () => undefined).write(`${head}Content-Length: ${query.length}\r\n\r\n${query}`)
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  /** What arrives after all, until the server ends the reply or the connection. */
  const rest = async (end = 'never'): Promise<string> => {
    let arrived = ''
    const over = new Promise<void>((resolve) => {
      socket.once('close', () => resolve())
      socket.on('data', (piece) => {
        arrived = `${arrived}${piece.toString('latin1')}`.slice(-5_000)
        if (arrived.endsWith(end)) resolve()
      })
    })
    socket.resume()
    await over
    return arrived
  }
  /** Once so many bytes have arrived after all. */
  const takes = async (bytes: number): Promise<void> => {
    let left = bytes
    const enough = new Promise<void>((resolve) => {
      socket.on('data', (piece) => {
        left -= piece.length
        if (left <= 0) resolve()
      })
    })
    socket.resume()
    await enough
  }
  return { rest, takes }
}

/** To be asked again where a snapshot is told: that of a request which has not ended yet, as of this one, may be a moment old. */
const readersOf = async ({ get }: Running) => JSON.parse((await get('/v1/fd')).text).readers

rule(['1.5.16', '2.1.8'], 'a reply of which nothing is taken is broken off, logged and counted', async () => {
  const running = await open({ replyStallMsMax: 200 })
  await expect.poll(() => readersOf(running)).toEqual({ oldestSnapshotMs: 0, repliesBrokenOff: 0 })
  const { rest } = await stall(running)
  const line = await running.log.withMessage(/replyStallMsMax/)
  expect(line).toMatchObject({ level: 40, path: '/v1/query', clientAddress: '127.0.0.1' })
  await running.listed(0)
  await expect.poll(() => readersOf(running)).toEqual({ oldestSnapshotMs: 0, repliesBrokenOff: 1 })
  expect(await rest()).not.toMatch(/\r\n0\r\n\r\n$/)
})

rule('1.5.16', 'where data files grow meanwhile, a reply of which nothing is taken is broken off earlier', async () => {
  const running = await open({ replyStallMsMax: 3_000, replyStallBytesMax: 0 })
  await stall(running)
  await running.log.withMessage(/replyStallBytesMax/)
  await running.listed(0)
})

rule('1.5.16', 'a reply of which nothing is taken yields its slot, and goes on when more is taken', async () => {
  const running = await open({
    replyStallMsMax: 1e9,
    replyStallBytesMax: 1e12,
    // On a busy machine, it takes a while until the slot is free.
    statementQueueMsMax: 60_000,
    statementsMax: 1,
    statementsPerCallerMax: 1,
  })
  const { takes } = await stall(running)
  // A reply of many rows begins with a slot.
  const other = running.start(unsorted)
  const [response] = (await once(other.sent, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(200)
  await running.listed(2, 'sending')
  other.sent.destroy()
  await running.listed(1)
  await takes(32 * 2 ** 20)
})

rule(
  '1.5.16',
  'where others want the slot of a statement that holds much, its reply is broken off earlier',
  async () => {
    const running = await open({ replyStallMsMax: 20_000, statementsMax: 1, statementsPerCallerMax: 1 })
    await stall(
      running,
      'application/json',
      long.replace('*1..30', '*3..3').replace('RETURN', 'ORDER BY q.name RETURN'),
    )
    let isBrokenOff = false
    const told = running.log.withMessage(/\(statementsMax\)/).then(() => {
      isBrokenOff = true
    })
    while (!isBrokenOff) {
      const { sent, answer } = running.start(endless)
      // It may be the one that gets the slot.
      await Promise.race([answer, told])
      sent.destroy()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await told
    await running.listed(0)
  },
)

rule('1.5.16', 'a reply for which there is nothing to send yet is not broken off', async () => {
  const running = await open({ replyStallMsMax: 50 })
  let proceed = (): void => undefined
  const wait = new Promise<void>((resolve) => {
    proceed = resolve
  })
  const [fd] = running.federatedDatabases
  const query = fd?.query
  stubQuery(fd, async function* () {
    yield rowChunk('1')
    await wait
    yield rowChunk('2')
  })
  const slow = running.start('SHOW 1')
  await new Promise((resolve) => slow.sent.once('response', resolve))
  Object.assign(fd as object, { query })
  // Meanwhile another one is.
  await stall(running)
  await running.log.withMessage(/replyStallMsMax/)
  proceed()
  expect((await slow.answer).text).toBe('[1,2]')
})

rule(
  ['1.5.16', '2.1.8'],
  'a snapshot is ended in time, also where its reader takes a little now and then',
  async () => {
    const running = await open({ snapshotMsMax: 1_500 })
    await stall(running)
    expect(await running.log.withMessage(/snapshotMsMax/)).toMatchObject({ level: 40, clientAddress: '127.0.0.1' })
    await running.listed(0)
    await expect.poll(() => readersOf(running)).toEqual({ oldestSnapshotMs: 0, repliesBrokenOff: 1 })
  },
)

rule('1.5.16', 'an NDJSON reply whose snapshot was ended says so in its last line', async () => {
  // However slow this machine is, nothing else may break it off, and the reply has begun by then.
  const running = await open({
    snapshotMsMax: 1_500,
    statementMsMax: 1e9,
    replyStallMsMax: 1e9,
    replyStallBytesMax: 1e12,
  })
  const { rest } = await stall(running, 'application/x-ndjson')
  await running.log.withMessage(/snapshotMsMax/)
  expect(await rest('\r\n0\r\n\r\n')).toMatch(/\{"error":\{"type":"LimitExceeded",[^\n]*snapshotMsMax[^\n]*\}\}\n/)
})
