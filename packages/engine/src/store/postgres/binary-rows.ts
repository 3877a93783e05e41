/**
 * Rows as they come from PostgreSQL, in bytes. What reads them in pg makes a text of each value, which bytes do not outlive, so that values
 * would have to come as hexadecimal digits: twice as long, and dear to make and to read for both sides.
 */
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type pg from 'pg'

/** Numbers of PostgreSQL's types. */
const type = { bytea: 17, int8: 20, int4: 23, text: 25, int4Array: 1007 } as const

type ReadValue = (bytes: Buffer) => unknown

/** As they come where a query asks for `binary`. */
const binary: Readonly<Record<number, ReadValue>> = {
  [type.bytea]: (bytes) => bytes,
  [type.int8]: (bytes) => Number(bytes.readBigInt64BE()),
  [type.int4]: (bytes) => bytes.readInt32BE(),
  [type.text]: textOf,
}

const text: Readonly<Record<number, ReadValue>> = {
  // Two characters, \x, stand before the digits.
  [type.bytea]: (bytes) => Buffer.from(textOf(bytes).slice(2), 'hex'),
  [type.text]: textOf,
  [type.int4Array]: (bytes) => (bytes.length === 2 ? [] : textOf(bytes).slice(1, -1).split(',').map(Number)),
}

function textOf(bytes: Buffer): string {
  return bytes.toString()
}

function numberOf(bytes: Buffer): number {
  return Number(textOf(bytes))
}

/** What comes is bytes, text, an integer, or an array of integers. */
export const valueTypes = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): ReadValue {
    if (format !== 'binary') return text[oid] ?? numberOf
    const read = binary[oid]
    if (read === undefined) throw new Error(`values of the type ${oid} do not come in bytes`)
    return read
  },
} as unknown as pg.CustomTypesConfig

/** A statement that is prepared under its name, once a connection; gives rows as arrays of values, which come in bytes. */
export interface PreparedStatement extends pg.QueryArrayConfig<unknown[]> {
  readonly name: string
  readonly binary: true
}

export function preparedStatement(name: string, text: string, values: unknown[]): PreparedStatement {
  return { name, text, values, rowMode: 'array', binary: true }
}

/** What pg has of a connection, beside what it tells of it. */
interface Connection extends EventEmitter {
  attachListeners(stream: Pick<EventEmitter, 'on'>): void
}

/** Rows of the client have their values in bytes, which `valueTypes` read. Before it connects. */
export function receiveRowsInBytes(client: pg.ClientBase): void {
  const { connection } = client as unknown as { connection: Connection }
  const attachListeners = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream: Pick<Socket, 'on'>) => {
    const others = new EventEmitter()
    attachListeners(others)
    const messages = new Messages(
      (values) => connection.emit('dataRow', { name: 'dataRow', fields: values }),
      (bytes) => others.emit('data', bytes),
    )
    stream.on('data', (bytes: Buffer) => messages.take(bytes))
    stream.on('end', () => others.emit('end'))
  }
}

type Values = (Buffer | null)[]

/** A message is its kind, in one byte; its length from there on, in four; and what it says. */
const headBytes = 5
const rowMessage = 'D'.charCodeAt(0)

/** Parts what is received into rows and whatever else comes between them, in order. */
class Messages {
  private readonly row: (values: Values) => void
  private readonly other: (bytes: Buffer) => void
  /** The beginning of a message. */
  private held: Buffer[] = []
  private heldBytes = 0
  /** With so many bytes more is known of it. */
  private wantedBytes = 0

  constructor(row: (values: Values) => void, other: (bytes: Buffer) => void) {
    this.row = row
    this.other = other
  }

  take(received: Buffer): void {
    let bytes = received
    if (this.heldBytes > 0) {
      this.hold(received)
      if (this.heldBytes < this.wantedBytes) return
      bytes = Buffer.concat(this.held, this.heldBytes)
      this.held = []
      this.heldBytes = 0
    }
    let at = 0
    let told = 0
    let wanted = headBytes
    while (at + headBytes <= bytes.length) {
      wanted = 1 + bytes.readUInt32BE(at + 1)
      if (at + wanted > bytes.length) break
      if (bytes[at] === rowMessage) {
        if (told < at) this.other(bytes.subarray(told, at))
        told = at + wanted
        this.row(valuesOf(bytes, at + headBytes))
      }
      at += wanted
      wanted = headBytes
    }
    if (told < at) this.other(bytes.subarray(told, at))
    if (at === bytes.length) return
    this.hold(bytes.subarray(at))
    this.wantedBytes = wanted
  }

  private hold(bytes: Buffer): void {
    this.held.push(bytes)
    this.heldBytes += bytes.length
  }
}

/** They lie in what was received, which nobody else writes to. */
function valuesOf(bytes: Buffer, from: number): Values {
  const count = bytes.readUInt16BE(from)
  const values = new Array<Buffer | null>(count)
  let at = from + 2
  for (let i = 0; i < count; i++) {
    const length = bytes.readInt32BE(at)
    at += 4
    if (length < 0) values[i] = null
    else {
      values[i] = bytes.subarray(at, at + length)
      at += length
    }
  }
  return values
}
