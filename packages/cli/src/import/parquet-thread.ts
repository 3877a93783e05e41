/** The thread that reads a Parquet file, one batch of records per request. */
import { parentPort, workerData } from 'node:worker_threads'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import type { FileRecord } from './file-record.ts'
import { openParquetFile, type ParquetFile } from './parquet-records.ts'

/** A message of the thread: first the description of the file, then a batch per request, the last one empty. */
export type ThreadMessage =
  | ({ readonly kind: 'opened' } & Omit<ParquetFile, 'records'>)
  | { readonly kind: 'batch'; readonly records: readonly FileRecord[] }
  | { readonly kind: 'failed'; readonly exitCode: number; readonly message: string }

const batchRecords = 1_000

function say(message: ThreadMessage): void {
  parentPort?.postMessage(message)
}

function fail(error: unknown): void {
  const exitCode = error instanceof CommandError ? error.exitCode : exitCodes.failed
  say({ kind: 'failed', exitCode, message: (error as Error).message })
}

async function nextBatch(records: AsyncGenerator<FileRecord>): Promise<readonly FileRecord[]> {
  const batch: FileRecord[] = []
  while (batch.length < batchRecords) {
    const next = await records.next()
    if (next.done === true) break
    batch.push(next.value)
  }
  return batch
}

async function serve(file: string): Promise<void> {
  const { definitions, columns, size, rows, records } = await openParquetFile(file)
  parentPort?.on('message', () => {
    nextBatch(records).then((batch) => say({ kind: 'batch', records: batch }), fail)
  })
  say({ kind: 'opened', definitions, columns, size, rows })
}

serve(String(workerData)).catch(fail)
