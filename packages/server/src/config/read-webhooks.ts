/** Reads the setting `webhooks` of the configuration file. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { webhookChangesMax } from '../limits.ts'
import { readSecret } from '../webhooks/signature.ts'
import { hostOf, isAllowedHost } from '../webhooks/targets.ts'
import type { WebhookConfig, WebhookSettings } from '../webhooks/webhook-settings.ts'
import { ConfigError } from './config.ts'
import {
  oneOf,
  readBoolean,
  readDuration,
  readText,
  readTexts,
  refuseUnknownSettings,
  requireConfigObject,
  unreadableFile,
} from './read-value.ts'

const fields = ['allowedHosts', 'allowPrivateAddresses', 'hooks'] as const
const hookFields = [
  'name',
  'fd',
  'url',
  'secretFile',
  'secretVariable',
  'class',
  'where',
  'include',
  'since',
  'changesMax',
  'retryFor',
] as const

const dayMs = 86_400_000
const changesUsual = 100
const namePattern = /^[A-Za-z0-9_.-]{1,64}$/

export function readWebhooks(value: unknown, name: string): WebhookSettings {
  const object = requireConfigObject(value, name)
  refuseUnknownSettings(object, fields, name)
  const allowedHosts = readTexts(object.allowedHosts, `allowedHosts of ${name}`).map((host) => host.toLowerCase())
  const allowPrivateAddresses =
    object.allowPrivateAddresses === undefined
      ? false
      : readBoolean(object.allowPrivateAddresses, `allowPrivateAddresses of ${name}`)
  if (!Array.isArray(object.hooks)) throw new ConfigError(`hooks of ${name} is a list of webhooks.`)
  const hooks = object.hooks.map((hook, i) => readHook(hook, `hooks[${i}] of ${name}`, allowedHosts))
  const names = new Set<string>()
  for (const { name: own } of hooks) {
    if (names.has(own)) throw new ConfigError(`Two webhooks of ${name} are called ${own}.`)
    names.add(own)
  }
  return { allowedHosts, allowPrivateAddresses, hooks }
}

function readHook(value: unknown, place: string, allowedHosts: readonly string[]): WebhookConfig {
  const object = requireConfigObject(value, place)
  refuseUnknownSettings(object, hookFields, place)
  const name = readText(object.name, `name of ${place}`)
  if (!namePattern.test(name)) {
    throw new ConfigError(`name of ${place} has 1 to 64 letters, digits, '.', '_' and '-', not '${name}'.`)
  }
  const text = (field: 'class' | 'where'): string | undefined =>
    object[field] === undefined ? undefined : readText(object[field], `${field} of webhook ${name}`)
  const className = text('class')
  const where = text('where')
  if (where !== undefined && className === undefined)
    throw new ConfigError(`where of webhook ${name} needs class, of whose objects it is a predicate.`)
  const of = (field: string): string => `${field} of webhook ${name}`
  return {
    name,
    fd: readText(object.fd ?? 'default', of('fd')),
    url: readUrl(object.url, of('url'), allowedHosts),
    secret: readSecretOf(object, name),
    className,
    where,
    include: oneOf('values', 'keys')(object.include ?? 'values', of('include')),
    since: oneOf('now', 'first')(object.since ?? 'now', of('since')),
    changesMax: readCount(object.changesMax, of('changesMax')),
    retryForMs: object.retryFor === undefined ? dayMs : readDuration(object.retryFor, of('retryFor')),
  }
}

function readUrl(value: unknown, what: string, allowedHosts: readonly string[]): string {
  const text = readText(value, what)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new ConfigError(`${what} is an address by https or http, not '${text}'.`)
  if (url.username !== '' || url.password !== '')
    throw new ConfigError(`${what} has no user and password: the signature shows who sends.`)
  const host = hostOf(url)
  if (isAllowedHost(host, allowedHosts)) return url.href
  throw new ConfigError(`${what} leads to ${host}, which is not one of allowedHosts.`)
}

/** Messages must not contain the secret. */
function readSecretOf(hook: Readonly<Record<string, unknown>>, name: string): string {
  const { secretFile, secretVariable } = hook
  if ((secretFile === undefined) === (secretVariable === undefined))
    throw new ConfigError(`Webhook ${name} needs either secretFile or secretVariable.`)
  const [text, place] =
    secretFile === undefined
      ? variable(readText(secretVariable, `secretVariable of webhook ${name}`), name)
      : file(readText(secretFile, `secretFile of webhook ${name}`), name)
  if (readSecret(text) !== undefined) return text.trim()
  throw new ConfigError(
    `The secret of webhook ${name} (${place}) is not whsec_ and 24 to 64 bytes in base64: echo "whsec_$(openssl rand -base64 32)" makes one.`,
  )
}

function variable(called: string, name: string): readonly [string, string] {
  const text = process.env[called]
  if (text === undefined)
    throw new ConfigError(`The environment variable ${called}, the secret of webhook ${name}, is not set.`)
  return [text, called]
}

function file(path: string, name: string): readonly [string, string] {
  try {
    return [readFileSync(resolve(path), 'utf8'), path]
  } catch (error) {
    const why = unreadableFile(error)
    throw new ConfigError(`The file ${path}, the secret of webhook ${name}, cannot be read: ${why}.`)
  }
}

function readCount(value: unknown, what: string): number {
  if (value === undefined) return changesUsual
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= webhookChangesMax)
    return value as number
  throw new ConfigError(`${what} must be an integer from 1 to ${webhookChangesMax}, not ${JSON.stringify(value)}.`)
}
