/**
 * What attacks by HTTP/2 (`packages/server/test/executable/http2-attacks.ts`) cost a built server: for how long its event loop was held, its memory, and what
 * became of each; the limits are those of a server, with shorter times. Run: node --import tsx bench/http2-attacks.ts [words of the names …]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { serverPair } from '../packages/server/test/certificates.ts'
import { type Attacked, attacks, attacksByReplies } from '../packages/server/test/executable/http2-attacks.ts'
import { otherClient } from '../packages/server/test/executable/other-client.ts'
import { type ChildServer, startChild } from './child-server.ts'
import { programOf } from './program.ts'
import { holdCells, holdColumns, longestHold } from './stalls/longest-hold.ts'

const limits = { requestMsMax: 3_000, headersMsMax: 2_000, replyStallMsMax: 3_000 }
const password = 'of the administrator'
const lookEveryMs = 50
const restMs = 500
const asked = process.argv.slice(2)

const directory = mkdtempSync(join(tmpdir(), 'ashlar-http2-'))
const holds = join(directory, 'holds')
try {
  const [cert, key, config] = [join(directory, 'tls.crt'), join(directory, 'tls.key'), join(directory, 'ashlar.json')]
  writeFileSync(cert, serverPair.cert)
  writeFileSync(key, serverPair.key)
  writeFileSync(config, JSON.stringify({ limits }))
  process.env.STALLS_HOLDS = holds
  process.env.ASHLAR_ADMIN_PASSWORD = password
  const hook = pathToFileURL(fileURLToPath(new URL('stalls/loop-holds.mjs', import.meta.url))).href
  process.env.NODE_OPTIONS = `${process.env.STALLS_NODE_OPTIONS ?? ''} --import=${hook}`
  const words = ['serve', '--auth', '--port', '0', '--config', config, '--tls-cert', cert, '--tls-key', key]
  const starting = startChild([programOf(), ...words, '--data', join(directory, 'data'), '--log-level', 'fatal'])
  delete process.env.NODE_OPTIONS
  const server = await starting
  try {
    await measureAll(server)
  } finally {
    await server.stop()
  }
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function measureAll(server: ChildServer): Promise<void> {
  const port = Number(new URL(server.url).port)
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  const other = otherClient(port, authorization)
  const attacked: Attacked = { port, ca: serverPair.cert, authorization, largePath: await other.createLarge() }
  console.log(['attack', 'became', ...holdColumns, 'RssAnon MiB before, at most'].join(' | '))
  for (const { name, run } of [...attacks, ...attacksByReplies]) {
    if (asked.length > 0 && !asked.some((words) => name.includes(words))) continue
    const before = server.memory().own
    let most = before
    const looking = setInterval(() => {
      most = Math.max(most, server.memory().own)
    }, lookEveryMs)
    const since = Date.now()
    const became = await run(attacked)
    await delay(restMs)
    clearInterval(looking)
    const hold = holdCells(longestHold(holds, since))
    const mebibytes = [before, most].map((each) => Math.round(each)).join(', ')
    console.log([name, became, ...hold, mebibytes].join(' | '))
  }
  other.end()
}
