/** Writes the new file of a compaction: a separate store with full pages in key order. */
import { chmodSync, chownSync, rmSync, type Stats, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from '../../errors.ts'
import type { Entry } from '../store.ts'
import { writeTail } from './appended-tail.ts'
import { EntryChecks } from './entry-checks.ts'
import { borrowedWithChecksum } from './entry-checksum.ts'
import { openLmdb, syncFile } from './environment.ts'
import { processDirectory } from './live-processes.ts'
import type { Environment } from './lmdb-js.ts'
import { makeDirectoryLikeParent, makeFile } from './owned-files.ts'
import { LmdbSnapshot } from './snapshot.ts'
import { storageFailure } from './storage-failure.ts'
import { writeTransaction } from './write-under-way.ts'

const batchEntries = 5_000
const batchBytes = 8_388_608

export class CompactedCopy {
  private readonly directory: string
  private readonly environment: Environment
  private readonly signal: AbortSignal
  private isOpen = true

  private constructor(directory: string, environment: Environment, signal: AbortSignal) {
    this.directory = directory
    this.environment = environment
    this.signal = signal
  }

  /**
   * Deletes the contents of the directory. `lockBytes`: size of the store's lock table, which is allocated first: LMDB maps it, and a full disk would
   * kill this process, and later those that open the compacted file. Throws the reason of the signal between transactions.
   */
  static async begin(directory: string, lockBytes: number, signal: AbortSignal): Promise<CompactedCopy> {
    rmSync(directory, { recursive: true, force: true })
    makeDirectoryLikeParent(directory)
    makeDirectoryLikeParent(processDirectory(directory))
    for (const name of ['lock.mdb', 'data.mdb']) makeFile(join(directory, name))
    writeFileSync(join(directory, 'lock.mdb'), Buffer.alloc(lockBytes))
    return new CompactedCopy(directory, (await openLmdb(directory)).environment, signal)
  }

  /** Into an empty copy. `onProgress` receives the number of entries copied. Throws DataCorruption if an entry is damaged. */
  async copy(snapshot: LmdbSnapshot, onProgress?: (entries: number) => void): Promise<void> {
    let done = 0
    let batch: { readonly key: Buffer; readonly value: Buffer }[] = []
    let bytes = 0
    const write = async (): Promise<void> => {
      this.signal.throwIfAborted()
      await this.transaction(() => {
        for (const { key, value } of batch)
          this.environment.put(key, borrowedWithChecksum(key, value), { append: true })
      })
      done += batch.length
      onProgress?.(done)
      batch = []
      bytes = 0
    }
    for await (const entries of snapshot.scan({}, (key, value) => ({
      key: Buffer.from(key),
      value: Buffer.from(value),
    }))) {
      for (const entry of entries) {
        batch.push(entry)
        bytes += entry.value.length
      }
      if (batch.length >= batchEntries || bytes >= batchBytes) await write()
    }
    await write()
  }

  /**
   * Copies the current state of these keys from the snapshot, until there are no more or `msMax` have passed; then it returns false. The changes are
   * durable when it returns.
   */
  async follow(keys: Iterator<Buffer>, snapshot: LmdbSnapshot, msMax = Number.POSITIVE_INFINITY): Promise<boolean> {
    const end = performance.now() + msMax
    for (;;) {
      this.signal.throwIfAborted()
      const isDone = await this.transaction(() => this.followSome(keys, snapshot, end))
      if (isDone) return true
      if (performance.now() >= end) return false
    }
  }

  private followSome(keys: Iterator<Buffer>, snapshot: LmdbSnapshot, end: number): boolean {
    let bytes = 0
    for (let count = 0; count < batchEntries && bytes < batchBytes && performance.now() < end; count++) {
      const { value: key, done } = keys.next()
      if (done === true) return true
      const isThere = snapshot.view(key, (value) => {
        bytes += value.length
        this.environment.put(key, borrowedWithChecksum(key, value))
        return true
      })
      if (isThere !== true) this.environment.remove(key)
    }
    return false
  }

  /** Writes the tail, which is not part of the tree, of the state that was copied last. */
  async putTail(tail: Entry | undefined): Promise<void> {
    if (tail !== undefined) await this.transaction(() => writeTail(this.environment, tail.key, tail.value))
  }

  /** The number of entries in the tree. */
  entryCount(): number {
    const snapshot = this.snapshot(true)
    snapshot.release()
    return snapshot.entryCount as number
  }

  /** Rereads all entries and compares them with the snapshot. A difference fails an assertion. `onProgress`: as for `copy`. */
  async compare(snapshot: LmdbSnapshot, onProgress?: (entries: number) => void): Promise<void> {
    let done = 0
    const thisSnapshot = this.snapshot(false)
    const copied = (key: Uint8Array, value: Uint8Array) => ({ key: Buffer.from(key), value: Buffer.from(value) })
    const batches = thisSnapshot.scan({}, copied)[Symbol.asyncIterator]()
    let batch: { readonly key: Buffer; readonly value: Buffer }[] = []
    let at = 0
    try {
      for await (const entries of snapshot.scan({}, copied)) {
        this.signal.throwIfAborted()
        for (const { key, value } of entries) {
          if (at === batch.length) {
            batch = (await batches.next()).value ?? []
            at = 0
          }
          const found = batch[at++]
          assert(
            found?.key.equals(key) === true && found.value.equals(value),
            'a compacted file holds what the store holds',
          )
        }
        done += entries.length
        onProgress?.(done)
      }
      assert(at === batch.length && (await batches.next()).done === true, 'a compacted file holds nothing else')
    } finally {
      thisSnapshot.release()
    }
  }

  /** Makes the file durable, closes it, and gives it the owner and permissions of the file it replaces. */
  async finish({ uid, gid, mode }: Stats): Promise<void> {
    await this.close()
    const [data, lock] = ['data.mdb', 'lock.mdb'].map((name) => join(this.directory, name)) as [string, string]
    for (const path of [data, lock]) {
      if (process.geteuid?.() === 0) chownSync(path, uid, gid)
      chmodSync(path, mode & 0o7777)
    }
    syncFile(data)
  }

  /** Closes the copy and deletes its remains. */
  async discard(): Promise<void> {
    await this.close()
    rmSync(this.directory, { recursive: true, force: true })
  }

  private async transaction<T>(action: () => T): Promise<T> {
    try {
      return await writeTransaction(this.environment, action)
    } catch (error) {
      throw (await storageFailure(error, this.environment, 'the compacted file')).undone
    }
  }

  private async close(): Promise<void> {
    if (this.isOpen) await this.environment.close()
    this.isOpen = false
  }

  private snapshot(isCounted: boolean): LmdbSnapshot {
    return new LmdbSnapshot(this.environment, new EntryChecks('checked'), () => undefined, { isCounted })
  }
}
