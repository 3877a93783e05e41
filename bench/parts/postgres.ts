/** The part on PostgreSQL: Ashlar beside SQL written by hand, each with a PostgreSQL of its own on the server's core. */
import { type RunningPostgres, startPostgres } from '../../tools/temporary-postgres.ts'
import { ashlarOn } from '../contenders/ashlar.ts'
import { buildServers, byHandOn } from '../contenders/by-hand.ts'
import { databasesOf } from '../contenders/databases.ts'
import { pin } from '../machine.ts'
import type { Bench } from '../rows/measure.ts'
import { type KindsOptions, type Measured, measureKinds } from './measure-kinds.ts'

export async function measurePostgres(bench: Bench, objects: number, options: KindsOptions): Promise<Measured> {
  await buildServers()
  const databases: RunningPostgres[] = []
  try {
    const kinds = []
    for (const make of [ashlarOn, byHandOn]) {
      const database = await startPostgres({ isDurable: true })
      databases.push(database)
      if (bench.cores !== undefined) pin(database.pid, bench.cores.server)
      kinds.push(make(databasesOf(database.address), [database.pid]))
    }
    return await measureKinds(
      bench,
      kinds.map((kind) => ({ kind, objects })),
      options,
    )
  } finally {
    for (const database of databases) await database.stop()
  }
}
