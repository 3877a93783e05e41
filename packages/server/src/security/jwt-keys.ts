/** The public keys of an issuer: from a file or from its URL, cached for a bounded time. */
import { readFile, stat } from 'node:fs/promises'
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { Logger } from 'pino'
import { ServerError } from '../errors/server-errors.ts'
import { jwksBytesMax, jwksFetchMsMax, jwksFreshMs, jwksRepeatMs, jwksStaleMsMax } from '../limits.ts'

export type KeySource = JWTVerifyGetKey

interface Keys {
  readonly resolve: ReturnType<typeof createLocalJWKSet>
  readonly readAtMs: number
}

type Read = () => Promise<string>

/** Cache lifetime, minimum interval of reads for unknown keys, maximum age of keys that cannot be read again, and timeout. */
export interface KeyTimes {
  readonly freshMs: number
  readonly repeatMs: number
  readonly staleMsMax: number
  readonly fetchMsMax: number
}

const usualTimes: KeyTimes = {
  freshMs: jwksFreshMs,
  repeatMs: jwksRepeatMs,
  staleMsMax: jwksStaleMsMax,
  fetchMsMax: jwksFetchMsMax,
}

/** `jwks`: an https URL or a file. `times`: replaced in tests. */
export function keysOf(jwks: string, logger: Logger, times = usualTimes): KeySource {
  const read = isAddress(jwks) ? () => fetchKeys(jwks, times.fetchMsMax) : () => readKeys(jwks)
  const source = new IssuerKeys(read, jwks, logger, times)
  return (header, token) => source.find(header, token)
}

function isAddress(jwks: string): boolean {
  return /^https?:\/\//i.test(jwks)
}

/**
 * Reads keys every ten minutes, or for an unknown key, at most every 30 s. While they are unreadable, the last ones are used for a day
 * (`jwksStaleMsMax`); then the tokens of the issuer are refused.
 */
class IssuerKeys {
  private readonly read: Read
  private readonly place: string
  private readonly logger: Logger
  private readonly times: KeyTimes
  private keys: Keys | undefined
  private triedAtMs = Number.NEGATIVE_INFINITY
  private reading: Promise<void> | undefined

  constructor(read: Read, place: string, logger: Logger, times: KeyTimes) {
    this.times = times
    this.read = read
    this.place = place
    this.logger = logger
  }

  /** Throws IssuerUnavailable, and the error of jose for an unknown key. */
  async find(...args: Parameters<KeySource>): Promise<Awaited<ReturnType<KeySource>>> {
    if (this.keys === undefined || this.ageMs() > this.times.freshMs) await this.refresh()
    try {
      return await this.current().resolve(...args)
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_JWKS_NO_MATCHING_KEY' || !(await this.refresh())) throw error
      return await this.current().resolve(...args)
    }
  }

  private ageMs(): number {
    return performance.now() - (this.keys?.readAtMs ?? Number.NEGATIVE_INFINITY)
  }

  private current(): Keys {
    if (this.keys !== undefined && this.ageMs() <= this.times.staleMsMax) return this.keys
    throw new ServerError(
      'IssuerUnavailable',
      'The signing keys of the issuer are currently unavailable; try again later.',
    )
  }

  /** Whether the keys were read again. Concurrent calls share a read. */
  private async refresh(): Promise<boolean> {
    if (this.reading === undefined) {
      if (performance.now() - this.triedAtMs < this.times.repeatMs) return false
      this.triedAtMs = performance.now()
      this.reading = this.readNow().finally(() => {
        this.reading = undefined
      })
    }
    const before = this.keys
    await this.reading
    return this.keys !== before
  }

  private async readNow(): Promise<void> {
    try {
      const resolve = createLocalJWKSet(JSON.parse(await this.read()) as JSONWebKeySet)
      this.keys = { resolve, readAtMs: performance.now() }
    } catch (error) {
      const reason = (error as Error).message
      this.logger.warn(`The keys of the issuer of tokens (${this.place}) cannot be read: ${reason}.`)
    }
  }
}

async function readKeys(file: string): ReturnType<Read> {
  const { size } = await stat(file)
  if (size > jwksBytesMax) throw new Error(`they take more than ${jwksBytesMax} bytes`)
  return readFile(file, 'utf8')
}

/** Throws if the answer is not complete within `msMax`. */
async function fetchKeys(address: string, msMax: number): ReturnType<Read> {
  const answer = new KeysAnswer()
  let timer: NodeJS.Timeout | undefined
  // The timer rejects itself, since `fetch` holds the signal weakly after the headers of a reply.
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      answer.abort()
      reject(new Error(`the answer was not complete within ${msMax} ms`))
    }, msMax)
  })
  try {
    return await Promise.race([answer.read(address), late])
  } finally {
    clearTimeout(timer)
  }
}

class KeysAnswer {
  private readonly controller = new AbortController()
  private reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  /** Redirects are refused, since they could lead away from https. */
  async read(address: string): Promise<string> {
    const { signal } = this.controller
    const response = await fetch(address, { redirect: 'error', signal, headers: { accept: 'application/json' } })
    if (response.status !== 200 || response.body === null) {
      this.abort()
      throw new Error(`the answer has the status ${response.status}`)
    }
    this.reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
    const chunks: Uint8Array[] = []
    let bytes = 0
    for (;;) {
      const { done, value } = await this.reader.read()
      if (done || value === undefined) return Buffer.concat(chunks).toString('utf8')
      bytes += value.length
      if (bytes > jwksBytesMax) {
        this.abort()
        throw new Error(`the answer has more than ${jwksBytesMax} bytes`)
      }
      chunks.push(value)
    }
  }

  abort(): void {
    this.controller.abort()
    // Rejects if the signal has already ended the reader.
    this.reader?.cancel().catch(() => undefined)
  }
}
