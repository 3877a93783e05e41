/** The secret of a token stands nowhere but with whoever has it: not in messages, in the log, or in the audit log. */
import { expect, it } from 'vitest'
import { subjectOf } from '../../src/audit/subject.ts'
import { makeSecret, tokenIdOf, withoutTokens, writeToken } from '../../src/security/secrets.ts'
import { listTokens, revokeToken } from '../../src/security/tokens.ts'
import { LogLines } from './log-lines.ts'
import { basic, openSecureServer, passwordOf } from './open-secure-server.ts'

const secret = makeSecret()
const text = writeToken(secret)
const parts = [text, text.slice(0, -1), `${text}x`, secret.secret, text.slice(0, 40)]

it('names a token by its id or by all of it, and by nothing else', () => {
  expect([tokenIdOf(text), tokenIdOf(secret.id)]).toEqual([secret.id, secret.id])
  for (const other of [...parts.slice(1), '', `ash_${secret.id}`]) expect(tokenIdOf(other)).toBeUndefined()
  expect(withoutTokens(`/v1/security/token/${text}`)).toBe(`/v1/security/token/ash_${secret.id}_…`)
})

it('revokes a token by its whole text, and repeats no part of one that is not there', async () => {
  const { app, security, token } = await openSecureServer()
  const whole = (await token({ roles: ['reader'] })).slice('Bearer '.length)
  expect(await revokeToken(security.database, whole)).toBe(tokenIdOf(whole))
  expect(await listTokens(security.database)).toEqual([])
  const headers = { authorization: basic('admin', passwordOf('admin')) }
  for (const part of parts) {
    const refused = await app.inject({ method: 'DELETE', url: `/v1/security/token/${part}`, headers })
    expect(refused.json().type).toBe('TokenNotFound')
    expect(refused.body).not.toContain(secret.secret.slice(0, 10))
  }
})

it('has no part of a secret in the subject of the audit log, and none of a token in the log', async () => {
  expect(subjectOf('/v1/security/token/:id', { id: text }, undefined)).toBe(`token:${secret.id}`)
  for (const part of parts.slice(1)) {
    expect(subjectOf('/v1/security/token/:id', { id: part }, undefined)).toBeUndefined()
  }
  const lines = new LogLines()
  const { app } = await openSecureServer({ onLog: lines.take })
  await app.inject({ method: 'DELETE', url: `/v1/security/token/${text}` })
  expect(await lines.withMessage('request')).toMatchObject({ url: `/v1/security/token/ash_${secret.id}_…` })
})
