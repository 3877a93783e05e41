/** The log of applied schema versions: objects of the class Ashlar.SchemaVersion in the federated database. */
import { createHash } from 'node:crypto'
import { userInfo } from 'node:os'
import type { AshlarClient, TransactionOperation } from '@ashlar/client'
import { internalNamespace } from './schema-state.ts'

const className = `${internalNamespace}.SchemaVersion`

export interface SchemaVersion {
  /** Starts at 1, without gaps. */
  readonly version: number
  readonly appliedAt: string
  readonly appliedBy: string
  readonly message: string
  /** The executed steps, one per line. */
  readonly steps: readonly string[]
  /** SHA-256 of `text`. */
  readonly digest: string
  /** The whole schema of this version. */
  readonly text: string
}

const attributes = [
  { attributeName: 'version', logicalType: 'integer', encoding: 'unsigned', storage: 'b32' },
  { attributeName: 'appliedAt', logicalType: 'datetime' },
  { attributeName: 'appliedBy', logicalType: 'string' },
  { attributeName: 'message', logicalType: 'string' },
  { attributeName: 'steps', logicalType: 'list', elementSpecification: { logicalType: 'string' } },
  { attributeName: 'digest', logicalType: 'string' },
  { attributeName: 'text', logicalType: 'string' },
]

/** Returns versions, oldest first; [] without a log. */
export async function readSchemaLog(client: AshlarClient): Promise<SchemaVersion[]> {
  if (!(await hasLog(client))) return []
  const names = attributes.map(({ attributeName }) => attributeName).join(', ')
  return client.query<SchemaVersion>(`FROM ${className} ORDER BY version RETURN ${names}`)
}

async function hasLog(client: AshlarClient): Promise<boolean> {
  return (await client.listClasses()).some((cls) => cls.className === className && !cls.isDeleted)
}

/** Returns the operations that log a version, for the transaction that applies it. Version numbers are unique: of two concurrent ones, one is refused. */
export async function noteVersion(
  client: AshlarClient,
  noted: Pick<SchemaVersion, 'message' | 'steps' | 'text'>,
): Promise<{ readonly version: number; readonly operations: readonly TransactionOperation[] }> {
  const exists = await hasLog(client)
  const last = exists
    ? await client.query<{ readonly version: number }>(`FROM ${className} RETURN MAX(version) AS version`)
    : []
  const version = (last[0]?.version ?? 0) + 1
  const values = {
    ...noted,
    version,
    appliedAt: new Date().toISOString(),
    appliedBy: await callerName(client),
    digest: createHash('sha256').update(noted.text).digest('hex'),
  }
  const operations = [
    ...(exists ? [] : makeLog),
    { method: 'post', uri: '/v1/object', body: { class: className, attributes: values } },
  ]
  return { version, operations }
}

const makeLog: readonly TransactionOperation[] = [
  { method: 'put', uri: '/v1/schema', body: [{ className, isReferenceable: true, attributes }] },
  {
    method: 'post',
    uri: '/v1/index',
    body: {
      name: `${internalNamespace}.schemaVersion`,
      indexedClass: className,
      isUnique: true,
      keyAttributes: [{ attributeName: 'version' }],
    },
  },
]

/** Returns the name of the caller, or of the local user if the server has no authentication. */
async function callerName(client: AshlarClient): Promise<string> {
  const { name } = await client.security.getCaller()
  if (name !== null) return name
  try {
    return userInfo().username
  } catch {
    // A user ID without a name, as in containers.
    return String(process.getuid?.() ?? '')
  }
}
