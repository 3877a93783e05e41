/** Puts keys that are asked for at once into one statement, which shows one moment by itself and needs no transaction. */
import type { PoolClient, QueryArrayConfig } from 'pg'
import type { Bytes } from '../store.ts'
import { byteaArray, int4Array } from './binary-array.ts'
import type { Connections } from './connections.ts'
import { failureOf, thrownFor } from './failures.ts'
import { placementOf } from './placement.ts'

/** While one statement is answered, the next is on its way; what is asked for meanwhile is in the one after. */
const statementsAtOnce = 2
const keysMax = 256
const attemptsMax = 5
const keysWrittenOutMax = 8

interface Asked {
  readonly keys: readonly Bytes[]
  resolve(values: (Bytes | undefined)[]): void
  reject(error: unknown): void
}

export class GroupReads {
  private readonly connections: Connections
  private asked: Asked[] = []
  private underWay = 0
  private gathering: NodeJS.Immediate | undefined

  constructor(connections: Connections) {
    this.connections = connections
  }

  /** In the order of the keys, as of one moment that is not before the call. The values may be others' too. Throws StoreUnavailable. */
  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    return new Promise((resolve, reject) => {
      this.asked.push({ keys, resolve, reject })
      // Those that ask in the same turn are answered together.
      this.gathering ??= setImmediate(() => {
        this.gathering = undefined
        this.sendSome()
      })
    })
  }

  private sendSome(): void {
    while (this.asked.length > 0 && this.underWay < statementsAtOnce) void this.sendOne()
  }

  private async sendOne(): Promise<void> {
    const places = new Map<string, number>()
    const keys: Bytes[] = []
    let count = 0
    for (const { keys: wanted } of this.asked) {
      if (count > 0 && keys.length + wanted.length > keysMax) break
      count++
      for (const key of wanted) {
        const name = textOf(key)
        if (places.has(name)) continue
        places.set(name, keys.length)
        keys.push(key)
      }
    }
    const group = this.asked.slice(0, count)
    this.asked = this.asked.slice(count)
    this.underWay++
    try {
      const values = await this.readTogether(keys)
      for (const { keys: wanted, resolve } of group)
        resolve(wanted.map((key) => values[places.get(textOf(key)) as number]))
    } catch (error) {
      for (const { reject } of group) reject(error)
    } finally {
      this.underWay--
      this.sendSome()
    }
  }

  private async readTogether(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    const { schema, location } = this.connections.address
    for (let attempt = 1; ; attempt++) {
      const client: PoolClient = await this.connections.reader(false)
      try {
        const { rows } = await client.query<unknown[]>(severalKeys(schema, keys))
        client.release()
        return valuesFrom(keys.length, rows)
      } catch (error) {
        client.release(true)
        if (attempt >= attemptsMax || failureOf(error) !== 'lost') throw thrownFor(location, error)
      }
    }
  }
}

/** A statement that gives rows of position, from 1, and value. */
export function severalKeys(schema: string, keys: readonly Bytes[]): QueryArrayConfig<unknown[]> {
  // Written out, few keys cost half of what a join with their list costs.
  if (keys.length > keysWrittenOutMax) {
    return {
      name: 'keys',
      rowMode: 'array',
      text: `SELECT w.i, kv.value FROM unnest($1::int4[], $2::bytea[]) WITH ORDINALITY AS w(p, k, i)
        JOIN ${schema}.kv ON kv.placement = w.p AND kv.key = w.k`,
      values: [int4Array(keys.map(placementOf)), byteaArray(keys)],
    }
  }
  const selects = keys.map((_, i) => {
    return `SELECT ${i + 1}, value FROM ${schema}.kv WHERE placement = $${2 * i + 1} AND key = $${2 * i + 2}`
  })
  return {
    name: `keys ${keys.length}`,
    rowMode: 'array',
    text: selects.join(' UNION ALL '),
    values: keys.flatMap((key) => [placementOf(key), key]),
  }
}

export function valuesFrom(count: number, rows: readonly (readonly unknown[])[]): (Bytes | undefined)[] {
  const values: (Bytes | undefined)[] = new Array(count).fill(undefined)
  for (const [position, value] of rows as readonly (readonly [number, Buffer])[]) values[position - 1] = value
  return values
}

function textOf(key: Bytes): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
}
