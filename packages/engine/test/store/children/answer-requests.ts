/**
 * One of several processes on one federated database: it opens it, sends `ready`, and carries out the requests that it gets from whoever has started it, as a
 * server does over HTTP, many at once: `[number, method, path, body, if-match]`, answered by `[number, status, JSON, entity tag]`.
 */
import type { Database } from '../../../src/database-operations.ts'
import { AshlarError } from '../../../src/errors.ts'
import { FederatedDatabase } from '../../../src/federated-database.ts'
import { entityTagOf } from '../../../src/objects/condition.ts'
import { openStore } from '../../../src/storage/open-store.ts'
import { rowValues } from '../../row-texts.ts'

type Loose = ReturnType<typeof JSON.parse>

interface Answered {
  readonly status: number
  readonly json?: Loose
  readonly etag?: string
}

/** What both a federated database and a step of a transaction can do. */
type Operations = Pick<Database, 'query' | 'createObject' | 'readObject' | 'updateObject'>

const [address = ''] = process.argv.slice(2)
/** A store that others keep busy is asked again and again: how long that takes is not what is tested. */
const limits = { statementMsMax: 3_600_000 }
const fd = await FederatedDatabase.open({ alias: 'shared', store: await openStore(address), limits })

async function carryOut(on: Operations, method: string, path: string, body: Loose, ifMatch = ''): Promise<Answered> {
  const oid = /^\/v1\/object\/(.+)$/.exec(path)?.[1] ?? ''
  const condition = ifMatch === '' ? undefined : (tag: string): boolean => tag === ifMatch
  switch (`${method.toUpperCase()} ${oid === '' ? path : 'object'}`) {
    case 'POST /v1/query':
      return { status: 200, json: await rowValues(await on.query({ text: body.query })) }
    case 'POST /v1/object':
      return { status: 201, json: String(await on.createObject(body.class, body.attributes)) }
    case 'GET object': {
      const bytes = await on.readObject(oid)
      return { status: 200, json: JSON.parse(bytes.toString()), etag: await entityTagOf(bytes) }
    }
    case 'PUT object':
      await on.updateObject(oid, body.attributes, undefined, condition)
      return { status: 204 }
    case 'GET /v1/schema':
      return { status: 200, json: await fd.listClasses() }
    case 'POST /v1/transaction':
      return { status: 200, json: await carryOutTogether(body) }
    default:
      return { status: 404 }
  }
}

function carryOutTogether(operations: readonly Loose[]): Promise<Loose> {
  return fd.transaction(async (step) => {
    const results: Loose[] = []
    for (const [nth, { method, uri, body }] of operations.entries())
      results.push({ result: (await carryOut(step(nth + 1), method, uri, body)).json ?? {} })
    return results
  }, false)
}

process.on('message', async ([number, method, path, body, ifMatch]: Loose) => {
  try {
    const { status, json, etag } = await carryOut(fd, method, path, body, ifMatch)
    process.send?.([number, status, json, etag])
  } catch (error) {
    // Which of these it would be over HTTP makes no difference.
    if (error instanceof AshlarError) process.send?.([number, 409, { type: error.type }])
    else process.send?.([number, 500, { type: String(error) }])
  }
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
