/** The files of a stored example database: what it shows, its keys and values, and the file of LMDB. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { isCopied } from '../../src/bytes/key-layout.ts'
import { keySpace } from '../../src/bytes/key-space.ts'
import { appendedKey, appendPrefixBytes } from '../../src/store/append.ts'
import { appendedValues } from '../../src/store/append-blocks.ts'
import type { Store } from '../../src/store/store.ts'
import type { ExampleContent } from './example-database.ts'

export const contentFile = 'content.json'
export const entriesFile = 'entries.txt.gz'
export const lmdbFile = 'data.mdb.gz'
/** Statements, see `postgres-statements.ts`; of formats whose PostgreSQL tables are to be told apart. */
export const postgresFile = 'postgres.sql.gz'

/** Positions in lists hold the time: an example made at this time has the same bytes whenever it is made. */
export const fixedNow = Date.UTC(2024, 1, 29)

export interface Fixture {
  readonly content: ExampleContent
  /** Key and value in hexadecimal digits, in key order. */
  readonly entries: readonly string[]
  /** The file of LMDB. */
  readonly lmdb: Buffer
}

export function fixture(name: string): Fixture {
  const read = (file: string): Buffer =>
    readFileSync(fileURLToPath(new URL(`fixtures/${name}/${file}`, import.meta.url)))
  return {
    content: JSON.parse(read(contentFile).toString()) as ExampleContent,
    entries: gunzipSync(read(entriesFile)).toString().replace(/\n$/, '').split('\n'),
    lmdb: gunzipSync(read(lmdbFile)),
  }
}

/** Of what is stored for good, in the form of a fixture: what a store has put together of the change log is told commit by commit. */
export async function entriesOf(store: Store): Promise<string[]> {
  const snapshot = await store.snapshot()
  const entries: string[] = []
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
  const write = (key: Uint8Array, value: Uint8Array): string[] => {
    if (!isCopied(key)) return []
    if (key[0] !== keySpace.log || key[1] !== 0) return [`${hex(key)} ${hex(value)}`]
    const prefix = key.subarray(0, appendPrefixBytes)
    return appendedValues(key, value).map((one) => {
      return `${hex(appendedKey(prefix, one.number, one.part, one.value.length))} ${hex(one.value)}`
    })
  }
  for await (const batch of snapshot.scan({}, write)) entries.push(...batch.flat())
  snapshot.release()
  return entries
}
