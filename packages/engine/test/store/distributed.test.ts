/** Stores on several nodes: an emulation by three PostgreSQL, and a real Citus where ASHLAR_CITUS_URL names its coordinator. */
import { randomBytes } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { openStore } from '../../src/storage/open-store.ts'
import { citusNodes, citusUrl } from './citus-nodes.ts'
import { distributedRules } from './distributed-rules.ts'
import { startThreeNodes } from './three-nodes.ts'

// By `one-node.test.ts`; between these nodes, what is not Citus carries the values.
distributedRules('three nodes', startThreeNodes, { hasLimitsElsewhere: true })

describe.skipIf(citusUrl === undefined)('a real Citus', () => {
  distributedRules('Citus', citusNodes)

  it('is addressed by its coordinator, not by a worker', async () => {
    const nodes = await citusNodes()
    const [row] = await nodes.on(0, 'SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 LIMIT 1')
    const worker = new URL(nodes.plainAddress(`test_${randomBytes(6).toString('hex')}`))
    worker.host = `${row?.nodename}:${row?.nodeport}`
    await expect(openStore(worker.href)).rejects.toThrow('names a worker of Citus')
  })
})

describe('distribute=citus', () => {
  it('is refused where there is no Citus, and for a table that is not distributed', async () => {
    const schema = `test_${randomBytes(6).toString('hex')}`
    const single = `${inject('postgres')}?schema=${schema}`
    await expect(openStore(`${single}&distribute=citus`)).rejects.toThrow(/no extension citus/)
    await (await openStore(single)).close()
    await expect(openStore(`${single}&distribute=citus`)).rejects.toThrow(/is not distributed/)
    await expect(openStore(single.replace('postgres:', 'citus:'))).rejects.toThrow(/is not distributed/)
    await expect(openStore(`${single}&distribute=maybe`)).rejects.toThrow(/it is no or citus/)
  })
})
