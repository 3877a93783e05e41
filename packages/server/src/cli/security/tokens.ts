/** `ashlar token`: tokens for programs that use a server with authentication. */
import { noTokenId, tokenIdOf } from '../../security/secrets.ts'
import { CommandError, usageError } from '../command-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { SecurityContext } from './security-work.ts'

interface TokenOptions {
  readonly name: string
  readonly owner?: string
  readonly role?: readonly string[]
  readonly expires?: string
}

export async function createToken(
  { security, output }: SecurityContext,
  _words: readonly unknown[],
  { name, owner, role, expires }: TokenOptions,
): Promise<void> {
  if (owner === undefined && role === undefined) {
    const advice = 'add --role reader, or another role, or --owner alice, whose roles it then has.'
    throw usageError(`A token without an owner needs roles of its own: ${advice}`)
  }
  const created = await security.createToken({
    name,
    ...(owner !== undefined && { owner }),
    ...(role !== undefined && { roles: role }),
    ...(expires !== undefined && { expiresAt: new Date(expiry(expires, Date.now())).toISOString() }),
  })
  for (const problem of created.problems) output.note(`ashlar: ${problem}`)
  const sentence = `Token ${created.id} (${name}) is created. Its text, which is displayed only once:`
  await output.data(created, () => (output.isQuiet ? [created.token] : [sentence, created.token]))
}

/** Lists all tokens for an administrator, otherwise the caller's own. */
export async function listTokens({ security, output }: SecurityContext): Promise<void> {
  const tokens = await security.listTokens()
  const rows = tokens.map(({ id, name, owner, roles, expiresAt, lastUsedAt }) => {
    return [id, name, owner ?? '-', roles?.join(' ') ?? 'of the owner', expiresAt ?? 'never', lastUsedAt ?? 'never']
  })
  await output.data(tokens, () => output.table(['ID', 'Name', 'Owner', 'Roles', 'Expires', 'Last used'], rows))
}

export async function revokeToken({ security, output }: SecurityContext, [text]: readonly [string]): Promise<void> {
  // Also accepts the text of a token, which must not appear in a message.
  const id = tokenIdOf(text)
  if (id === undefined) throw new CommandError(exitCodes.notFound, noTokenId)
  await security.revokeToken(id)
  await output.result({ revoked: id }, () => [`Token ${id} is revoked.`])
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function expiry(text: string, nowMs: number): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const ms = count === undefined ? Date.parse(text) : nowMs + Number(count) * (unitMs[unit] ?? 0)
  if (Number.isFinite(ms)) return ms
  throw usageError(`--expires is a time such as 90d, 12h or 2030-01-31T12:00:00Z, not '${text}'.`)
}
