/** Whether a worker gets the certificates that its primary was given for connections to others. */
import { describe, expect, it } from 'vitest'
import { mergeConfig } from '../../src/config/merge-config.ts'
import { environmentOf } from '../../src/workers/primary.ts'

const plain = { env: {}, execArgv: [] }
const local = mergeConfig([{ federatedDatabases: [{ alias: 'fd', store: 'lmdb:/data/fd' }] }])
const withoutCertificates = { NODE_EXTRA_CA_CERTS: undefined }

describe('the environment of a worker', () => {
  it('has no certificates of others where it connects to nobody', () => {
    expect(environmentOf(local, plain)).toEqual(withoutCertificates)
    expect(environmentOf({ ...local, auth: true }, plain)).toEqual(withoutCertificates)
  })

  it('has them for PostgreSQL, also where it keeps the users', () => {
    const store = 'postgres://ashlar@db.example/ashlar'
    expect(environmentOf({ ...local, federatedDatabases: [{ alias: 'fd', store }] }, plain)).toEqual({})
    expect(environmentOf({ ...local, auth: true, securityStore: store }, plain)).toEqual({})
  })

  it('has them for webhooks and issuers of tokens', () => {
    const jwt = { jwks: 'https://issuer.example/keys' } as NonNullable<typeof local.jwt>
    expect(environmentOf({ ...local, jwt }, plain)).toEqual({})
    const webhooks = {} as NonNullable<typeof local.webhooks>
    expect(environmentOf({ ...local, webhooks }, plain)).toEqual({})
  })

  it('has them where Node loads modules of others', () => {
    expect(environmentOf(local, { ...plain, env: { NODE_OPTIONS: '--import ./tracing.mjs' } })).toEqual({})
    expect(environmentOf(local, { ...plain, execArgv: ['--import', './tracing.mjs'] })).toEqual({})
  })
})
