/** Reads records of a Parquet file in a thread, which is always terminated: a damaged file can make the library loop forever. */
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { CommandError, invalidInput, usageError } from '../errors/command-error.ts'
import type { FileRecord, OpenImportFile } from './file-record.ts'
import type { ThreadMessage } from './parquet-thread.ts'

/** In the directory of this file, also if both are bundled. */
const threadProgram = fileURLToPath(new URL(`./parquet-thread${extname(import.meta.url)}`, import.meta.url))

/** Heap limit of the thread. A row group of 1 GiB may need as much again for strings. */
const heapMegabytesMax = 8_192
/** Timeout of a message. A row group of 1 GiB takes seconds. */
const silenceMaxMilliseconds = 120_000

/** Throws CommandError, and the signal's reason; so does the iteration. */
export async function openParquet(file: string, signal?: AbortSignal): Promise<OpenImportFile> {
  if (file === '-') throw usageError('Parquet is read from a file: its schema stands at the end.')
  const thread = new ParquetThread(file, signal)
  const opened = await thread.next()
  if (opened.kind !== 'opened') throw new Error(`Of ${file}, '${opened.kind}' came before what it is.`)
  const { definitions, columns, size, rows } = opened
  let rowsDone = 0
  const records = async function* (): AsyncGenerator<FileRecord> {
    try {
      for (let next = thread.requestBatch(); ; ) {
        const batch = await next
        if (batch.length === 0) return
        // Read the next batch while this one is sent.
        next = thread.requestBatch()
        next.catch(() => undefined)
        for (const record of batch) {
          rowsDone = record.line
          yield record
        }
      }
    } finally {
      thread.end()
    }
  }
  return {
    records: records(),
    size,
    bytesRead: () => (rows === 0 ? size : Math.round((size * rowsDone) / rows)),
    header: () => columns,
    areTexts: false,
    definitions: new Map(definitions),
  }
}

type Message = Exclude<ThreadMessage, { readonly kind: 'failed' }>

class ParquetThread {
  private readonly file: string
  private readonly signal: AbortSignal | undefined
  private readonly worker: Worker

  constructor(file: string, signal: AbortSignal | undefined) {
    this.file = file
    this.signal = signal
    this.worker = new Worker(threadProgram, {
      workerData: file,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytesMax },
    })
    // The pending read gets the error.
    this.worker.on('error', () => undefined).unref()
  }

  end(): void {
    void this.worker.terminate()
  }

  async requestBatch(): Promise<readonly FileRecord[]> {
    this.worker.postMessage('next')
    const message = await this.next()
    return message.kind === 'batch' ? message.records : []
  }

  /** Ends the thread after the last record. */
  async next(): Promise<Message> {
    try {
      const message = await this.received()
      if (message.kind === 'failed') throw new CommandError(message.exitCode, message.message)
      return message
    } catch (error) {
      this.end()
      throw error
    }
  }

  private received(): Promise<ThreadMessage> {
    const { worker, signal, file } = this
    return new Promise((resolve, reject) => {
      const settle = (then: () => void): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        worker.off('message', message).off('error', fail).off('exit', exit)
        then()
      }
      const unreadable = (why: string): void =>
        settle(() => reject(invalidInput(`${file} cannot be read as Parquet: ${why}.`)))
      const abort = (): void => settle(() => reject(signal?.reason as Error))
      const message = (received: ThreadMessage): void => settle(() => resolve(received))
      // The library leaves a rejection unhandled if two columns fail at the same time.
      const fail = ({ code, message: why }: NodeJS.ErrnoException): void =>
        unreadable(code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'its reader ran out of memory' : why)
      const exit = (): void => unreadable('its reader has ended')
      const silent = `it is damaged, or its reader needs longer than ${silenceMaxMilliseconds / 1_000} seconds for a row group`
      const timer = setTimeout(() => unreadable(silent), silenceMaxMilliseconds)
      if (signal?.aborted === true) return abort()
      signal?.addEventListener('abort', abort, { once: true })
      worker.once('message', message).once('error', fail).once('exit', exit)
    })
  }
}
