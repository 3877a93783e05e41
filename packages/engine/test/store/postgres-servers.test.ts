/** How the store finds its server: several hosts, encryption, poolers; and what can never work is refused at once, with a sentence. */
import crypto, { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { postgresOfRun, startAnotherPostgres } from '../../../../tools/postgres-of-run.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { parsePostgresAddress, withoutCredentials } from '../../src/store/postgres/address.ts'
import { commitChanges, put, valueIn } from './bytes.ts'
import { runSql, withClient } from './database-client.ts'
import { freshAddress } from './postgres-stores.ts'
import { startTransactionPooler } from './transaction-pooler.ts'

/** So long that a test that waits for it fails. */
const patience = 'patienceMs=3600000'
const certificate = fileURLToPath(new URL('./certificates/server.crt', import.meta.url))
const key = fileURLToPath(new URL('./certificates/server.key', import.meta.url))

/** Kind R, length 12, request 5, salt. */
const md5Asked = Buffer.from([0x52, 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4])

const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) server.close()
  vi.restoreAllMocks()
})

async function listening(server: Server): Promise<number> {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

function withPort(address: string, port: number): URL {
  const url = new URL(address)
  url.port = String(port)
  return url
}

/** Encrypts before a PostgreSQL that does not; counts who comes encrypted. Its certificate is for db.example. */
async function startTls(address: string): Promise<{ port: number; encrypted: number }> {
  const tls = { port: 0, encrypted: 0 }
  const target = Number(new URL(address).port)
  const server = createServer((near) => {
    sockets.add(near)
    near.on('error', () => undefined)
    near.once('data', () => {
      near.write('S')
      tls.encrypted++
      const clear = new TLSSocket(near, { isServer: true, cert: readFileSync(certificate), key: readFileSync(key) })
      const far = connect(target, '127.0.0.1')
      sockets.add(far)
      clear.on('error', () => far.destroy())
      far.on('error', () => clear.destroy())
      clear.pipe(far).pipe(clear)
    })
  })
  tls.port = await listening(server)
  return tls
}

describe('postgres: addresses with several hosts', () => {
  it('are read as libpq reads them, and told without user and password', () => {
    const address = 'postgres://us%40er:se%2Fsame@a:5433,b,[::1]:5434/data?target_session_attrs=read-write&schema=x'
    const { servers: hosts, user, password, database, location } = parsePostgresAddress(address)
    expect(hosts).toEqual([
      { host: 'a', port: 5433 },
      { host: 'b', port: 5432 },
      { host: '::1', port: 5434 },
    ])
    expect({ user, password, database }).toEqual({ user: 'us@er', password: 'se/same', database: 'data' })
    expect(location).toBe('postgres://a:5433,b,[::1]:5434/data?schema=x')
    expect(withoutCredentials(address)).toBe('postgres://a:5433,b,[::1]:5434/data')
  })

  it.each([
    ['postgres://u:sesame@a:5432,b:0/x', 'percent-encoded'],
    ['postgres://u:sesame@a,b:70000/x', 'percent-encoded'],
    ['postgres://u:sesame@a,b/x?target_session_attrs=standby', "target_session_attrs='standby'"],
    ['postgres://u:sesame@a,b/x?sslmode=sometimes', "sslmode='sometimes'"],
    ['postgres://u:sesame@a/x?sslmode=verify-ca', 'needs sslrootcert'],
    ['postgres://u:sesame@a/x?sslmode=verify-full&sslrootcert=/none/at/all', '/none/at/all, cannot be read (ENOENT)'],
  ])('that cannot be meant are refused in one sentence: %s', async (address, reason) => {
    await expect(openStore(address)).rejects.toThrow(reason)
    await expect(openStore(address)).rejects.not.toThrow('sesame')
  })

  it('find the server that writes, and the one that does after it was promoted; one that only reads is never used', async () => {
    const one = freshAddress()
    const schema = new URL(one).searchParams.get('schema') ?? ''
    const second = await startAnotherPostgres()
    const role = `role_${randomBytes(4).toString('hex')}`
    const addresses = [postgresOfRun(), second.address] as const
    const ports = addresses.map((address) => new URL(address).port)
    const setReadOnly = async (nth: 0 | 1, isReadOnly: boolean): Promise<void> => {
      await withClient(addresses[nth], async (admin) => {
        await admin.query(`ALTER ROLE ${role} SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`)
        await admin.query('SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = $1', [role])
      })
    }
    for (const [nth, address] of addresses.entries()) {
      await runSql(address, `CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'basalt'`)
      const store = await openStore(`postgres://${role}:basalt@127.0.0.1:${ports[nth]}/postgres?schema=${schema}`)
      await commitChanges(store, put('who', `${nth}`))
      await store.close()
    }
    await setReadOnly(0, true)
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')
    const store = await openStore(
      `postgres://${role}:basalt@${hosts}/postgres?schema=${schema}&target_session_attrs=read-write`,
    )
    expect(await valueIn(store, 'who')).toBe('1')
    await commitChanges(store, put('more', '1'))
    await Promise.all([setReadOnly(1, true), setReadOnly(0, false)])
    await commitChanges(store, put('more', '2'))
    expect(await valueIn(store, 'who')).toBe('0')
    expect(await valueIn(store, 'more')).toBe('2')
    // It is gone altogether, and the other is promoted again.
    await setReadOnly(1, false)
    await setReadOnly(0, true)
    expect(await valueIn(store, 'more')).toBe('1')
    await store.close()
    await second.stop()
  })
})

it('postgres: what the role or its database sets otherwise does not change how statements are read', async () => {
  const address = new URL(freshAddress())
  const role = `role_${randomBytes(4).toString('hex')}`
  await withClient(postgresOfRun(), async (admin) => {
    await admin.query(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'basalt'`)
    for (const setting of ['standard_conforming_strings = off', 'backslash_quote = off', 'array_nulls = off'])
      await admin.query(`ALTER ROLE ${role} SET ${setting}`)
  })
  address.username = role
  address.password = 'basalt'
  const store = await openStore(address.href)
  await commitChanges(store, put('a\\0', '\\x27'))
  expect(await valueIn(store, 'a\\0')).toBe('\\x27')
  await store.close()
})

describe('postgres: sslmode', () => {
  it.each([
    ['disable', 0],
    ['prefer', 0],
    ['allow', 0],
  ])('%s works where the server does not encrypt', async (mode) => {
    const store = await openStore(`${freshAddress()}&sslmode=${mode}&${patience}`)
    await commitChanges(store, put('a', '1'))
    await store.close()
  })

  it.each([
    ['prefer', ''],
    ['require', ''],
    ['verify-ca', `&sslrootcert=${certificate}`],
    ['require', `&sslrootcert=${certificate}`],
  ])('%s encrypts, whatever host the certificate is for%s', async (mode, more) => {
    const address = freshAddress()
    const tls = await startTls(address)
    const store = await openStore(`${withPort(address, tls.port).href}&sslmode=${mode}${more}&${patience}`)
    await commitChanges(store, put('a', '1'))
    expect(await valueIn(store, 'a')).toBe('1')
    expect(tls.encrypted).toBeGreaterThan(0)
    await store.close()
  })

  it.each([
    ['verify-full', `&sslrootcert=${certificate}`, /certificate of the server is not accepted.*altnames/],
    ['verify-full', '', /certificate of the server is not accepted/],
    ['require', `&sslrootcert=${fileURLToPath(import.meta.url)}`, /certificate/],
  ])('%s refuses a certificate that does not do, at once%s', async (mode, more, reason) => {
    const address = freshAddress()
    const tls = await startTls(address)
    const opening = openStore(`${withPort(address, tls.port).href}&sslmode=${mode}${more}&${patience}`)
    await expect(opening).rejects.toThrow(reason)
  })
})

describe('postgres: what can never be connected to is refused at once, with a sentence', () => {
  const opened = (change: (url: URL) => void): Promise<unknown> => {
    const url = new URL(`${freshAddress()}&${patience}`)
    change(url)
    return openStore(url.href)
  }
  it.each<[string, (url: URL) => void, string]>([
    [
      'a wrong password',
      (url) => {
        url.password = 'sesame'
      },
      'cannot be opened: password authentication failed',
    ],
    [
      'no password',
      (url) => {
        url.password = ''
      },
      'the server asks for a password, and none is given',
    ],
    [
      'an unknown database',
      (url) => {
        url.pathname = '/nowhere'
      },
      'the database does not exist',
    ],
    [
      'encryption that the server lacks',
      (url) => url.searchParams.set('sslmode', 'require'),
      'the server does not encrypt connections',
    ],
  ])('%s', async (_what, change, reason) => {
    await expect(opened(change)).rejects.toThrow(reason)
    await expect(opened(change)).rejects.not.toThrow(/sesame|ashlar:/)
  })

  it('a server of another protocol', async () => {
    const port = await listening(createHttpServer((_request, reply) => reply.end('hello')))
    await expect(
      opened((url) => {
        url.port = String(port)
      }),
    ).rejects.toThrow('does not speak the PostgreSQL protocol')
  })

  it('a server that asks for an MD5 hash, where this Node makes none, as under FIPS', async () => {
    const port = await listening(createServer((near) => near.once('data', () => near.write(md5Asked))))
    vi.spyOn(crypto, 'createHash').mockImplementation(() => {
      throw new Error('digital envelope routines::unsupported')
    })
    const opening = opened((url) => {
      url.port = String(port)
    })
    await expect(opening).rejects.toThrow('this Node.js cannot perform the authentication that the server requires')
  })

  it('a server that grants one connection and no second', async () => {
    const role = `role_${randomBytes(4).toString('hex')}`
    await runSql(postgresOfRun(), `CREATE ROLE ${role} LOGIN PASSWORD 'basalt' CONNECTION LIMIT 1`)
    const opening = opened((url) => {
      url.username = role
      url.password = 'basalt'
      url.searchParams.set('patienceMs', '300')
    })
    // Not that one of its ways, with encryption, is refused: the other could be used.
    await expect(opening).rejects.toThrow(/^(?!.*does not encrypt).* cannot be /)
  })

  it('a pooler that assigns connections by transaction', async () => {
    const address = freshAddress()
    const pooler = await startTransactionPooler(address, 2)
    await expect(openStore(`${pooler.address}&${patience}`)).rejects.toThrow(/pooler.*session mode/)
    await pooler.close()
  })
})
