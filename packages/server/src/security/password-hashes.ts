/** Password hashes: argon2id, off the event loop, a few at a time (contract 9.1). */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { ServerError } from '../errors/server-errors.ts'
import {
  cachedPasswordsMax,
  cachedPasswordsMsMax,
  passwordCharactersMax,
  passwordCharactersMin,
  signInFailures,
} from '../limits.ts'
import { type Hasher, PasswordPlaces } from './password-places.ts'
import { setYoungest } from './set-youngest.ts'

/** OWASP's recommendation: 19 MiB, two passes, no parallelism. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** A hash without a password, compared for unknown users so that it takes as long. */
const hashOfNothing = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=${parameters.parallelism}$${base64(16)}$${base64(32)}`

function base64(bytes: number): string {
  return randomBytes(bytes).toString('base64').replaceAll('=', '')
}

/** Independent of how a keyboard composes characters. */
function normalized(password: string): string {
  return password.normalize('NFKC')
}

/** Throws WeakPassword. */
export function checkPassword(password: string): void {
  const { length } = password
  if (length >= passwordCharactersMin && length <= passwordCharactersMax) return
  throw new ServerError(
    'WeakPassword',
    `A password has ${passwordCharactersMin} to ${passwordCharactersMax} characters, for example a passphrase.`,
  )
}

/** For processes without other users. */
const soleHasher: Hasher = { sharer: '', isTrusted: true }

interface CachedPassword {
  /** A keyed hash of name and password. */
  readonly mark: Buffer
  /** The stored hash that the password matched. */
  readonly hash: string
  readonly until: number
  /** Number of other passwords tried since. */
  wrong: number
}

export class PasswordHashes {
  /** Number of hashes computed to check a password, for tests. */
  checks = 0
  private readonly places: PasswordPlaces
  /** Known to this process alone, so that its cache is useless elsewhere. */
  private readonly key = randomBytes(32)
  /** Passwords by name and address: the result for one address does not apply to another. */
  private readonly cached = new Map<string, CachedPassword>()

  /** `failuresOf`: see `PasswordPlaces`. */
  constructor(failuresOf: (sharer: string) => number = () => 0) {
    this.places = new PasswordPlaces(failuresOf)
  }

  /** Throws WeakPassword, and the errors of `PasswordPlaces.hash`. */
  async hash(password: string, hasher: Hasher = soleHasher): Promise<string> {
    checkPassword(password)
    const { hash } = await import('@node-rs/argon2')
    return this.places.hash(hasher, () => hash(normalized(password), parameters))
  }

  /** Returns the hash of a recently correct password for this address. Too many other passwords evict it, since no throttle counts lookups. */
  rightFor(name: string, password: string, address: string): string | undefined {
    const key = keyOf(name, address)
    const entry = this.cached.get(key)
    if (entry === undefined) return undefined
    if (performance.now() < entry.until && timingSafeEqual(entry.mark, this.markOf(name, password))) return entry.hash
    entry.wrong += 1
    if (entry.wrong >= signInFailures.pairMax) this.cached.delete(key)
    return undefined
  }

  /** `hash`: undefined for an unknown user; the check then takes as long, and fails. Throws the errors of `PasswordPlaces.hash`. */
  async isRight(
    name: string,
    hash: string | undefined,
    password: string,
    address: string,
    hasher: Hasher = soleHasher,
  ): Promise<boolean> {
    const { verify } = await import('@node-rs/argon2')
    const isRight = await this.places.hash(hasher, () => {
      this.checks += 1
      return verify(hash ?? hashOfNothing, normalized(password))
    })
    if (!isRight || hash === undefined) return false
    const until = performance.now() + cachedPasswordsMsMax
    const entry = { mark: this.markOf(name, password), hash, until, wrong: 0 }
    setYoungest(this.cached, keyOf(name, address), entry, cachedPasswordsMax)
    return true
  }

  private markOf(name: string, password: string): Buffer {
    return createHmac('sha256', this.key)
      .update(JSON.stringify([name, password]))
      .digest()
  }
}

const keyOf = (name: string, address: string): string => JSON.stringify([name, address])

/** Common passwords in lower case, loaded when a password is set for the first time. */
let common: Promise<ReadonlySet<string>> | undefined

/** `name`: the user whose password it will be. Throws WeakPassword. */
export async function refuseCommonPassword(password: string, name: string): Promise<void> {
  const lower = password.toLowerCase()
  if (lower === name.toLowerCase()) throw weak('must not be the name of the user')
  if (new Set(lower).size < distinctCharactersMin) {
    throw weak(`needs at least ${distinctCharactersMin} different characters`)
  }
  common ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary.passwords))
  if ((await common).has(lower)) throw weak('must not be one of the most common ones, which are tried first')
}

const distinctCharactersMin = 4

function weak(problem: string): ServerError {
  return new ServerError('WeakPassword', `A password ${problem}, for example a passphrase.`)
}
