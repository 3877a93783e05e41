/** Connection settings of a command: the client for a server and credentials, from options, environment and profile. */
import { readFileSync } from 'node:fs'
import { AshlarClient, type ClientOptions } from '@ashlar/client'
import { clientVariables, splitValues } from '@ashlar/server/shared'
import { usageError } from '../errors/command-error.ts'
import { unreadableFileError } from '../errors/file-errors.ts'
import { httpFetch } from './http-fetch.ts'
import { type Profile, profileFile, readProfile } from './profile.ts'

/** The options that `addConnectionOptions` declares. */
export interface ConnectionOptions extends Omit<Profile, 'password'> {
  readonly profile?: string
}

const urlDefault = 'http://127.0.0.1:8185'

export interface Connection {
  readonly url: string
  readonly fd: string | undefined
  readonly client: AshlarClient
  /** A client for requests after Ctrl-C, such as cleaning up. */
  readonly uninterrupted: AshlarClient
  /** Returns a client for another federated database of the server. */
  withFd(fd: string): AshlarClient
}

/** `signal` ends all requests. Throws CommandError with exit code 2. */
export function connect(options: ConnectionOptions, environment: NodeJS.ProcessEnv, signal: AbortSignal): Connection {
  const { url, fd, ca, ...credentials } = settle(options, environment)
  const authorities = ca === undefined ? undefined : readText(ca, '--ca')
  const clientOf = (fdAlias: string | undefined, ended?: AbortSignal): AshlarClient => {
    const options: ClientOptions = {
      ...credentials,
      baseUrl: checkedUrl(url),
      ...(fdAlias !== undefined && { fdAlias }),
      fetch: httpFetch({ ca: authorities, signal: ended }),
      integers: 'bigint',
    }
    return new AshlarClient(options)
  }
  return {
    url,
    fd,
    client: clientOf(fd, signal),
    uninterrupted: clientOf(fd),
    withFd: (fdAlias) => clientOf(fdAlias, signal),
  }
}

type Settled = Pick<ClientOptions, 'token' | 'user'> & {
  readonly url: string
  readonly fd: string | undefined
  readonly ca: string | undefined
}

/** Precedence: options, a profile named by an option, the environment, any other profile. */
function settle(options: ConnectionOptions, environment: NodeJS.ProcessEnv): Settled {
  const fromVariables = fromEnvironment(environment)
  const name = options.profile ?? environment[clientVariables.profile]
  const profile = readProfile(profileFile(environment), name === '' ? undefined : name)
  const sources: readonly Profile[] =
    options.profile === undefined ? [options, fromVariables, profile] : [options, profile, fromVariables]
  const first = (field: keyof Profile): string | undefined =>
    sources.find((source) => source[field] !== undefined)?.[field]
  const url = first('url') ?? urlDefault
  // A password is sent only to the server for which it was stored.
  const isElsewhere = profile.url !== undefined && profile.url !== url
  const trusted = sources.filter((source) => source !== profile || !isElsewhere)
  return { url, fd: first('fd'), ca: first('ca'), ...credentialsOf(trusted) }
}

/** Returns the credentials of the first source that has any. */
function credentialsOf(sources: readonly Profile[]): Pick<ClientOptions, 'token' | 'user'> {
  for (const { token, tokenFile, user } of sources) {
    if (token !== undefined) return { token: checkedToken(token, 'The token') }
    if (tokenFile !== undefined)
      return { token: checkedToken(readText(tokenFile, '--token-file').trim(), `The token in ${tokenFile}`) }
    if (user === undefined) continue
    const password = sources.find((source) => source.password !== undefined)?.password
    if (password !== undefined) return { user: { name: user, password } }
    const hint = `put it into ${clientVariables.password}, or into a profile.`
    throw usageError(`The password of user ${user} is missing: ${hint}`)
  }
  return {}
}

function fromEnvironment(environment: NodeJS.ProcessEnv): Profile {
  const fields = ['url', 'token', 'tokenFile', 'user', 'password', 'ca'] as const
  const found = fields.flatMap((field) => {
    const value = environment[clientVariables[field]]
    return value === undefined || value === '' ? [] : [[field, value] as const]
  })
  const fd = fdOf(environment[clientVariables.fd])
  return { ...Object.fromEntries(found), ...(fd !== undefined && { fd }) }
}

/** The server's variable of that name may have several aliases, with their stores: then it names no default. */
function fdOf(value: string | undefined): string | undefined {
  const [fd, ...others] = splitValues(value ?? '')
  return others.length > 0 ? undefined : fd?.replace(/=.*/s, '')
}

function checkedUrl(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw usageError(
      `${url} is not the URL of a server: it begins with http:// or https://, for example ${urlDefault}.`,
    )
  }
  const { username, password, search, hash } = new URL(url)
  if (username !== '' || password !== '')
    throw usageError(`The URL holds a user name or password: give them by --user and ${clientVariables.password}.`)
  if (search !== '' || hash !== '')
    throw usageError(`The URL ${url} ends with its path: name a federated database by --fd.`)
  return url
}

function checkedToken(token: string, what: string): string {
  // The characters that a header may contain; the token must not appear in a message.
  if (!/^[\x21-\x7e]+$/.test(token)) throw usageError(`${what} is empty, or contains invalid characters.`)
  return token
}

function readText(file: string, option: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw unreadableFileError(`The file ${file} of ${option}`, error)
  }
}
