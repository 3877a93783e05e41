/** What of the environment of a worker differs from that of its primary. */
import { type Config, storesOf } from '../config/config.ts'

/**
 * Node parses the certificates of NODE_EXTRA_CA_CERTS, and all that it has itself, whenever it starts: for 144 of them longer than the rest of its start. A worker that
 * connects to nobody gets none. `given`: the primary; modules that its options have Node load may connect to anybody.
 * @returns what `cluster.fork` puts over the environment of the primary; what is undefined is not set
 */
export function environmentOf(
  config: Pick<Config, 'federatedDatabases' | 'auth' | 'securityStore' | 'jwt' | 'webhooks'>,
  { env, execArgv }: Pick<NodeJS.Process, 'env' | 'execArgv'>,
): Readonly<Record<string, undefined>> {
  const isExtended = (env.NODE_OPTIONS ?? '') !== '' || execArgv.length > 0
  return isExtended || connects(config) ? {} : { NODE_EXTRA_CA_CERTS: undefined }
}

/** Whether a worker connects to servers: of PostgreSQL, of an issuer of tokens, or those to which changes are delivered. */
function connects(config: Parameters<typeof environmentOf>[0]): boolean {
  const isRemote = storesOf(config).some((address) => !/^(lmdb|memory):/.test(address))
  return isRemote || config.jwt !== undefined || config.webhooks !== undefined
}
