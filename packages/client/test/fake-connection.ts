/** A connection whose live queries and changes do what the test says. */
import type { Connection, Database, LiveEvent } from '../src/index.ts'
import { databaseOf } from '../src/index.ts'
import type { FollowOptions } from '../src/options.ts'
import type { Schema } from './typed-schema.d.ts'

export type Row = Record<string, unknown>

/** One live query of a client. */
export class FakeQuery {
  readonly text: string
  readonly options: FollowOptions
  private readonly events: (LiveEvent<Row> | Error)[] = []
  private wake: () => void = () => undefined
  private position = 0

  constructor(text: string, options: FollowOptions) {
    this.text = text
    this.options = options
    options.signal?.addEventListener('abort', () => this.wake())
  }

  async *read(): AsyncGenerator<LiveEvent<Row>, never> {
    for (;;) {
      this.options.signal?.throwIfAborted()
      const event = this.events.shift()
      if (event instanceof Error) throw event
      if (event === undefined)
        await new Promise<void>((resolve) => {
          this.wake = resolve
        })
      else yield event
    }
  }

  /** Sends the events and the position after them, and waits until they have arrived. */
  send(...events: readonly LiveEvent<Row>[]): Promise<void> {
    return this.put(...events, { event: 'position', position: `1-${++this.position}` })
  }

  async put(...events: readonly (LiveEvent<Row> | Error)[]): Promise<void> {
    this.events.push(...events)
    this.wake()
    await settled()
  }

  /** The first events: all rows, in their order. */
  begin(...rows: readonly Row[]): Promise<void> {
    const begin = { event: 'begin', isOrdered: false, isResumed: false } as const
    return this.send(begin, ...rows.map((row) => ({ event: 'row', oid: String(row.$id), row: { ...row } }) as const))
  }

  get isEnded(): boolean {
    return this.options.signal?.aborted === true
  }
}

/** A request for a change, of which the test says how it ends. */
export interface FakeRequest {
  readonly oid: string
  readonly attributes: Row
  succeed(result?: unknown): Promise<void>
  refuse(message: string): Promise<void>
}

export interface Fake {
  readonly db: Database<Schema, Connection>
  readonly queries: FakeQuery[]
  readonly requests: FakeRequest[]
}

export function fakeDatabase(): Fake {
  const queries: FakeQuery[] = []
  const requests: FakeRequest[] = []
  const request = (oid: string, attributes: Row): Promise<never> => {
    return new Promise((resolve, reject) => {
      requests.push({
        oid,
        attributes,
        succeed: (result) => {
          resolve(result as never)
          return settled()
        },
        refuse: (message) => {
          reject(new Error(message))
          return settled()
        },
      })
    })
  }
  const connection: Partial<Connection> = {
    query: (text, _, options) => request(text, { options }),
    followQuery: (text, _, options = {}) => {
      const query = new FakeQuery(text, options)
      queries.push(query)
      return query.read() as never
    },
    createObject: (className, attributes) => request(className, attributes as Row),
    updateObject: (oid, attributes) => request(oid, attributes as Row),
    deleteObject: (oid) => request(oid, {}),
  }
  return { db: databaseOf<Schema, Connection>(connection as Connection), queries, requests }
}

/** Everything that is resolved has been passed on. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
