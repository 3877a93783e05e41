/** The part on PostgreSQL: Ashlar beside SQL written by hand, each with a PostgreSQL of its own on the server's core. */
import { type RunningPostgres, startPostgres } from '../../tools/temporary-postgres.ts'
import { ashlarOn } from '../contenders/ashlar.ts'
import { buildServers, byHandOn } from '../contenders/by-hand.ts'
import type { ContenderKind } from '../contenders/contender.ts'
import { databasesOf } from '../contenders/databases.ts'
import { pin } from '../machine.ts'
import type { Bench } from '../rows/measure.ts'
import { type KindsOptions, type Measured, measureKinds } from './measure-kinds.ts'

type Places = Pick<ContenderKind, 'freshPlace'>

export async function measurePostgres(bench: Bench, objects: number, options: KindsOptions): Promise<Measured> {
  await buildServers()
  const databases: RunningPostgres[] = []
  try {
    const kinds: ContenderKind[] = []
    for (const make of [ashlarOn, byHandOn]) kinds.push(await withDatabase(bench, databases, make))
    return await measureKinds(
      bench,
      kinds.map((kind) => ({ kind, objects })),
      options,
    )
  } finally {
    for (const database of databases) await database.stop()
  }
}

/** A contender with a PostgreSQL of its own, which is put among `databases`. */
export async function withDatabase(
  { cores }: Bench,
  databases: RunningPostgres[],
  make: (places: Places, beside: readonly number[]) => ContenderKind,
): Promise<ContenderKind> {
  const database = await startPostgres({ isDurable: true })
  databases.push(database)
  if (cores !== undefined) pin(database.pid, cores.server)
  return make(databasesOf(database.address), [database.pid])
}
