/**
 * What it costs to find out who sends a request with a token that the process remembers: the check alone, from headers to caller.
 * `node --import tsx bench/token-check.ts`
 */
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { Security } from '../packages/server/src/security/security.ts'
import { SecurityDatabase } from '../packages/server/src/security/security-database.ts'
import { createToken } from '../packages/server/src/security/tokens.ts'

const tokens = 100
const checks = 200_000
const rounds = 7

const security = new Security(await SecurityDatabase.open('memory:'), (error) => {
  throw error
})
await security.start()
const requests: IncomingMessage[] = []
for (let number = 0; number < tokens; number++) {
  const wanted = { name: `token ${number}`, owner: undefined, roles: ['reader'], expiresAtMs: Date.now() + 3_600_000 }
  const { token } = await createToken(security.database, wanted)
  const request = new IncomingMessage(new Socket())
  request.headers = { host: 'localhost:8185', authorization: `Bearer ${token}` }
  // From now on it is remembered.
  await security.authenticator.authenticate(request)
  requests.push(request)
}
const microseconds: number[] = []
for (let round = 0; round < rounds; round++) {
  const beganMs = performance.now()
  for (let check = 0; check < checks; check++) {
    const caller = security.authenticator.authenticate(requests[check % tokens] as IncomingMessage)
    if (caller instanceof Promise) throw new Error('the token was not remembered')
  }
  microseconds.push(((performance.now() - beganMs) * 1_000) / checks)
}
await security.close()
const [best = 0] = microseconds.sort((one, other) => one - other)
const median = microseconds[Math.floor(rounds / 2)] ?? 0
console.log(`the check of a remembered token: ${best.toFixed(2)} µs at best, ${median.toFixed(2)} µs in the median`)
