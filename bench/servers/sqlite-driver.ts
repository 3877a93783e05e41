/**
 * The driver of SQLite: better-sqlite3 in the folder that `BENCH_BETTER_SQLITE3` names, or the packaged `@photostructure/sqlite`, which
 * is that of `node:sqlite` with binaries in the package. Installing better-sqlite3 for Node 20 compiles it, so it is no dependency.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'

type Value = string | number | null

interface Statement {
  get(...values: Value[]): unknown
  all(...values: Value[]): unknown[]
  run(...values: Value[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  iterate(...values: Value[]): Iterable<unknown>
}

export interface Sqlite {
  exec(text: string): unknown
  prepare(text: string): Statement
  close(): unknown
}

const folder = process.env.BENCH_BETTER_SQLITE3

export const sqliteDriver = folder === undefined ? '@photostructure/sqlite' : 'better-sqlite3'

export async function openSqlite(file: string): Promise<Sqlite> {
  if (folder === undefined) return new (await import('@photostructure/sqlite')).DatabaseSync(file) as unknown as Sqlite
  const BetterSqlite = createRequire(join(folder, 'package.json'))('better-sqlite3') as new (file: string) => Sqlite
  return new BetterSqlite(file)
}
