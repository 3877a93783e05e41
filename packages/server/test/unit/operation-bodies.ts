/** For each operation of the table, a body with which it may be asked whether it is allowed. */
import type { Operation } from '../../src/dispatch/operation.ts'

/** Well enough formed for that; what it asks for is not there, or cannot be. */
export function bodyOf({ path }: Pick<Operation, 'path'>): unknown {
  if (path === '/v1/query') return { query: 'CREATE INDEX byName ON Shop.Nothing(name)' }
  if (path === '/v1/tool') return { tool: 'Statistics' }
  if (path === '/v1/object') return { class: 'Shop.Nothing' }
  if (path.startsWith('/v1/object/')) return { attributes: {} }
  if (path === '/v1/security/session') return { name: 'nobody', password: 'wrong password' }
  if (path === '/v1/security/password') return { currentPassword: 'wrong password', newPassword: 'x' }
  if (path === '/v1/security/user') return { name: '?' }
  if (path.startsWith('/v1/security/user/')) return {}
  if (path === '/v1/security/token') return { name: '' }
  if (path === '/v1/security/role') return { name: '?', actions: [] }
  return path === '/v1/transaction' || path === '/v1/schema' ? [] : {}
}
