/** Attacks by HTTP/2 on the program as it runs: what becomes of each, whether others are answered meanwhile, and the memory that it takes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { serverPair } from '../certificates.ts'
import { rule } from '../contract/rule.ts'
import { childrenOf } from '../process-tree.ts'
import { basic } from '../unit/open-secure-server.ts'
import { attacks } from './http2-attacks.ts'
import { otherClient } from './other-client.ts'
import { start, temporaryDirectory } from './process.ts'

const password = 'of the administrator'
const authorization = basic('admin', password)
/** Of the server's processes, where the system tells: 60 before. */
const mebibytesMax = 400
const lookEveryMs = 50

function mebibytesOf(pid: number): number {
  if (process.platform !== 'linux') return 0
  const own = [pid, ...childrenOf(pid)].map((one) => {
    const told = /RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${one}/status`, 'latin1'))
    return Number(told?.[1] ?? 0)
  })
  return own.reduce((sum, one) => sum + one, 0) / 1_024
}

rule(
  ['9.5.3', '9.5.5', '9.5.7'],
  'each attack ends as it has to, others are answered, and memory is bounded',
  async () => {
    const place = temporaryDirectory()
    const [cert, key, config] = [join(place, 'tls.crt'), join(place, 'tls.key'), join(place, 'ashlar.json')]
    writeFileSync(cert, serverPair.cert)
    writeFileSync(key, serverPair.key)
    const limits = { requestMsMax: 3_000, headersMsMax: 2_000, replyStallMsMax: 3_000 }
    writeFileSync(config, JSON.stringify({ limits }))
    const words = ['serve', '--auth', '--port', '0', '--config', config, '--tls-cert', cert, '--tls-key', key]
    const server = start([...words, '--log-level', 'error'], { ASHLAR_ADMIN_PASSWORD: password }, place)
    const port = Number(new URL(await server.url).port)
    const other = otherClient(port, authorization)
    const largePath = await other.createLarge()
    const attacked = { port, ca: serverPair.cert, authorization, largePath }
    for (const { name, outcome, run } of attacks) {
      let [isOver, answered, most] = [false, 0, 0]
      const looking = setInterval(() => {
        most = Math.max(most, mebibytesOf(server.child.pid as number))
      }, lookEveryMs)
      const meanwhile = (async () => {
        while (!isOver) {
          expect(await other.ask('GET', '/v1'), name).toMatchObject({ status: 200 })
          answered++
        }
      })()
      const became = await run(attacked).finally(() => {
        isOver = true
        clearInterval(looking)
      })
      await meanwhile
      expect(answered, name).toBeGreaterThan(0)
      if (typeof outcome === 'string') expect(became, name).toBe(outcome)
      else expect(became, name).toMatch(outcome)
      expect(most, name).toBeLessThan(mebibytesMax)
    }
    other.end()
  },
)
