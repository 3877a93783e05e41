/** Rows of PostgreSQL in binary form: pg's parser converts values to strings, which corrupts bytes; hexadecimal digits would be twice as long. */
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import pg from 'pg'

/** Of other statements: values are as pg reads them, and all numbers are numbers. */
export const valueTypes: pg.CustomTypesConfig = {
  getTypeParser(oid, format) {
    return oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC
      ? Number
      : pg.types.getTypeParser(oid, format)
  },
}

/** A statement prepared under its name once per connection; its values are in binary form. */
export interface PreparedStatement extends pg.QueryConfig<unknown[]> {
  readonly name: string
  readonly binary: true
}

export function preparedStatement(name: string, text: string, values: unknown[]): PreparedStatement {
  return { name, text, values, binary: true }
}

/** Rows as received. Values are decoded on access, since keeping decoded values costs more than decoding. */
export class RowsInBytes {
  /** The buffer of each row, and the offset of its first value. */
  private readonly received: Buffer[] = []
  private readonly starts: number[] = []

  get count(): number {
    return this.received.length
  }

  add(received: Buffer, start: number): void {
    this.received.push(received)
    this.starts.push(start)
  }

  addFrom({ received, starts }: RowsInBytes, row: number): void {
    this.add(received[row] as Buffer, starts[row] as number)
  }

  /** A view of the received value, which is never overwritten; undefined for null. */
  bytes(row: number, column: number): Buffer | undefined {
    const received = this.received[row] as Buffer
    const at = this.locate(row, column)
    const length = received.readInt32BE(at)
    return length < 0 ? undefined : received.subarray(at + 4, at + 4 + length)
  }

  /** 0 for null. */
  lengthOf(row: number, column: number): number {
    return Math.max(0, (this.received[row] as Buffer).readInt32BE(this.locate(row, column)))
  }

  int4(row: number, column: number): number {
    return (this.received[row] as Buffer).readInt32BE(this.locate(row, column) + 4)
  }

  copy(row: number, column: number, to: Uint8Array, at: number, bytes: number): void {
    const received = this.received[row] as Buffer
    const start = this.locate(row, column) + 4
    for (let i = 0; i < bytes; i++) to[at + i] = received[start + i] as number
  }

  compare(row: number, other: number, column: number): number {
    const one = this.received[row] as Buffer
    const two = this.received[other] as Buffer
    const oneStart = this.locate(row, column) + 4
    const twoStart = this.locate(other, column) + 4
    const oneLength = one.readInt32BE(oneStart - 4)
    const twoLength = two.readInt32BE(twoStart - 4)
    const shorter = Math.min(oneLength, twoLength)
    for (let i = 0; i < shorter; i++) {
      const difference = (one[oneStart + i] as number) - (two[twoStart + i] as number)
      if (difference !== 0) return difference
    }
    return oneLength - twoLength
  }

  sorted(compare: (one: number, other: number) => number): RowsInBytes {
    const sorted = new RowsInBytes()
    for (const row of [...this.starts.keys()].sort(compare)) sorted.addFrom(this, row)
    return sorted
  }

  /** Offset of the length of the value, which follows it. */
  private locate(row: number, column: number): number {
    const received = this.received[row] as Buffer
    let at = this.starts[row] as number
    for (let i = 0; i < column; i++) at += 4 + Math.max(0, received.readInt32BE(at))
    return at
  }
}

class RowsQuery extends pg.Query {
  readonly found = new RowsInBytes()

  /** Replaces the handler that decodes each value. */
  handleDataRow({ bytes, start }: RowMessage): void {
    this.found.add(bytes, start)
  }
}

/** The rows of the statement, undecoded. Rejects with the errors of pg. */
export function rowsInBytes(client: pg.ClientBase, statement: PreparedStatement): Promise<RowsInBytes> {
  return new Promise((resolve, reject) => {
    const query: RowsQuery = new RowsQuery(statement, (error) => {
      if (error) reject(error)
      else resolve(query.found)
    })
    client.query(query)
  })
}

/** Fields of pg's connection that its types do not declare. */
interface Connection extends EventEmitter {
  attachListeners(stream: Pick<EventEmitter, 'on'>): void
}

/** Lets the client receive rows undecoded. Must be called before it connects. */
export function receiveRowsInBytes(client: pg.ClientBase): void {
  const { connection } = client as unknown as { connection: Connection }
  const attachListeners = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream: Pick<Socket, 'on'>) => {
    const others = new EventEmitter()
    attachListeners(others)
    const row = new RowMessage()
    const messages = new Messages(
      (bytes, start) => {
        row.bytes = bytes
        row.start = start
        connection.emit('dataRow', row)
      },
      (bytes) => others.emit('data', bytes),
    )
    stream.on('data', (bytes: Buffer) => messages.take(bytes))
    stream.on('end', () => others.emit('end'))
  }
}

/** A row in the received buffer; one object per connection, since each row is read before the next arrives. */
class RowMessage {
  readonly name = 'dataRow'
  bytes: Buffer = Buffer.alloc(0)
  /** Offset of the first value. */
  start = 0

  /** What pg reads, for statements whose values are in text form. */
  get fields(): (string | null)[] {
    return textsOf(this.bytes, this.start)
  }
}

/** A message is its type (1 byte), the length of the rest (4 bytes), and its content. */
const headBytes = 5
/** Bytes of the column count, before the values. */
const countBytes = 2
const rowMessage = 'D'.charCodeAt(0)

/** Splits received data into rows and other messages, in order. */
class Messages {
  private readonly row: (bytes: Buffer, start: number) => void
  private readonly other: (bytes: Buffer) => void
  /** The incomplete message. */
  private partial: Buffer[] = []
  private partialBytes = 0
  /** Bytes needed before the message can be parsed further. */
  private requiredBytes = 0

  constructor(row: (bytes: Buffer, start: number) => void, other: (bytes: Buffer) => void) {
    this.row = row
    this.other = other
  }

  take(bytes: Buffer): void {
    let at = this.partialBytes > 0 ? this.complete(bytes) : 0
    let handledTo = at
    let length = headBytes
    while (at + headBytes <= bytes.length) {
      length = 1 + bytes.readUInt32BE(at + 1)
      if (at + length > bytes.length) break
      if (bytes[at] === rowMessage) {
        if (handledTo < at) this.other(bytes.subarray(handledTo, at))
        handledTo = at + length
        this.row(bytes, at + headBytes + countBytes)
      }
      at += length
      length = headBytes
    }
    if (handledTo < at) this.other(bytes.subarray(handledTo, at))
    if (at === bytes.length) return
    this.append(bytes.subarray(at))
    this.requiredBytes = length
  }

  /** Copies only the missing part of the message. Returns the start of the next one, or the end. */
  private complete(received: Buffer): number {
    let at = 0
    while (this.partialBytes > 0) {
      const end = at + this.requiredBytes - this.partialBytes
      this.append(received.subarray(at, end))
      if (end > received.length) return received.length
      at = end
      const message = Buffer.concat(this.partial, this.partialBytes)
      const length = 1 + message.readUInt32BE(1)
      this.partial = [message]
      if (length > message.length) {
        this.requiredBytes = length
        continue
      }
      this.partial = []
      this.partialBytes = 0
      if (message[0] === rowMessage) this.row(message, headBytes + countBytes)
      else this.other(message)
    }
    return at
  }

  private append(bytes: Buffer): void {
    this.partial.push(bytes)
    this.partialBytes += bytes.length
  }
}

function textsOf(bytes: Buffer, start: number): (string | null)[] {
  const texts = new Array<string | null>(bytes.readUInt16BE(start - countBytes))
  let at = start
  for (let i = 0; i < texts.length; i++) {
    const length = bytes.readInt32BE(at)
    at += 4
    texts[i] = length < 0 ? null : bytes.toString('utf8', at, at + length)
    at += Math.max(0, length)
  }
  return texts
}
