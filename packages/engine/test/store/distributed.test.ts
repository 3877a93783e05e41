/** Stores on several nodes: an emulation by three PostgreSQL, and a real Citus where ASHLAR_CITUS_URL names its coordinator. */
import { randomBytes } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { citusNodes } from './citus-nodes.ts'
import { distributedRules } from './distributed-rules.ts'
import { startThreeNodes } from './three-nodes.ts'

const citus = process.env.ASHLAR_CITUS_URL

distributedRules('three nodes', startThreeNodes)

describe.skipIf(citus === undefined)('a real Citus', () => {
  distributedRules('Citus', async () => citusNodes(citus ?? ''))
})

describe('distribute=citus', () => {
  it('is refused where there is no Citus, and for a table that is not distributed', async () => {
    const schema = `test_${randomBytes(6).toString('hex')}`
    const single = `${inject('postgres')}?schema=${schema}`
    await expect(openPostgresStore(`${single}&distribute=citus`)).rejects.toThrow(/no extension citus/)
    await (await openPostgresStore(single)).close()
    await expect(openPostgresStore(`${single}&distribute=citus`)).rejects.toThrow(/is not distributed/)
    await expect(openPostgresStore(`${single}&distribute=maybe`)).rejects.toThrow(/it is no or citus/)
  })
})
