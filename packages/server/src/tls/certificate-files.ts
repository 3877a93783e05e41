/** Certificate and key of the server in PEM files, which are reloaded when they change. */
import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { Logger } from 'pino'
import { certificatePollMs } from '../limits.ts'

export interface TlsFiles {
  /** The server's certificate, followed by the chain to its root. */
  readonly cert: string
  readonly key: string
  readonly clientCa?: string | undefined
}

/** The parts of the files for a TLS server. */
export type TlsMaterial = Pick<SecureContextOptions, 'cert' | 'key' | 'ca'>

/**
 * Polls the files by name, since watching misses some ways of replacing them: certbot and Kubernetes exchange symbolic links, and network file
 * systems send no events. If new files cannot be used, the previous ones stay in use.
 */
export class CertificateFiles {
  private readonly files: TlsFiles
  private readonly logger: Logger
  private readonly take: (material: TlsMaterial) => void
  private readonly timer: NodeJS.Timeout
  private seen: string

  /** `take`: called with the content of changed files. Throws an Error with a one-sentence message if they cannot be used now. */
  constructor(files: TlsFiles, logger: Logger, take: (material: TlsMaterial) => void, pollMs = certificatePollMs) {
    this.files = files
    this.logger = logger
    this.take = take
    this.seen = versionOf(files)
    this.timer = setInterval(() => this.poll(), pollMs).unref()
  }

  /** Reloads the files even if they have not changed. */
  reload(): void {
    this.seen = versionOf(this.files)
    try {
      const material = readTlsFiles(this.files)
      this.take(material)
      const { validTo, fingerprint256 } = new X509Certificate(material.cert as Buffer)
      this.logger.info({ file: this.files.cert, validTo, fingerprint256 }, 'the TLS certificate was loaded again')
    } catch (error) {
      const reason = (error as Error).message
      this.logger.error(`${reason} New connections go on with the certificate that was loaded before.`)
    }
  }

  close(): void {
    clearInterval(this.timer)
  }

  private poll(): void {
    if (versionOf(this.files) !== this.seen) this.reload()
  }
}

/** Throws an Error with a one-sentence message. */
export function readTlsFiles({ cert, key, clientCa }: TlsFiles): TlsMaterial {
  const material = {
    cert: readPem(cert, 'TLS certificate'),
    key: readPem(key, 'TLS key'),
    ...(clientCa !== undefined && { ca: readPem(clientCa, 'file of client authorities') }),
  }
  if (material.ca !== undefined) checkAuthorities(material.ca, clientCa)
  try {
    createSecureContext(material)
  } catch (error) {
    throw new Error(`${cert} and ${key} cannot be used for TLS: ${endReasonOf(error as NodeJS.ErrnoException)}.`)
  }
  return material
}

/** Refuses files without certificates, which OpenSSL ignores: all clients would be refused without a reason. */
function checkAuthorities(ca: Buffer, file: string | undefined): void {
  try {
    new X509Certificate(ca)
  } catch {
    throw new Error(`The file of client authorities ${file} has no certificate in PEM.`)
  }
}

function readPem(file: string, what: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new Error(`The ${what} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`)
  }
}

/** Translates errors of OpenSSL for operators. */
function endReasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH') return 'the key belongs to another certificate'
  if (code === 'ERR_OSSL_PEM_NO_START_LINE') return 'both must be PEM files'
  if (code === 'ERR_OSSL_BAD_PASSWORD_READ' || /passw|interrupted or cancelled/i.test(message)) {
    return 'the key is encrypted; store it without a password, readable by the user who runs Ashlar alone'
  }
  return message
}

/** Returns a text that changes when a file is replaced or modified. */
function versionOf({ cert, key, clientCa }: TlsFiles): string {
  return [cert, key, clientCa ?? cert].map(fileVersion).join(' ')
}

function fileVersion(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false, bigint: true })
  return stats === undefined ? 'none' : `${stats.dev}:${stats.ino}:${stats.mtimeNs}:${stats.size}`
}

export type CertificateName = 'CN' | 'email' | 'DNS' | 'URI'
