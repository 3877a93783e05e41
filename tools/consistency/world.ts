/** The objects on which the transactions of a workload meet: cells with a list and a value, and items in places. */
import { type Connection, type Loose, sendUntilDone } from './connection.ts'
import type { Step, Transaction } from './history.ts'

const schema = `UPDATE SCHEMA {
  CREATE CLASS History.Cell {key: Integer, value: Integer, list: List{Element: Integer}}
  CREATE CLASS History.Owner {number: Integer, items: List{Element: Reference{Referenced: History.Item, Inverse: owner}}}
  CREATE CLASS History.Item {number: Integer, place: Integer, owner: Reference{Referenced: History.Owner, Inverse: items}}
};
CREATE UNIQUE INDEX cellKey ON History.Cell (key);
CREATE UNIQUE INDEX ownerNumber ON History.Owner (number);
CREATE UNIQUE INDEX itemNumber ON History.Item (number);
CREATE INDEX itemPlace ON History.Item (place)`

export async function defineWorld(connection: Connection): Promise<void> {
  const classes: Loose[] = await sendUntilDone(connection, 'GET', '/v1/schema')
  if (!JSON.stringify(classes).includes('History.Cell')) await query(connection, schema)
}

/** An epoch's own objects: no transaction of another touches them. */
export interface Epoch {
  readonly nth: number
  /** Keys of cells; one is both a list and a register. */
  readonly keys: readonly number[]
  readonly oids: ReadonlyMap<number, string>
  /** Values of the attribute `place`, without gaps. */
  readonly places: readonly number[]
  /** Numbers of owners, which are places too: of the items that refer to them. */
  readonly owners: readonly number[]
  /** The first number of its items. */
  readonly firstItem: number
}

/** More than an epoch has of anything. */
const numbersOfEpoch = 100_000

export interface EpochSize {
  readonly cells: number
  readonly places: number
  readonly owners: number
}

export async function openEpoch(connection: Connection, nth: number, size: EpochSize): Promise<Epoch> {
  const base = nth * numbersOfEpoch
  const count = (n: number, from: number): number[] => Array.from({ length: n }, (_, i) => base + from + i)
  const keys = count(size.cells, 1)
  const owners = count(size.owners, 50_000)
  await create(connection, 'Cell', 'key', keys)
  await create(connection, 'Owner', 'number', owners)
  const range = `key >= ${keys[0]} AND key <= ${keys.at(-1)}`
  const rows = await query(connection, `FROM Cell WHERE ${range} RETURN key, $$ID AS oid`)
  const oids = new Map<number, string>(rows.map(({ key, oid }: Loose) => [key, oid]))
  return { nth, keys, oids, places: count(size.places, 1), owners, firstItem: base + 1 }
}

/** Those that an attempt has created whose answer was lost are there already. */
async function create(connection: Connection, name: string, key: string, numbers: readonly number[]): Promise<void> {
  const upsert = `UPSERT ${name} {${key}: $n} ON (${key})`
  await query(connection, `FOR EACH n IN LIST{${numbers.join(', ')}} => (${upsert})`)
}

export function query(connection: Connection, text: string): Promise<Loose> {
  return sendUntilDone(connection, 'POST', '/v1/query', { query: text })
}

/** What is there when nobody changes it any more: reads of all cells and places, as transactions of a history. */
export async function readAll(connection: Connection, epoch: Epoch, now: () => number): Promise<Transaction[]> {
  const { keys, places, owners, firstItem } = epoch
  const history: Transaction[] = []
  const note = async (text: string, stepsOf: (rows: Loose[]) => Step[]): Promise<void> => {
    const invoked = now()
    const steps = stepsOf(await query(connection, text))
    history.push({ invoked, completed: now(), outcome: 'ok', isFinal: true, form: 'final', steps })
  }
  for (let i = 0; i < keys.length; i += 50) {
    const part = keys.slice(i, i + 50)
    await note(`FROM Cell WHERE key >= ${part[0]} AND key <= ${part.at(-1)} RETURN key, list, value`, (rows) =>
      rows.flatMap(({ key, list, value }): Step[] => [
        { kind: 'readList', list: key, values: list },
        { kind: 'read', register: key, value },
      ]),
    )
  }
  const items = `number >= ${firstItem} AND number < ${firstItem + numbersOfEpoch - 1}`
  await note(`FROM Item WHERE ${items} RETURN number, place, owner.number AS owner`, (rows) => {
    const found = new Map<number, number[]>()
    for (const place of [...places, ...owners]) found.set(place, [])
    for (const { number, place, owner } of rows) found.get(place > 0 ? place : owner)?.push(number)
    return [...found].map(([place, numbers]): Step => ({ kind: 'find', from: place, to: place, items: numbers }))
  })
  return history
}
