/** The table of all operations. The server has only health checks, the reference page and its document besides. */

import type { Method, Operation } from '../dispatch/operation.ts'
import { auditOperations } from './audit.ts'
import { changeOperations } from './changes.ts'
import { exportOperations } from './export.ts'
import { indexOperations } from './indexes.ts'
import { metricsOperations } from './metrics.ts'
import { objectOperations } from './object.ts'
import { queryOperations } from './query.ts'
import { fdOperations, serviceOperations } from './root.ts'
import { schemaOperations } from './schema.ts'
import { securityOperations } from './security/security-operations.ts'
import { statementOperations } from './statement.ts'
import { toolOperations, toolServiceOperations } from './tool.ts'
import { transactionOperation } from './transaction.ts'
import { webhookOperations } from './webhooks.ts'

const single: readonly Operation[] = [
  ...serviceOperations,
  ...fdOperations,
  ...schemaOperations,
  ...objectOperations,
  ...indexOperations,
  ...queryOperations,
  ...exportOperations,
  ...changeOperations,
  ...webhookOperations,
  ...statementOperations,
  ...auditOperations,
  ...metricsOperations,
  ...toolServiceOperations,
  ...toolOperations,
  ...securityOperations,
]

export const operations: readonly Operation[] = [...single, transactionOperation(single)]

export interface Resource {
  /** Path parameters appear as `{name}`. */
  readonly uri: string
  readonly supportedMethods: readonly Method[]
}

export const resources: readonly Resource[] = makeResources()

function makeResources(): Resource[] {
  const methods = new Map<string, Method[]>()
  for (const { method, path } of operations) {
    const uri = path.replace(/:(\w+)/g, '{$1}')
    methods.set(uri, [...(methods.get(uri) ?? []), method])
  }
  return [...methods].map(([uri, supportedMethods]) => ({ uri, supportedMethods }))
}
