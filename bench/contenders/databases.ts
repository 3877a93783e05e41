/** Databases of a PostgreSQL server for contenders to use, which end with the measurement. */
import pg from 'pg'
import type { Place } from './contender.ts'

/** `address`: of a database from which others can be made. */
export function databasesOf(address: string): { freshPlace(): Promise<Place> } {
  let made = 0
  return {
    async freshPlace() {
      const name = `bench_${made++}`
      await ask(address, `CREATE DATABASE ${name}`)
      const own = new URL(address)
      own.pathname = `/${name}`
      return {
        address: own.href,
        bytes: async () => Number((await ask(address, `SELECT pg_database_size('${name}') AS bytes`))[0]?.bytes),
        remove: async () => void (await ask(address, `DROP DATABASE ${name} WITH (FORCE)`)),
      }
    },
  }
}

async function ask(address: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
