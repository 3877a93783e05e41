/** Secrets of tokens and sessions: creation, format and comparison (contract 9.2). */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A public ID, by which a credential is found, and a secret, of which only the digest is stored. */
export interface Secret {
  readonly id: string
  readonly secret: string
}

const idBytes = 8
const secretBytes = 32

export function makeSecret(): Secret {
  return { id: randomBytes(idBytes).toString('hex'), secret: randomBytes(secretBytes).toString('base64url') }
}

/** Returns the stored digest. A secret of 256 random bits cannot be guessed, so no slow hash is needed. */
export function digestText(secret: string): string {
  return hash('sha256', secret, 'hex')
}

const digestCharacters = 64

/** Returns the characters of the digest for the comparison, which is twice as fast as decoding it to bytes. */
export function readDigest(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

const presented = Buffer.alloc(digestCharacters)

/** `digest`: from `readDigest`. Takes the same time for wrong and correct secrets. */
export function isSecretOf(digest: Buffer, secret: string): boolean {
  presented.write(digestText(secret), 0, 'latin1')
  return timingSafeEqual(presented, digest)
}

const prefix = 'ash_'
const idCharacters = idBytes * 2
/** 32 bytes in base64url. */
const secretCharacters = 43

/** Returns undefined if the length or the parts of the text do not match a token. */
export function readToken(text: string): Secret | undefined {
  return text.startsWith(prefix) ? read(text, prefix.length) : undefined
}

/** The error for a text that is not a token ID, which the message must not repeat. */
export const noTokenId =
  'There is no such token: it is named by its id, the 16 hexadecimal digits after ash_, or by all of it.'

const idForm = /^[\da-f]{16}$/

/** Extracts the public ID from an ID or a token. Returns undefined for any other text, which may be secret: do not repeat it. */
export function tokenIdOf(text: string): string | undefined {
  const id = readToken(text)?.id ?? text
  return idForm.test(id) ? id : undefined
}

const tokenInText = /ash_([\da-f]{16})_[\w-]+/g

/** Redacts tokens in a text for a log. */
export function withoutTokens(text: string): string {
  return text.includes(prefix) ? text.replace(tokenInText, `${prefix}$1_…`) : text
}

export function writeToken({ id, secret }: Secret): string {
  return `${prefix}${id}_${secret}`
}

/** Parses the secret of a session cookie, like `readToken`. */
export function readSession(text: string): Secret | undefined {
  return read(text, 0)
}

export function writeSession({ id, secret }: Secret): string {
  return `${id}_${secret}`
}

function read(text: string, start: number): Secret | undefined {
  const idEnd = start + idCharacters
  if (text.length !== idEnd + 1 + secretCharacters || text[idEnd] !== '_') return undefined
  return { id: text.slice(start, idEnd), secret: text.slice(idEnd + 1) }
}
