/** The part on embedded stores: Ashlar on LMDB, what one would write by hand, and the limits of Node and Fastify, in one run. */
import type { ChildServer } from '../child-server.ts'
import { ashlar } from '../contenders/ashlar.ts'
import { buildServers, byHand, startConstant } from '../contenders/by-hand.ts'
import type { Contender } from '../contenders/contender.ts'
import type { Bench } from '../rows/measure.ts'
import { rows } from '../rows/rows.ts'
import { sqliteDriver } from '../servers/sqlite-driver.ts'
import { discard, fill, startAgain } from './fill.ts'
import { type KindsOptions, type Measured, measureKinds, startable } from './measure-kinds.ts'
import { type Pace, type RowFigures, runRow, runSame } from './run-rows.ts'

export async function measureEmbedded(
  bench: Bench,
  objects: number,
  options: KindsOptions,
): Promise<Measured & { readonly skipped: Record<string, string> }> {
  await buildServers()
  const skipped: Record<string, string> = {}
  const lines = [byHand('node:http + lmdb', 'http-lmdb'), byHand(`Fastify + ${sqliteDriver}`, 'fastify-sqlite')]
  const kinds = await startable(bench, [ashlar(), ...lines], skipped)
  // Without the process that watches over the one that serves.
  const variants = [ashlar({ name: 'Ashlar --workers 0', more: ['--workers', '0'] })]
  const entrants = kinds.map((kind, at) => ({ kind, objects, ...(at === 0 && { variants }) }))
  const measured = await measureKinds(bench, entrants, options, async ([first]) => {
    const constant = await constantReplies(bench, options)
    if (options.only.length > 0 || first === undefined) return { 'constant reply': constant }
    return { 'constant reply': constant, 'read, request log on': await readWithLog(bench, first, options) }
  })
  return { ...measured, skipped }
}

async function constantReplies(bench: Bench, pace: Pace): Promise<RowFigures> {
  const servers: Record<string, ChildServer> = {}
  try {
    servers['node:http'] = await startConstant('constant-http', bench.cores?.server)
    servers.Fastify = await startConstant('constant-fastify', bench.cores?.server)
    return await runSame(bench, servers, { method: 'GET', path: '/vehicle/1' }, 64, pace)
  } finally {
    for (const server of Object.values(servers)) await server.stop()
  }
}

/** Two processes of Ashlar, of which one writes its log, with as many objects and in turns. */
async function readWithLog(bench: Bench, without: Contender, pace: Pace): Promise<RowFigures> {
  const read = rows.find(({ name }) => name === 'read')
  if (read === undefined) throw new Error('there is no row of reads')
  const kind = ashlar({ name: 'Ashlar, log on', hasLog: true })
  const { contender: withLog } = await fill(bench, kind, without.objects)
  try {
    // What a process has done before counts for more than its log.
    for (const contender of [without, withLog]) await startAgain(bench, contender)
    return await runRow(bench, read, [without, withLog], pace)
  } finally {
    await discard(withLog)
  }
}
