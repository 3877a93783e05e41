/** Secrets of tokens and sessions: how they are made, written, and compared (contract 9.2). */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A public id, by which a credential is found, and a secret, of which only the digest is kept. */
export interface Secret {
  readonly id: string
  readonly secret: string
}

const idBytes = 8
const secretBytes = 32

export function makeSecret(): Secret {
  return { id: randomBytes(idBytes).toString('hex'), secret: randomBytes(secretBytes).toString('base64url') }
}

/** Of a secret of 256 random bits, which nobody can find by trying: no slow hash is needed. */
function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

/** `digest`: as it is kept. Takes as long for a wrong secret as for the right one. */
export function isSecretOf(digest: Buffer, secret: string): boolean {
  return timingSafeEqual(digestOf(secret), digest)
}

/** As it is stored. */
export function digestText(secret: string): string {
  return digestOf(secret).toString('hex')
}

export function readDigest(text: string): Buffer {
  return Buffer.from(text, 'hex')
}

const tokenForm = /^ash_([0-9a-f]{16})_([\w-]{43})$/
const sessionForm = /^([0-9a-f]{16})_([\w-]{43})$/

/** Undefined for what is no token. */
export function readToken(text: string): Secret | undefined {
  return read(tokenForm, text)
}

export function writeToken({ id, secret }: Secret): string {
  return `ash_${id}_${secret}`
}

/** Of a cookie. */
export function readSession(text: string): Secret | undefined {
  return read(sessionForm, text)
}

export function writeSession({ id, secret }: Secret): string {
  return `${id}_${secret}`
}

function read(form: RegExp, text: string): Secret | undefined {
  const [, id, secret] = form.exec(text) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}
