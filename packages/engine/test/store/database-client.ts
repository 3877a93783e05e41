/** Clients of the database itself, beside the stores under test. */
import pg from 'pg'

/** `end()` of the client resolves when its connection is closed. */
export async function connectedClient(address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address })
  // A server that is stopped, or ends the session, also says so to clients that ask nothing, and to those that are closing.
  client.on('error', () => undefined)
  await client.connect()
  return client
}

export async function withClient<T>(address: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectedClient(address)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Over a connection of its own. */
export async function runSql(address: string, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return withClient(address, async (client) => (await client.query(text, [...values])).rows)
}

type Row = Record<string, unknown>
