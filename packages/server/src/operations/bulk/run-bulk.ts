/** The HTTP side of a bulk load: reads lines and sends replies, each at the pace of the slower side (contract 2.2.9). */
import {
  type Awaitable,
  type Database,
  inParts,
  JsonSource,
  type LineLoad,
  noteText,
  openTimeSlice,
} from '@ashlar/engine'
import type { FdRequest } from '../../dispatch/operation.ts'
import { LineFailure } from '../../errors/request-errors.ts'
import { ServerError } from '../../errors/server-errors.ts'
import type { BodyLines, Lines } from '../../json/body-lines.ts'
import type { JsonLimits } from '../../json/json-scan.ts'
import { parseJson } from '../../json/parse-json.ts'
import { bulkBatchBytes, bulkBatchLines, bulkIdleMs, bulkOpenIdleMs, bulkRepliesBytesMax } from '../../limits.ts'
import type { BulkParameters } from './bulk-parameters.ts'
import { PendingReplies } from './pending-replies.ts'
import { readLine } from './read-line.ts'

const newline = 0x0a
const dollarBrace = Buffer.from('${')

/** Starts to read and execute lines, and returns the replies as bytes. Errors before the first reply are thrown by its promise. */
export function runBulk(
  lines: BodyLines,
  database: Database,
  request: FdRequest,
  parameters: BulkParameters,
): AsyncIterable<Buffer> {
  const { signal, watch, memoryHolder } = request
  const load = database.beginLoad(parameters, { signal, watch, memoryHolder })
  const bulk = new Bulk(lines, load, request, parameters, database.mayHoldJson)
  void bulk.run()
  return bulk.replies.pieces()
}

class Bulk {
  readonly replies = new PendingReplies()
  private readonly lines: BodyLines
  private readonly load: LineLoad
  private readonly request: FdRequest
  private readonly parameters: BulkParameters
  private readonly slice = openTimeSlice()
  private interrupt: ((reason: unknown) => void) | undefined
  private batch: Promise<void> = Promise.resolve()
  private waitingBytes = 0
  /** Starts at 1 and includes blank lines. */
  private line = 0
  private readonly jsonLimits: JsonLimits
  private readonly mayHoldJson: boolean

  constructor(lines: BodyLines, load: LineLoad, request: FdRequest, parameters: BulkParameters, mayHoldJson: boolean) {
    this.mayHoldJson = mayHoldJson
    this.lines = lines
    this.load = load
    this.request = request
    this.parameters = parameters
    const { jsonDepthMax: depthMax, objectValuesMax: valuesMax } = request.service.limits
    this.jsonLimits = { depthMax, valuesMax, valuesLimit: 'objectValuesMax' }
  }

  async run(): Promise<void> {
    const { signal } = this.request
    const stop = (): void => this.interrupt?.(signal.reason)
    signal.addEventListener('abort', stop)
    try {
      await this.receive()
      await this.commit()
      await this.batch
      const { created, updated, deleted, failed } = this.load.counts
      this.replies.pushText(JSON.stringify({ summary: { created, updated, ...(deleted > 0 && { deleted }), failed } }))
      this.replies.end()
    } catch (error) {
      // Report committed lines first.
      await this.batch.catch(() => undefined)
      this.replies.fail(error)
    } finally {
      signal.removeEventListener('abort', stop)
      await this.load.end()
    }
  }

  private async receive(): Promise<void> {
    let next = this.lines.next()
    for (;;) {
      const lines = await this.arrival(next)
      if (lines === 'idle') {
        await this.commit()
        continue
      }
      if (lines === undefined) return
      next = this.lines.next()
      // It may reject while nothing awaits it.
      next.catch(() => undefined)
      for (const some of lines) {
        await this.take(some)
        if (this.load.isStopped) return void this.discardRest(next)
      }
      if (this.replies.bytes > bulkRepliesBytesMax) await this.room()
    }
  }

  /** Resolves with the next lines, undefined at the end, or `idle` if pending lines are due for commit. Throws RequestTimeout. */
  private async arrival(next: Promise<readonly Lines[] | undefined>): Promise<readonly Lines[] | undefined | 'idle'> {
    const { load, parameters, request } = this
    const { requestMsMax } = request.service.limits
    const hasWork = load.waiting > 0 && !parameters.isAtomic
    const patienceMs = hasWork ? (load.hasOpenNames ? bulkOpenIdleMs : bulkIdleMs) : requestMsMax
    request.watch?.pauses()
    let timeout: NodeJS.Timeout | undefined
    const over = new Promise<'idle'>((resolve, reject) => {
      timeout = setTimeout(() => (hasWork ? resolve('idle') : reject(senderStalled(requestMsMax))), patienceMs)
    })
    try {
      return await this.unlessStopped(Promise.race([next, over]))
    } finally {
      clearTimeout(timeout)
      const place = request.watch?.proceeds()
      if (place !== undefined) await place
    }
  }

  /** Throws the signal's reason. */
  private unlessStopped<T>(wait: Promise<T>): Promise<T> {
    // It fails soon if the client is gone, and an unhandled rejection would end the process.
    wait.catch(() => undefined)
    this.request.signal.throwIfAborted()
    return new Promise((resolve, reject) => {
      this.interrupt = reject
      wait.then(resolve, reject)
    })
  }

  /** Throws BodyTooLarge and LimitExceeded; other errors are reported for their line. A line processed synchronously creates no promise. */
  private async take(lines: Lines): Promise<void> {
    if (lines === undefined) {
      const { lineBytesMax } = this.request.service.limits
      const message = `The line has more than ${lineBytesMax} bytes (lineBytesMax).`
      this.refuse(++this.line, new ServerError('BodyTooLarge', message))
      if (this.isFullWith(0)) await this.commit()
      return
    }
    const { load } = this
    const hasNames = lines.includes(dollarBrace)
    for (let from = 0; from <= lines.length && !load.isStopped; ) {
      const end = lines.indexOf(newline, from)
      const text = lines.subarray(from, end < 0 ? lines.length : end)
      const bytes = text.length
      from += bytes + 1
      const line = ++this.line
      const pause = line % linesPerCheck === 0 ? this.slice.yieldIfDue() : undefined
      if (pause !== undefined) await pause
      try {
        const parsed = this.parse(text)
        const json = parsed instanceof Promise ? await parsed : parsed
        if (json === blank) continue
        if (this.mayHoldJson) noteLine(json, text)
        const command = readLine(json, line, hasNames)
        if (load.needsCommitBefore(command)) await this.commit()
        const added = load.add(command, bytes)
        if (added !== undefined) await added
      } catch (error) {
        this.refuse(line, error)
      }
      if (this.isFullWith(bytes)) await this.commit()
    }
  }

  /** Throws the syntax error. */
  private parse(bytes: Buffer): Awaitable<unknown> {
    return isBlank(bytes) ? blank : parseJson(bytes, this.jsonLimits)
  }

  private refuse(line: number, error: unknown): void {
    if (this.parameters.isAtomic) throw new LineFailure(line, error)
    this.load.refuse(line, error)
  }

  /** Returns true if the pending lines must be committed before one more of `bytes`. Throws BodyTooLarge. */
  private isFullWith(bytes: number): boolean {
    const { bulkNamesMax } = this.request.service.limits
    if (this.load.namesCount > bulkNamesMax) {
      throw new ServerError('BodyTooLarge', `More than ${bulkNamesMax} lines have an id (bulkNamesMax).`)
    }
    this.waitingBytes += bytes
    return !this.parameters.isAtomic && this.isBatchFull()
  }

  /** Lines that refer to later lines wait a little longer. */
  private isBatchFull(): boolean {
    const { waiting, hasOpenNames } = this.load
    const times = hasOpenNames ? openBatchTimes : 1
    return waiting >= times * bulkBatchLines || this.waitingBytes >= times * bulkBatchBytes
  }

  /** Starts to execute the pending lines after the previous batch. Throws the error of that batch. */
  private async commit(): Promise<void> {
    await this.batch
    if (this.load.waiting === 0) return
    const place = this.request.watch?.mayContinue?.()
    if (place !== undefined) await place
    this.waitingBytes = 0
    const textOf = (line: number, error: unknown): string =>
      JSON.stringify({ line, error: this.request.problemOf(error) })
    this.batch = this.load.flush().then((outcomes) => {
      return inParts(outcomes, repliesPerWrite, (part) => this.replies.push(part, textOf))
    })
    this.batch.catch(() => undefined)
  }

  /** Resolves when the reader has consumed enough replies. */
  private async room(): Promise<void> {
    const { watch } = this.request
    watch?.pauses()
    await this.unlessStopped(this.replies.roomFor(bulkRepliesBytesMax / 2))
    const place = watch?.proceeds()
    if (place !== undefined) await place
  }

  /** Discards the rest of the body; without that, the client might not receive the reply. The connection ends soon. */
  private async discardRest(next: Promise<unknown>): Promise<void> {
    try {
      for (let lines = await next; lines !== undefined; ) lines = await this.lines.next()
    } catch {
      // The connection has ended.
    }
  }
}

const linesPerCheck = 16
/** Maximum replies per write; an atomic load may have very many. */
const repliesPerWrite = 10_000
/** Factor by which a batch may exceed its size while its lines refer to later ones. */
const openBatchTimes = 5

/** `bytes`: the JSON text of a body of POST /v1/object, or of an operation. */
function noteLine(json: unknown, bytes: Buffer): void {
  const text = JsonSource.of(bytes)
  noteText(json, text)
  if (typeof json === 'object' && json !== null && 'body' in json) noteText(json.body, text.at('body'))
}

const blank = Symbol('blank')
const blankText = /^[ \t\r]*$/
/** A longer line of white space is treated as an error. */
const blankBytesMax = 100

function isBlank(bytes: Buffer): boolean {
  return bytes.length < blankBytesMax && blankText.test(bytes.toString('latin1'))
}

function senderStalled(msMax: number): ServerError {
  return new ServerError('RequestTimeout', `No line has come for ${msMax / 1_000} s (requestMsMax).`)
}
