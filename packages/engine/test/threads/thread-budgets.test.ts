/** What a statement thread takes from the budgets of the process: it waits for the main thread's answer. */
import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { sentError } from '../../src/threads/messages.ts'
import { answerFlag, newSharedCells } from '../../src/threads/shared-cells.ts'
import { Budgets } from '../../src/threads/thread-budgets.ts'

/** Wakes the thread that waits twice, without having answered, and then refuses. */
const mainThread = `
  const { parentPort, workerData: { port, flags, flag, refusal } } = require('node:worker_threads')
  port.once('message', () => {
    for (let wakes = 0; wakes < 2; wakes++) while (Atomics.notify(flags, flag) === 0);
    port.postMessage(refusal)
    Atomics.add(flags, flag, 1)
    Atomics.notify(flags, flag)
  })
  parentPort.postMessage('ready')
`

it('a late notification of the answer before is no answer', async () => {
  const { flags, progress } = newSharedCells()
  const { port1, port2 } = new MessageChannel()
  const refusal = sentError(new AshlarError('LimitExceeded', 'There is no more memory.'))
  const workerData = { port: port1, flags, flag: answerFlag, refusal }
  const worker = new Worker(mainThread, { eval: true, workerData, transferList: [port1] })
  try {
    await once(worker, 'message')
    const budgets = new Budgets(port2, { flags, progress })
    expect(() => budgets.take('memory', 1, 1)).toThrow('There is no more memory.')
  } finally {
    await worker.terminate()
    port2.close()
  }
})
