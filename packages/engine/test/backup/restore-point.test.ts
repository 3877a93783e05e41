/** Checks of a directory of backups, and which moments can be restored from it exactly. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { checkBackups } from '../../src/backup/check-backups.ts'
import { planRestore, restoreBackup } from '../../src/backup/restore-backup.ts'
import { backUpStore } from '../../src/backup/write-backup.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { classOf } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'

async function begun(store: Store): Promise<FederatedDatabase> {
  const fd = await FederatedDatabase.open({ alias: 'test', store, changeLog: 'on' })
  await fd.defineClasses([classOf('Model', { name: 'string' })], 'create')
  return fd
}

/** Names of the models that a restore up to then leads to. */
async function namesUntil(directory: string, until: string): Promise<readonly unknown[]> {
  const store = await openMemoryStore()
  await restoreBackup(directory, store, { until })
  const fd = await FederatedDatabase.open({ alias: 'restored', store })
  const rows = await rowValues(await fd.query({ text: 'FROM Model ORDER BY name RETURN name' }))
  await fd.close()
  return rows.map((row) => (row as { readonly name: unknown }).name)
}

async function problemsIn(directory: string): Promise<readonly string[]> {
  return (await checkBackups(directory)).problems
}

describe('a check of a directory', () => {
  const damage = (path: string): void => {
    const bytes = readFileSync(path)
    bytes[bytes.length - 3] = (bytes[bytes.length - 3] as number) ^ 1
    writeFileSync(path, bytes)
  }

  it('names what is damaged in every chain, and what can still be restored', async () => {
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    const names: string[] = []
    for (const isIncremental of [false, true, true, false, true]) {
      await fd.createObject('Model', { name: 'a' })
      names.push((await fd.backUp(directory, { isIncremental })).backup.name)
    }
    const [first, second, third, fourth, fifth] = names as [string, string, string, string, string]
    const chains = async (): Promise<unknown> => (await checkBackups(directory)).restorable.map(({ chain }) => chain)
    expect(await problemsIn(directory)).toEqual([])
    expect(await chains()).toEqual([
      [first, second, third],
      [fourth, fifth],
    ])
    const path = (name: string, suffix = 'entries'): string => join(directory, `${name}.${suffix}`)
    damage(path(second))
    expect(await problemsIn(directory)).toEqual([expect.stringContaining(`${path(second)} is damaged: `)])
    expect(await chains()).toEqual([[first], [fourth, fifth]])
    rmSync(path(fourth))
    const missing = `The file ${path(fourth)} of a backup is not there, though its manifest is.`
    expect(await problemsIn(directory)).toEqual([expect.stringContaining(path(second)), missing])
    expect(await chains()).toEqual([[first]])
    await expect(restoreBackup(directory, await openMemoryStore())).rejects.toThrow(missing)
    // Of a lost manifest, the one that goes on from it tells.
    rmSync(path(first, 'json'))
    const { problems, withoutManifest } = await checkBackups(directory)
    expect(problems[0]).toBe(`The backup ${second} goes on from ${first}, which is not there.`)
    expect(withoutManifest).toEqual([`${first}.entries`])
    await fd.close()
  })

  it('reads what would be restored, of a single file or up to a time', async () => {
    const [fd, directory] = [await begun(await openMemoryStore()), await temporaryDirectory()]
    const [first, second] = [(await fd.backUp(directory)).backup, (await fd.backUp(directory)).backup]
    damage(join(directory, `${first.name}.entries`))
    const alone = await checkBackups(join(directory, `${second.name}.entries`))
    expect([alone.problems, alone.backups.map(({ name }) => name)]).toEqual([[], [second.name]])
    expect((await checkBackups(join(directory, `${first.name}.json`))).problems).toHaveLength(1)
    await expect(checkBackups(await temporaryDirectory())).rejects.toThrow('There is no backup in ')
    await fd.close()
  })
})

describe('a restore to a time', () => {
  /** A store on which more happens between the moment that a backup is named after and its snapshot. */
  const meddled = (store: Store, meanwhile: () => Promise<unknown>): Store => {
    let isDone = false
    return {
      ...store,
      async snapshot(options) {
        if (options?.isLong === true && !isDone) {
          isDone = true
          await new Promise((resolve) => setTimeout(resolve, 5))
          await meanwhile()
        }
        return store.snapshot(options)
      },
    }
  }

  it('holds nothing later where a full backup has later commits than its own time', async () => {
    const [store, directory] = [await openMemoryStore(), await temporaryDirectory()]
    const fd = await begun(store)
    await fd.backUp(directory)
    await fd.createObject('Model', { name: 'before' })
    await fd.backUp(directory, { isIncremental: true })
    const { backup } = await backUpStore(
      meddled(store, () => fd.createObject('Model', { name: 'meanwhile' })),
      directory,
    )
    expect(backup.newestCommitAt).toSatisfy((at: string) => at > backup.at)
    await fd.createObject('Model', { name: 'after' })
    await fd.backUp(directory, { isIncremental: true })
    // The earlier ones may reach so far, or it is not known whether they do; but never is it the later one.
    const names = await namesUntil(directory, backup.at).catch((error: Error) => error.message)
    if (typeof names === 'string') expect(names).toContain('The backups reach to ')
    else expect(names).toEqual(['before'])
    expect(await namesUntil(directory, backup.newestCommitAt as string)).toEqual(['before', 'meanwhile'])
    await fd.close()
  })

  it('has what was committed up to then where the next backup has it, not the one of that time', async () => {
    const [store, directory] = [await openMemoryStore(), await temporaryDirectory()]
    const fd = await begun(store)
    await fd.backUp(directory)
    await fd.createObject('Model', { name: 'a' })
    const { backup } = await fd.backUp(directory, { isIncremental: true })
    // Handed to the store before the backup began, and committed after it.
    vi.useFakeTimers({ now: Date.parse(backup.at), toFake: ['Date'] })
    await fd.createObject('Model', { name: 'under way' })
    vi.useRealTimers()
    await expect(planRestore(directory, backup.at)).rejects.toThrow('The backups reach to ')
    await new Promise((resolve) => setTimeout(resolve, 5))
    await fd.createObject('Model', { name: 'after' })
    await fd.backUp(directory, { isIncremental: true })
    expect(await namesUntil(directory, backup.at)).toEqual(['a', 'under way'])
    await fd.close()
  })

  it('is possible at any time that the check names, and at no other', async () => {
    const [store, directory] = [await openMemoryStore(), await temporaryDirectory()]
    const fd = await begun(store)
    await fd.createObject('Model', { name: 'a' })
    await fd.backUp(directory)
    await new Promise((resolve) => setTimeout(resolve, 20))
    await fd.createObject('Model', { name: 'b' })
    await fd.backUp(directory, { isIncremental: true })
    const [{ times } = {}] = (await checkBackups(directory)).restorable
    const { from, to } = times as NonNullable<typeof times>
    for (const until of [from, to]) await planRestore(directory, until)
    const shifted = (at: string, ms: number): string => new Date(Date.parse(at) + ms).toISOString()
    await expect(planRestore(directory, shifted(from, -1))).rejects.toThrow('after --until')
    await expect(planRestore(directory, shifted(to, 1))).rejects.toThrow('The backups reach to ')
    await fd.close()
  })
})
