/** Another client, in a process of its own: each kind of request every 5 ms, unless the last one waits still; told the worst wait. */
import { askAs, exchange } from './exchange.ts'

export const kinds = ['read', 'health', 'refused', 'write'] as const
export type Kind = (typeof kinds)[number]
/** In milliseconds. */
export type Waits = Record<Kind, number>

const everyMs = 5

interface Probed {
  readonly url: string
  readonly readOid: string
  readonly writtenOid: string
  readonly authorization: string | undefined
}

let probed: Probed | undefined
let worst: Waits = nothing()
/** When those under way were sent. */
const sentAt = new Map<Kind, number>()
let counter = 0

function nothing(): Waits {
  return { read: 0, health: 0, refused: 0, write: 0 }
}

function send(kind: Kind, { url, readOid, writtenOid }: Probed): Promise<unknown> {
  if (kind === 'health') return exchange(url, 'GET', '/health/live')
  if (kind === 'refused') return exchange(url, 'GET', `/v1/object/${readOid}x`)
  if (kind === 'read') return exchange(url, 'GET', `/v1/object/${readOid}`)
  return exchange(url, 'PUT', `/v1/object/${writtenOid}`, { attributes: { n: ++counter } })
}

function note(kind: Kind): void {
  const sent = sentAt.get(kind)
  if (sent !== undefined) worst[kind] = Math.max(worst[kind], performance.now() - sent)
}

async function probe(kind: Kind, of: Probed): Promise<void> {
  if (sentAt.has(kind)) return
  sentAt.set(kind, performance.now())
  await send(kind, of)
  note(kind)
  sentAt.delete(kind)
}

if (process.send !== undefined) {
  setInterval(() => {
    if (probed !== undefined) for (const kind of kinds) void probe(kind, probed)
  }, everyMs)
  process.on('message', (message: Probed | 'begin' | 'end') => {
    if (message === 'begin') worst = nothing()
    else if (message === 'end') {
      for (const kind of kinds) note(kind)
      process.send?.(worst)
    } else {
      probed = message
      askAs(message.authorization)
    }
  })
  process.on('disconnect', () => process.exit())
}
