/** LMDB: a process that is stopped during its commit does not let the commits of others wait without an end. */
import { expect, it } from 'vitest'
import { EntryChecks } from '../../src/store/lmdb/entry-checks.ts'
import { openGroupCommit } from '../../src/store/lmdb/group-commit.ts'
import { openEnvironment } from '../../src/store/lmdb/open-environment.ts'
import { commitOf, put } from './bytes.ts'
import { startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'

/** A store, and another process that holds its write lock once `hold` resolves. */
async function besideHolder(limits: { readonly commitMsMax?: number; readonly closeMsMax?: number }) {
  const directory = await temporaryDirectory()
  const opened = await openEnvironment(directory, false)
  const group = openGroupCommit({ ...opened, location: directory, checks: new EntryChecks('checked'), ...limits })
  const child = startChild(new URL('./children/hold-writes.ts', import.meta.url), [directory])
  expect((await child.lines.next()).value).toBe('open')
  const hold = async (): Promise<void> => {
    child.process.stdin.write('\n')
    expect((await child.lines.next()).value).toBe('holds')
  }
  const kill = async (): Promise<void> => {
    child.process.kill('SIGKILL')
    await child.ended
  }
  return { directory, opened, group, hold, kill }
}

it('commits are refused and nothing of them is done, until the other continues or ends', async () => {
  const { directory, opened, group, hold, kill } = await besideHolder({ commitMsMax: 100 })
  expect(group.problem()).toBeUndefined()
  await hold()

  const sentence = `The storage of ${directory} cannot be written to at present: another process has been committing to it for 0.1 seconds:`
  const refused = { type: 'StoreUnavailable', message: expect.stringContaining(sentence) }
  const waiting = [group.commit(commitOf([put('first', '1')])), group.commit(commitOf([put('second', '1')]))]
  for (const commit of waiting) await expect(commit).rejects.toMatchObject(refused)
  await expect(group.commit(commitOf([put('third', '1')]))).rejects.toMatchObject(refused)
  expect(group.problem()).toMatchObject({ ...refused, isFatal: false })

  await kill()
  await expect.poll(() => group.problem()).toBeUndefined()
  expect(await group.commit(commitOf([put('fourth', '1')]))).toEqual({ isCommitted: true })
  expect(opened.environment.getStats().entryCount).toBe(1)
  await group.close()
  await opened.close()
})

it('closing ends too, with an error; the store is closed once the other continues or ends', async () => {
  const { directory, opened, group, hold, kill } = await besideHolder({ closeMsMax: 100 })
  await hold()

  const waiting = group.commit(commitOf([put('first', '1')]))
  const refused = {
    type: 'StoreUnavailable',
    message: expect.stringContaining(`The storage of ${directory} is still open: another process has been committing`),
  }
  const [commit, closing] = await Promise.allSettled([waiting, group.close()])
  expect(commit).toMatchObject({ status: 'rejected', reason: refused })
  expect(closing).toMatchObject({ status: 'rejected', reason: refused })

  await kill()
  await group.idle()
  expect(opened.environment.getStats().entryCount).toBe(0)
  await opened.close()
})
