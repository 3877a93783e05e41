/** Removes receipts whose time is over, in the background: a few in each commit, by ranges, however many there are. */
import { isOutOfReach } from '../errors.ts'
import type { Change, Entry, Expectation, Store } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { decodeReceipt, endedRange, minuteOf, readEndKey, receiptGroups } from './receipt-entry.ts'

/** Of one group, in one commit. */
const removedMax = 64

/** Returns how many entries have been looked at: fewer than there were when others remove them at the same time. */
export async function removeEndedReceipts(store: Store, now: number, signal: AbortSignal): Promise<number> {
  let removed = 0
  for (;;) {
    const groups = await readEnded(store, minuteOf(now))
    const commits = await Promise.all(groups.filter(({ length }) => length > 0).map((group) => remove(store, group)))
    removed += commits.reduce((sum, count) => sum + count, 0)
    if (signal.aborted || !groups.some(({ length }) => length === removedMax)) return removed
  }
}

interface Ended {
  readonly entry: Entry
  /** The receipt as it is stored; absent where it is gone or has been replaced by one that ends later. */
  readonly receipt: Entry | undefined
}

function readEnded(store: Store, minute: number): Promise<Ended[][]> {
  const read = async (snapshot: Parameters<Parameters<typeof withSnapshot>[1]>[0]): Promise<Ended[][]> => {
    const groups = Array.from({ length: receiptGroups }, (_, group) => ({
      ...endedRange(group, minute),
      limit: removedMax,
    }))
    const { ranges } = await snapshot.read([], groups)
    const targets = ranges.flat().map(({ key }) => readEndKey(key))
    const { values } = await snapshot.read(targets.flatMap((target) => target?.key ?? []))
    let at = 0
    return ranges.map((range) =>
      range.map((entry) => {
        const target = targets[at]
        const value = values[at++]
        const isSame = value !== undefined && decodeReceipt(value).endMinute === target?.endMinute
        return { entry, receipt: isSame && target !== undefined ? { key: target.key, value } : undefined }
      }),
    )
  }
  return Promise.resolve(withSnapshot(store, read))
}

/** Where another process removes the same, or a request has replaced one, nothing is done: the next time finds what is left. */
async function remove(store: Store, ended: readonly Ended[]): Promise<number> {
  const changes = ended.flatMap(({ entry, receipt }): Change[] => [
    { kind: 'delete', key: entry.key },
    ...(receipt === undefined ? [] : [{ kind: 'delete', key: receipt.key } as const]),
  ])
  const expectations = ended.flatMap(({ receipt }): Expectation[] => {
    return receipt === undefined ? [] : [{ kind: 'revision', key: receipt.key, prefix: receipt.value }]
  })
  const { isCommitted } = await store.commit({ changes, expectations })
  return isCommitted ? ended.length : 0
}

/** Looks for ended receipts from time to time. */
export class ReceiptRemoval {
  private readonly store: Store
  private readonly intervalMs: number
  private readonly onFault: (error: unknown) => void
  private readonly stopping = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private removing: Promise<void> | undefined

  constructor(store: Store, intervalMs: number, onFault: (error: unknown) => void) {
    this.store = store
    this.intervalMs = intervalMs
    this.onFault = onFault
  }

  start(): void {
    this.timer = setInterval(() => this.removeOnce(), this.intervalMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    this.stopping.abort()
    await this.removing
  }

  private removeOnce(): void {
    this.removing ??= removeEndedReceipts(this.store, Date.now(), this.stopping.signal)
      .then(() => undefined)
      .catch((error: unknown) => {
        if (!isOutOfReach(error)) this.onFault(error)
      })
      .finally(() => {
        this.removing = undefined
      })
  }
}
