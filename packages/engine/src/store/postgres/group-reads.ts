/** Puts keys that are asked for at once into one statement, which shows one moment by itself and needs no transaction. */
import type { PoolClient } from 'pg'
import type { Bytes } from '../store.ts'
import { AskedKeys } from './asked-keys.ts'
import { Attempts } from './attempts.ts'
import type { Connections } from './connections.ts'
import { failureOf, thrownFor } from './failures.ts'
import { readKeys, valuesFrom } from './read-keys.ts'

/** While one statement is answered, the next is on its way; what is asked for meanwhile is in the one after. */
const statementsAtOnce = 2

export class GroupReads {
  private readonly connections: Connections
  private readonly asked = new AskedKeys()
  private underWay = 0
  private gathering: NodeJS.Immediate | undefined

  constructor(connections: Connections) {
    this.connections = connections
  }

  /** In the order of the keys, as of one moment that is not before the call. Throws StoreUnavailable. */
  read(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    // Those that ask in the same turn are answered together.
    this.gathering ??= setImmediate(() => {
      this.gathering = undefined
      this.sendSome()
    })
    return this.asked.ask(keys)
  }

  private sendSome(): void {
    while (!this.asked.isEmpty && this.underWay < statementsAtOnce) void this.sendOne()
  }

  private async sendOne(): Promise<void> {
    const together = this.asked.take()
    this.underWay++
    try {
      together.resolve(await this.readTogether(together.keys))
    } catch (error) {
      together.reject(error)
    } finally {
      this.underWay--
      this.sendSome()
    }
  }

  private async readTogether(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    const { schema, location, patienceMs } = this.connections.address
    const attempts = new Attempts(patienceMs)
    for (;;) {
      const client: PoolClient = await this.connections.reader(false)
      try {
        const { rows } = await client.query<unknown[]>(readKeys(schema, keys))
        client.release()
        return valuesFrom(keys.length, rows)
      } catch (error) {
        client.release(true)
        if (!(await attempts.another(failureOf(error)))) throw thrownFor(location, error)
      }
    }
  }
}
