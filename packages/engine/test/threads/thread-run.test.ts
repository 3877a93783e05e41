/** What the main thread makes of the messages of a statement thread. */
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import type { RowChunk } from '../../src/query/query-request.ts'
import { sentError } from '../../src/threads/messages.ts'
import { newSharedCells } from '../../src/threads/shared-cells.ts'
import { ThreadRun } from '../../src/threads/thread-run.ts'

const chunk = (text: string): RowChunk => ({ bytes: Buffer.from(text), starts: [0] })
const failure = new AshlarError('QueryError', 'the third row fails')

function newRun(signal?: AbortSignal): ThreadRun {
  return new ThreadRun({ operation: 'query', data: {}, signal }, newSharedCells(), () => undefined)
}

it('rows that arrive together with a failure are passed on before it', async () => {
  const run = newRun()
  run.receive({ kind: 'chunk', chunk: chunk('1') }, undefined)
  const reply = await run.started(() => undefined)
  run.receive({ kind: 'chunk', chunk: chunk('2') }, undefined)
  run.receive({ kind: 'failed', error: sentError(failure) }, undefined)
  const rows: string[] = []
  const reading = (async () => {
    for await (const { bytes } of reply?.chunks ?? []) rows.push(bytes.toString())
  })()
  await expect(reading).rejects.toThrow(failure.message)
  expect(rows).toEqual(['1', '2'])
})

it('a client that has left gets no more rows', async () => {
  const client = new AbortController()
  const run = newRun(client.signal)
  run.receive({ kind: 'chunk', chunk: chunk('1') }, undefined)
  const reply = await run.started(() => undefined)
  client.abort(new Error('the client has left'))
  run.receive({ kind: 'failed', error: sentError(failure) }, undefined)
  const reading = (async () => {
    for await (const { bytes } of reply?.chunks ?? []) expect(bytes).toBeUndefined()
  })()
  await expect(reading).rejects.toThrow('the client has left')
})
