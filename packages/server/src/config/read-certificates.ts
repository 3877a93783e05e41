/** The setting `certificates` of the configuration file: whose the certificates of clients are. */
import type { CertificateName } from '../tls/certificate-name.ts'
import { type CertificatesConfig, type ClientCertificates, ConfigError } from './config.ts'
import { didYouMean, objectOf, readText, readTexts } from './read-value.ts'

const names: readonly CertificateName[] = ['CN', 'email', 'DNS', 'URI']
const fields = ['name', 'users', 'roles']

/** Throws ConfigError. */
export function readCertificates(value: unknown, setting: string): CertificatesConfig {
  const given = objectOf(value, setting)
  for (const field of Object.keys(given)) {
    if (fields.includes(field)) continue
    throw new ConfigError(`${setting} has no field ${field}.${didYouMean(field, fields)}`)
  }
  const { name = 'CN', users = {}, roles = {} } = given
  const known = names.find((one) => one === name)
  if (known === undefined) {
    throw new ConfigError(`name of ${setting} is one of ${names.join(', ')}, not ${JSON.stringify(name)}.`)
  }
  return {
    name: known,
    users: mapped(users, `users of ${setting}`, readText),
    roles: mapped(roles, `roles of ${setting}`, readTexts),
  }
}

/** Throws ConfigError. */
export function readClientCertificates(value: unknown, setting: string): ClientCertificates {
  if (value === 'request' || value === 'require') return value
  throw new ConfigError(`${setting} is request or require, not ${JSON.stringify(value)}.`)
}

function mapped<T>(value: unknown, what: string, read: (one: unknown, name: string) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(objectOf(value, what)).map(([name, one]) => [name, read(one, `${name} of ${what}`)]),
  )
}
