/** `ashlar token`: tokens of programs that use a server with authentication, on its machine itself. */
import type { Command } from 'commander'
import {
  addStoreOptions,
  collect,
  onSecurityStore,
  type SecurityPlace,
  type StoreOptions,
  shown,
  table,
} from './security-store.ts'

interface TokenOptions extends StoreOptions {
  readonly name: string
  readonly owner?: string
  readonly role?: readonly string[]
  readonly expires?: string
}

export function addTokenCommand(program: Command): void {
  const tokens = program.command('token').description('Tokens of a server with authentication (ashlar serve --auth).')
  addStoreOptions(tokens.command('create').description('Create a token; its text is shown once.'))
    .requiredOption('--name <name>', 'what it is for')
    .option('--owner <user>', 'the user whose it is, beyond whose roles it allows nothing')
    .option(
      '--role <role>',
      'a role: reader, or writer@orders,shop (repeatable; without one, those of the owner)',
      collect,
    )
    .option('--expires <when>', 'as 90d, 12h, or 2030-01-31T12:00:00Z; without it, it does not expire')
    .action((options: TokenOptions) => onSecurityStore(options, (place) => create(place, options)))
  addStoreOptions(tokens.command('list').description('List the tokens, without their secrets.')).action(
    (options: StoreOptions) => onSecurityStore(options, (place) => list(place, options)),
  )
  addStoreOptions(
    tokens
      .command('revoke <id>')
      .description('Revoke a token, by its id or its text: servers refuse it within a second.'),
  ).action((text: string, options: StoreOptions) =>
    onSecurityStore(options, async (place) => {
      const id = await (await open(place)).finally((commands) => commands.revokeToken(text))
      return shown(options, { id }, () => `Token ${id} is revoked.`)
    }),
  )
}

async function open(place: SecurityPlace) {
  return (await import('./security-commands.ts')).securityCommands(place)
}

async function create(place: SecurityPlace, options: TokenOptions): Promise<string> {
  const { name, owner, role, expires } = options
  const wanted = {
    name,
    owner,
    roles: role,
    expiresAtMs: expires === undefined ? undefined : expiry(expires, Date.now()),
    isByAdministrator: true,
  }
  const created = await (await open(place)).finally((commands) => commands.createToken(wanted))
  return shown(options, created, () =>
    [`Token ${created.id} (${name}) is created. Its text, which is shown this once:`, created.token].join('\n'),
  )
}

async function list(place: SecurityPlace, options: StoreOptions): Promise<string> {
  const tokens = await (await open(place)).finally((commands) => commands.listTokens())
  const rows = tokens.map(({ id, name, owner, roles, expiresAt, lastUsedAt }) => {
    return [id, name, owner ?? '-', roles?.join(' ') ?? 'of the owner', expiresAt ?? 'never', lastUsedAt ?? 'never']
  })
  const head = ['ID', 'NAME', 'OWNER', 'ROLES', 'EXPIRES', 'LAST USED']
  return shown(options, tokens, () => (rows.length === 0 ? 'No tokens.' : table(head, rows)))
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Throws an Error that says what may be written. */
function expiry(text: string, nowMs: number): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const ms = count === undefined ? Date.parse(text) : nowMs + Number(count) * (unitMs[unit] ?? 0)
  if (Number.isFinite(ms)) return ms
  throw new Error(`--expires is a time such as 90d, 12h or 2030-01-31T12:00:00Z, not '${text}'.`)
}
