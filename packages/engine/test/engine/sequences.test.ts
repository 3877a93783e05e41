/** The numbers of sequences: drawn at the same time, restarted meanwhile, copied and restored. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { SequenceDefinition } from '../../src/schema/class-definition.ts'
import { sequenceMax, sequenceMin } from '../../src/schema/sequence-definition.ts'
import { NumbersLeft } from '../../src/sequences/sequences.ts'
import { copyStore } from '../../src/storage/copy-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { rowValues } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'

async function open(store: Store): Promise<FederatedDatabase> {
  return FederatedDatabase.open({ alias: 'test', store, changeLog: 'on' })
}

async function run(fd: FederatedDatabase, text: string): Promise<readonly unknown[]> {
  return rowValues(await fd.query({ text }))
}

const definition = (step: bigint): SequenceDefinition => {
  return { number: 1, name: 's', start: '1', step: String(step) } as SequenceDefinition
}

function entryOf(next: bigint): Buffer {
  const entry = Buffer.alloc(8)
  entry.writeBigInt64BE(next)
  return entry
}

describe('numbers that are left', () => {
  it('are given in their order, each once, up to the last', () => {
    const number = fc.bigInt({ min: sequenceMin, max: sequenceMax })
    const step = fc.oneof(fc.bigInt({ min: -9n, max: 9n }), number).filter((one) => one !== 0n)
    const near = fc.oneof(
      number,
      fc.bigInt({ min: 0n, max: 30n }).map((less) => sequenceMax - less),
    )
    const counts = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 12 })
    const given = (next: bigint, by: bigint, asked: readonly number[]): void => {
      let model: bigint | undefined = next
      let left = new NumbersLeft(definition(by), entryOf(next))
      for (const count of asked) {
        const wanted = Array.from({ length: count }, (_, i) => (model ?? 0n) + by * BigInt(i))
        const fits =
          count === 0 || (model !== undefined && wanted.every((one) => one >= sequenceMin && one <= sequenceMax))
        const numbers = left.take(count)
        expect(fits ? numbers : (numbers as Error).message).toEqual(
          fits ? wanted : expect.stringContaining('Sequence s has'),
        )
        if (fits && count > 0) {
          const after: bigint = (model as bigint) + by * BigInt(count)
          model = after >= sequenceMin && after <= sequenceMax ? after : undefined
        }
        // As the next process reads them.
        left = new NumbersLeft(definition(by), left.entry)
      }
    }
    fc.assert(fc.property(near, step, counts, given))
  })
})

describe('a sequence', () => {
  it('gives each number once to those who ask at the same time, while it is restarted further on', async () => {
    const fd = await open(await openStoreOfRun())
    await run(fd, 'CREATE SEQUENCE s')
    const drawn: number[] = []
    const caller = async (): Promise<void> => {
      for (let nth = 0; nth < 5; nth++) drawn.push(Number((await run(fd, "SHOW NEXT('s')"))[0]))
    }
    const restarting = async (): Promise<void> => {
      for (const n of [1_000, 2_000, 3_000]) await run(fd, `ALTER SEQUENCE s RESTART ${n}`)
    }
    await Promise.all([...Array.from({ length: 12 }, caller), restarting()])
    expect(new Set(drawn).size).toBe(60)
    expect((await run(fd, "SHOW NEXT('s')"))[0]).toBeGreaterThanOrEqual(3_000)
    await fd.close()
  })

  it('that is dropped meanwhile gives no more, and one of its name begins anew', async () => {
    const fd = await open(await openStoreOfRun())
    await run(fd, "CREATE SEQUENCE s; SHOW NEXT('s')")
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 6 }, () => run(fd, "SHOW NEXT('s')")),
      run(fd, 'DROP SEQUENCE s'),
    ])
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(String(outcome.reason)).toMatch(/[Tt]here is no sequence 's'/)
    }
    expect(await run(fd, "CREATE SEQUENCE s; SHOW NEXT('s')")).toEqual([1])
    expect((await fd.verify()).problems).toEqual([])
    await fd.close()
  })

  it('goes on in copies, and where its backup was restored with the log', async () => {
    const [store, directory] = [await openStoreOfRun(), await temporaryDirectory()]
    const fd = await open(store)
    await run(fd, "CREATE SEQUENCE a START 10; SHOW NEXT('a')")
    await fd.backUp(directory)
    await run(fd, "SHOW NEXT('a'); SHOW NEXT('a'); CREATE SEQUENCE b STEP -1; SHOW NEXT('b')")
    await run(fd, "SHOW NEXT('b')")
    await fd.backUp(directory, { isIncremental: true })
    const shown = await run(fd, 'SHOW SEQUENCES')
    const [copied, restored] = [await openMemoryStore(), await openMemoryStore()]
    await copyStore(store, copied)
    await restoreBackup(directory, restored, {})
    await fd.close()
    for (const other of [copied, restored]) {
      const again = await FederatedDatabase.open({ alias: 'again', store: other })
      expect(await run(again, 'SHOW SEQUENCES')).toEqual(shown)
      expect((await again.verify()).problems).toEqual([])
      await again.close()
    }
  })
})
