/** Tokens of another issuer that are forged, bent or oversized, and an issuer that misbehaves: none of them is anybody, and nobody else waits. */
import type { webcrypto } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { exportJWK, exportSPKI, generateKeyPair } from 'jose'
import { expect, onTestFinished } from 'vitest'
import { jwksBytesMax, jwtCharactersMax } from '../../src/limits.ts'
import { rule } from '../contract/rule.ts'
import {
  audience,
  issuer,
  type Key,
  longAfter,
  newKey,
  openIssuer,
  openWith,
  part,
  secondsFromNow,
  sign,
  signWith,
  times,
  usual,
  whose,
} from '../unit/jwt-issuer.ts'

type Get = Awaited<ReturnType<typeof openWith>>['get']

/** The issuer, and a server that knows its right key. */
async function world() {
  const key = await newKey('k1')
  const issuing = await openIssuer(key)
  const { get } = await openWith(issuing.url)
  return { key, issuing, get }
}

async function refuses(get: Get, wrong: Readonly<Record<string, string | Promise<string>>>): Promise<void> {
  for (const [what, token] of Object.entries(wrong)) {
    const reply = await get(await token)
    expect(reply.statusCode, what).toBe(401)
    expect(reply.json(), what).toMatchObject({ type: 'Unauthenticated' })
    expect(reply.body, what).not.toContain((await token).slice(0, 100))
  }
}

const claims = { ...whose, ...usual, exp: longAfter }
/** As many bytes as a signature by ES256 has. */
const someSignature = Buffer.alloc(64, 1).toString('base64url')

rule('9.1.8', 'tokens without a signature, whatever their header calls it', async () => {
  const { get } = await world()
  const names = ['none', 'None', 'NONE', 'nOnE', '', ' none', 'none\0']
  const signatures = ['', someSignature]
  const forged = names.flatMap((alg) =>
    signatures.map((end) => [`'${alg}'${end}`, `${part({ alg, kid: 'k1' })}.${part(claims)}.${end}`]),
  )
  await refuses(get, Object.fromEntries(forged))
  await refuses(get, {
    'no alg': `${part({ kid: 'k1' })}.${part(claims)}.${someSignature}`,
    'alg no text': `${part({ alg: ['ES256'], kid: 'k1' })}.${part(claims)}.${someSignature}`,
    'header no object': `${part('null')}.${part(claims)}.${someSignature}`,
    'a signature of zeros (CVE-2022-21449)': `${part({ alg: 'ES256', kid: 'k1' })}.${part(claims)}.${Buffer.alloc(64).toString('base64url')}`,
  })
})

rule('9.1.8', 'tokens signed by the public key as a secret, in each of its forms', async () => {
  const { key, get, issuing } = await world()
  const pem = await exportSPKI(key.publicKey)
  const secrets = {
    pem,
    'pem without its end': pem.trimEnd(),
    jwk: JSON.stringify(key.jwk),
    'the key set': issuing.body,
    x: Buffer.from(String(key.jwk.x), 'base64url'),
  }
  for (const alg of ['HS256', 'HS384', 'HS512']) {
    const forged = Object.entries(secrets).map(([what, secret]) => [
      `${alg} ${what}`,
      signWith({ alg, kid: 'k1' }, Buffer.from(secret)),
    ])
    await refuses(get, Object.fromEntries(forged))
  }
})

rule('9.1.8', 'a kid is looked up among the keys, and nowhere else', async () => {
  const { get, key } = await world()
  const kids = [
    '../../../../dev/null',
    '/dev/null',
    'file:///etc/hostname',
    'https://elsewhere.example/jwks',
    "' UNION SELECT 'secret' --",
    '| id',
    '__proto__',
    'constructor',
    'k1\0',
    'K1',
    '',
    'k'.repeat(5_000),
  ]
  const other = await newKey('other')
  for (const kid of kids) {
    await refuses(get, {
      [`${kid} with another key`]: signWith({ alg: 'ES256', kid }, other.privateKey),
      [`${kid} with the right key`]: signWith({ alg: 'ES256', kid }, key.privateKey),
      // The key of an empty file.
      [`${kid} with an empty secret`]: signWith({ alg: 'HS256', kid }, Buffer.alloc(1)),
    })
  }
  for (const kid of [1, null, ['k1'], { k1: 'k1' }, true]) {
    const head = part({ alg: 'ES256', kid })
    await refuses(get, { [`kid ${JSON.stringify(kid)}`]: `${head}.${part(claims)}.${someSignature}` })
  }
})

rule('9.1.8', 'keys and addresses of keys within a token are not looked at', async () => {
  const { get, key } = await world()
  const attacker = await newKey('k1')
  const theirs = await openIssuer(attacker)
  const header = { alg: 'ES256', kid: 'k1' }
  const own = {
    jku: { ...header, jku: theirs.url },
    x5u: { ...header, x5u: theirs.url },
    jwk: { ...header, jwk: attacker.jwk },
    x5c: { ...header, x5c: [Buffer.from(await exportSPKI(attacker.publicKey)).toString('base64')] },
    'jwk without kid': { alg: 'ES256', jwk: attacker.jwk },
  }
  const forged = Object.entries(own).map(([what, head]) => [what, signWith(head, attacker.privateKey)])
  await refuses(get, Object.fromEntries(forged))
  // With the right signature they mean nothing.
  expect((await get(await signWith(own.jku, key.privateKey))).statusCode).toBe(200)
  expect(theirs.asked).toBe(0)
})

rule('9.1.8', 'extensions that a token says are critical, and are not known, are refused', async () => {
  const { get, key } = await world()
  const signed = (header: object, payload: object | string = claims): Promise<string> => signText(key, header, payload)
  const header = { alg: 'ES256', kid: 'k1' }
  await refuses(get, {
    unknown: signed({ ...header, crit: ['bogus'], bogus: 1 }),
    absent: signed({ ...header, crit: ['bogus'] }),
    empty: signed({ ...header, crit: [] }),
    'no list': signed({ ...header, crit: 'exp' }),
    'payload as it is (RFC 7797)': signed({ ...header, crit: ['b64'], b64: false }),
    'claims that are a list': signed(header, [claims]),
    'claims that are no JSON': signed(header, '{"iss":'),
    'claims 2,500 deep': signed(header, `${'['.repeat(2_500)}${']'.repeat(2_500)}`),
  })
  expect((await get(await signed(header))).statusCode).toBe(200)
})

rule('9.1.8', 'of claims that stand twice, the last one counts in every respect', async () => {
  const { get, key } = await world()
  const elsewhere = 'https://elsewhere.example/'
  const signed = (text: string): Promise<string> => signText(key, { alg: 'ES256', kid: 'k1' }, text)
  const twice = (first: object, last: object): string =>
    `${JSON.stringify({ ...claims, ...first }).slice(0, -1)},${JSON.stringify(last).slice(1)}`
  await refuses(get, {
    issuer: signed(twice({}, { iss: elsewhere })),
    audience: signed(twice({}, { aud: 'others' })),
    expiry: signed(twice({}, { exp: 1 })),
  })
  expect((await get(await signed(twice({ iss: elsewhere, exp: 1 }, { iss: issuer, exp: longAfter })))).statusCode).toBe(
    200,
  )
  // Prototypes are no claims, and no roles.
  const withRoles = (roles: unknown): object => ({ realm_access: { roles } })
  const inherited = JSON.stringify({ ...claims, ...withRoles(['__proto__', 'constructor', 'toString']) })
  expect((await get(await signed(inherited))).statusCode).toBe(403)
  const proto = JSON.stringify({ ...claims, realm_access: undefined })
  const planted = `${proto.slice(0, -1)},"__proto__":${JSON.stringify(withRoles(['clerks']))}}`
  expect((await get(await signed(planted))).statusCode).toBe(403)
})

rule('9.1.8', 'issuer, audience and times are compared as they are', async () => {
  const { get, key } = await world()
  const right = { alg: 'ES256', kid: 'k1' }
  await refuses(get, {
    'issuer with a longer name': sign(key, { iss: `${issuer}.evil.example` }),
    'issuer in other letters': sign(key, { iss: issuer.toUpperCase() }),
    'issuer a list': sign(key, { iss: [issuer] }),
    'no issuer': sign(key, { iss: undefined }),
    'audience with a longer name': sign(key, { aud: `${audience}-test` }),
    'audiences of others': sign(key, { aud: ['others', `${audience} `] }),
    'no audience': sign(key, { aud: undefined }),
    'audience an object': sign(key, { aud: { [audience]: true } }),
    'no audiences': sign(key, { aud: [] }),
    'expiry a text': signText(key, right, { ...claims, exp: `${longAfter}` }),
    'expiry null': signText(key, right, { ...claims, exp: null }),
    'expiry below zero': signText(key, right, { ...claims, exp: -longAfter }),
    'beginning a text': sign(key, { nbf: '0' }),
    'not yet': sign(key, { nbf: secondsFromNow(60) }),
  })
  expect((await get(await sign(key, { aud: ['others', audience] }))).statusCode).toBe(200)
  // When it was made says nothing of when it may be used (RFC 7519, 4.1.6).
  expect((await get(await sign(key, { iat: secondsFromNow(600) }))).statusCode).toBe(200)
})

/** What `jose` would not sign, by the right key. */
async function signText(key: Key, header: object, payload: object | string): Promise<string> {
  const text = `${part(header)}.${part(payload)}`
  const algorithm = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(algorithm, key.privateKey as webcrypto.CryptoKey, Buffer.from(text))
  return `${text}.${Buffer.from(signature).toString('base64url')}`
}

rule('9.1.8', 'clocks may differ by the tolerance that is configured, and by no more', async () => {
  const key = await newKey('k1')
  const { url } = await openIssuer(key)
  const { get } = await openWith(url, times, { clockToleranceSeconds: 60 })
  expect((await get(await sign(key, {}, secondsFromNow(-30)))).statusCode).toBe(200)
  expect((await get(await sign(key, { nbf: secondsFromNow(30) }))).statusCode).toBe(200)
  await refuses(get, {
    expired: sign(key, {}, secondsFromNow(-90)),
    'not yet': sign(key, { nbf: secondsFromNow(90) }),
  })
})

rule('9.1.8', 'tokens beyond jwtCharactersMax, in other alphabets, encrypted, or several of them', async () => {
  const { get, key } = await world()
  const right = await sign(key)
  const [head, body, signature] = right.split('.') as [string, string, string]
  const bytes = Buffer.from(signature, 'base64url')
  await refuses(get, {
    large: sign(key, { more: 'x'.repeat(jwtCharactersMax) }),
    'a signature that is too long': `${head}.${body}.${Buffer.concat([bytes, bytes]).toString('base64url')}`,
    'a signature that is cut': `${head}.${body}.${bytes.subarray(0, 32).toString('base64url')}`,
    padded: `${right}=`,
    'with a blank within': `${head}.${body}. ${signature}`,
    'in the alphabet of base64': `${head}.${body}.${bytes.toString('base64')}==`,
    'four parts': `${right}.`,
    'five parts, as an encrypted one has': `${head}.${head}.${head}.${head}.${head}`,
    two: `${right}, Bearer ${right}`,
  })
  expect((await get(right)).statusCode).toBe(200)
})

rule('9.1.8', 'keys that are there for something else sign nothing', async () => {
  const key = await newKey('k1')
  const rsa = await generateKeyPair('RS256', { extractable: true })
  const ed = await generateKeyPair('Ed25519', { extractable: true })
  const secret = Buffer.alloc(32, 7)
  const sets: readonly (readonly [string, object, Promise<string>])[] = [
    ['use enc', { ...key.jwk, use: 'enc' }, sign(key)],
    ['another alg', { ...key.jwk, alg: 'ES384' }, sign(key)],
    ['other operations', { ...key.jwk, key_ops: ['sign'] }, sign(key)],
    ['a private key', { ...(await exportJWK(key.privateKey)), kid: 'k1', alg: 'ES256' }, sign(key)],
    ['another curve', { ...key.jwk, crv: 'P-384' }, sign(key)],
    ['a point on no curve', { ...key.jwk, x: key.jwk.y }, sign(key)],
    [
      'a secret among the keys',
      { kty: 'oct', k: secret.toString('base64url'), kid: 'k1', alg: 'HS256' },
      signWith({ alg: 'HS256', kid: 'k1' }, secret),
    ],
    [
      'a key of an algorithm that is not allowed',
      { ...(await exportJWK(rsa.publicKey)), kid: 'k1' },
      signWith({ alg: 'RS256', kid: 'k1' }, rsa.privateKey),
    ],
    [
      'another one',
      { ...(await exportJWK(ed.publicKey)), kid: 'k1' },
      signWith({ alg: 'EdDSA', kid: 'k1' }, ed.privateKey),
    ],
  ]
  for (const [what, jwk, token] of sets) {
    const issuing = await openIssuer()
    issuing.body = JSON.stringify({ keys: [jwk] })
    const { get } = await openWith(issuing.url)
    await refuses(get, { [what]: token })
  }
})

rule('9.1.8', 'an issuer that is silent, or dribbles, is abandoned after its time', async () => {
  const key = await newKey('k1')
  const issuing = await openIssuer(key)
  const dribbling: NodeJS.Timeout[] = []
  onTestFinished(() => dribbling.forEach(clearInterval))
  const ways: Readonly<Record<string, NonNullable<typeof issuing.answer>>> = {
    silent: () => undefined,
    'a byte now and then': (_request, response) => {
      response.writeHead(200)
      dribbling.push(setInterval(() => response.write(' '), 20))
    },
    'half a body': (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"keys":')
    },
  }
  for (const [what, answer] of Object.entries(ways)) {
    issuing.answer = answer
    issuing.asked = 0
    const { get } = await openWith(issuing.url, { ...times, repeatMs: 3_600_000, fetchMsMax: 300 })
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, i) => sign(key, { team: `t${i}` })))
    for (const reply of await Promise.all(tokens.map((token) => get(token)))) expect(reply.statusCode, what).toBe(503)
    expect(issuing.asked, what).toBe(1)
  }
})

rule('9.1.8', 'nobody but who shows a token of the issuer waits for it', async () => {
  const key = await newKey('k1')
  const issuing = await openIssuer(key)
  let hangUp: (() => void) | undefined
  issuing.answer = (request) => {
    hangUp = () => request.socket.destroy()
  }
  const { get } = await openWith(issuing.url, { ...times, repeatMs: 3_600_000, fetchMsMax: 3_600_000 })
  let over = 0
  const waiting = get(await sign(key, { team: 't' })).finally(() => over++)
  await expect.poll(() => hangUp).toBeDefined()
  expect((await get('ash_1')).statusCode).toBe(401)
  expect(over).toBe(0)
  hangUp?.()
  expect((await waiting).statusCode).toBe(503)
})

rule(
  '9.1.8',
  'keys without end are read up to jwksBytesMax, zipped ones, too; redirections are not followed',
  async () => {
    const key = await newKey('k1')
    const issuing = await openIssuer(key)
    const elsewhere = await openIssuer(key)
    let sent = 0
    const endless = createServer((_request, response) => {
      const chunk = Buffer.alloc(65_536, ' ')
      const more = (): void => {
        while (!response.destroyed && sent < 2 ** 28) {
          sent += chunk.length
          if (!response.write(chunk)) return void response.once('drain', more)
        }
      }
      more()
    })
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      endless.closeAllConnections()
      endless.close()
    })
    const get503 = async (url: string, what: string): Promise<void> => {
      const { get } = await openWith(url)
      expect((await get(await sign(key))).json(), what).toMatchObject({ status: 503, type: 'IssuerUnavailable' })
    }
    await get503(`http://127.0.0.1:${(endless.address() as AddressInfo).port}/`, 'endless')
    // What lies in buffers on the way comes to it.
    expect(sent).toBeLessThan(32 * jwksBytesMax)
    const bomb = gzipSync(Buffer.alloc(64 * jwksBytesMax, ' '))
    issuing.answer = (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length })
      response.end(bomb)
    }
    await get503(issuing.url, 'zipped')
    for (const status of [301, 302, 303, 307, 308]) {
      issuing.answer = (_request, response) => {
        response.writeHead(status, { location: elsewhere.url })
        response.end()
      }
      await get503(issuing.url, `${status}`)
    }
    expect(elsewhere.asked).toBe(0)
  },
)

rule('9.1.8', 'forged tokens by the thousand have the issuer asked once', async () => {
  const { key, issuing, get } = await world()
  expect((await get(await sign(key))).statusCode).toBe(200)
  const { get: patient } = await openWith(issuing.url, { ...times, repeatMs: 60_000 })
  issuing.asked = 0
  const payload = part(claims)
  for (let i = 0; i < 1_000; i++) {
    const head = part({ alg: 'ES256', kid: i % 2 === 0 ? 'k1' : `k${i}` })
    expect((await patient(`${head}.${payload}.${someSignature}`)).statusCode).toBe(401)
  }
  expect(issuing.asked).toBe(1)
})
