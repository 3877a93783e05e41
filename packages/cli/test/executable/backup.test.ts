/** `ashlar backup` and `ashlar restore`: the drill of the documents, bad input, and kills at random moments of both. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { checkStore, copyStore, FederatedDatabase, listBackups, openStore } from '@ashlar/engine'
import { describe, expect, inject, it } from 'vitest'
import { rule } from '../../../server/test/contract/rule.ts'
import { ashlar, temporaryDirectory } from '../../../server/test/executable/process.ts'

const kills = Math.max(3, Math.ceil(10 * Number(process.env.ASHLAR_RUNS ?? 1)))

const drill = readFileSync(new URL('../../../../docs/backup.md', import.meta.url), 'utf8')

async function withPorts(
  count: number,
  use: (directory: string, fd: FederatedDatabase) => Promise<void>,
): Promise<void> {
  const directory = temporaryDirectory()
  const store = await openStore(`lmdb:${join(directory, 'data', 'default')}`)
  const fd = await FederatedDatabase.open({ alias: 'default', store, changeLog: 'on' })
  const attributes = [{ attributeName: 'name', logicalType: 'string' }]
  await fd.defineClasses([{ className: 'Port', isReferenceable: true, attributes }], 'create')
  await fd.createIndex({
    name: 'byName',
    indexedClass: 'Port',
    isUnique: true,
    keyAttributes: [{ attributeName: 'name' }],
  })
  await fd.createObjects(
    Array.from({ length: count }, (_, i) => ({ class: 'Port', attributes: { name: `port ${i}` } })),
  )
  try {
    await use(directory, fd)
  } finally {
    await fd.close()
  }
}

async function objectsIn(address: string): Promise<number | undefined> {
  const { content, problems } = await checkStore(address)
  expect(problems).toEqual([])
  return content?.objects
}

describe('ashlar backup and ashlar restore', () => {
  rule(
    '8.1.21',
    'the drill of the documents leads to a store with the same content, while the original is served',
    () =>
      withPorts(1_000, async (directory) => {
        const commands = /```sh\n# drill\n(.*?)```/s.exec(drill)?.[1]?.trim().split('\n') ?? []
        expect(commands.length).toBe(4)
        for (const command of commands) {
          const ended = await ashlar(command.split(' ').slice(1), { directory })
          expect(ended).toMatchObject({ code: 0, stderr: '' })
        }
        expect(await objectsIn(`lmdb:${join(directory, 'drill')}`)).toBe(1_000)
      }),
  )

  rule('8.1.21', 'incremental backups lead to any moment since the full one', () =>
    withPorts(10, async (directory, fd) => {
      const run = (...words: string[]) => ashlar(words, { directory })
      const refused = await run('backup', 'lmdb:data/default', 'backups', '--incremental')
      expect(refused.code).toBe(5)
      expect(refused.stderr).toContain('holds no full backup to go on from; make one first.')
      expect((await run('backup', 'lmdb:data/default', 'backups')).stdout).toMatch(
        /^Backup .*-full: 10 objects, .*verified\.\n$/,
      )
      await fd.createObject('Port', { name: 'Valparaiso' })
      const until = (await fd.changes.page({ since: 'now', include: 'keys', limit: 1 })).position
      await fd.createObject('Port', { name: 'Callao' })
      const made = await run('backup', 'lmdb:data/default', 'backups', '--incremental', '--keep', '7d')
      expect(made.stdout).toMatch(/^Backup .*-incremental: 2 commits, .* bytes, verified\.\n$/)
      const restored = await run('restore', 'backups', 'lmdb:restored', '--until', until, '--json')
      expect(JSON.parse(restored.stdout)).toMatchObject({ commits: 1, position: until, isResumed: false })
      expect(await objectsIn(`lmdb:${join(directory, 'restored')}`)).toBe(11)
      const told = await run('restore', 'backups', 'lmdb:told', '--until', until)
      expect(told.stdout).toContain(`, then 1 commit, up to ${until}.`)
      const again = await run('restore', 'backups', 'lmdb:restored')
      expect(again).toMatchObject({ code: 5, stderr: expect.stringContaining('is not empty; name an empty store.\n') })
      expect((await run('restore', 'backups', 'lmdb:all')).code).toBe(0)
      expect(await objectsIn(`lmdb:${join(directory, 'all')}`)).toBe(12)
    }),
  )

  rule('8.1.21', 'a check reads all of the directory, names what is damaged, and ends with exit code 7', () =>
    withPorts(3, async (directory) => {
      const run = (...words: string[]) => ashlar(words, { directory })
      for (let nth = 0; nth < 2; nth++) await run('backup', 'lmdb:data/default', 'backups')
      const [earlier, latest] = (await listBackups(join(directory, 'backups'))).all.map(({ name }) => name)
      const whole = await run('restore', 'backups', '--check')
      expect(whole).toMatchObject({ code: 0, stdout: expect.stringMatching(/\nAll backups are intact\.\n$/) })
      for (const name of [earlier, latest]) expect(whole.stdout).toContain(`\nCan be restored: ${name}`)
      const path = join(directory, 'backups', `${earlier}.entries`)
      writeFileSync(path, readFileSync(path).subarray(1))
      const cut = await run('restore', 'backups', '--check')
      expect(cut).toMatchObject({ code: 7, stderr: expect.stringContaining(`${path} has `) })
      expect(cut.stdout).toContain(`\nCan be restored: ${latest}`)
      expect(cut.stdout).not.toMatch(new RegExp(`Can be restored: ${earlier}|intact`))
      const inJson = JSON.parse((await run('restore', 'backups', '--check', '--json')).stdout)
      expect(inJson).toMatchObject({ problems: [expect.stringContaining(path)], restorable: [{ chain: [latest] }] })
      rmSync(path)
      const sentence = `The file ${path} of a backup is not there, though its manifest is.`
      const gone = await run('restore', 'backups', '--check')
      expect(gone).toMatchObject({ code: 7, stderr: expect.stringContaining(sentence) })
      const alone = await run('restore', `backups/${earlier}.json`, 'lmdb:restored')
      expect(alone).toMatchObject({ code: 7, stderr: expect.stringContaining(sentence) })
      // What would be restored of the latest is whole.
      expect((await run('restore', `backups/${latest}.json`, '--check')).code).toBe(0)
    }),
  )

  rule('8.1.21', 'bad input is told in a sentence, and nothing is made', () =>
    withPorts(1, async (directory) => {
      writeFileSync(join(directory, 'file'), '')
      mkdirSync(join(directory, 'empty'))
      const refusals: readonly [readonly string[], number, string][] = [
        [['backup'], 2, "Missing required argument 'store'."],
        [['backup', 'lmdb:data/default'], 2, "Missing required argument 'path'."],
        [['backup', 'lmdb:nowhere', 'made'], 2, 'there is no such directory; check the address'],
        [['backup', 'default', 'made'], 2, 'is not a store address'],
        [['backup', 'lmdb:data/default', 'file/made'], 2, 'is a file and has to be a directory'],
        [['backup', 'lmdb:data/default', 'made', '--keep', 'a week'], 2, 'is a time such as 7d'],
        [['restore', 'empty'], 2, "Missing required argument 'store' (not needed with --check)."],
        [['restore', 'empty', 'lmdb:made'], 2, 'There is no backup in '],
        [['restore', 'nowhere', '--check'], 2, 'There is no directory '],
        [['restore', 'empty', 'lmdb:made', '--until', 'noon'], 2, 'It is a time with its zone'],
        [['restore', 'one.json', 'lmdb:made'], 2, 'There is no backup one in '],
      ]
      for (const [words, code, sentence] of refusals) {
        const ended = await ashlar(words, { directory })
        expect([words, ended.code, ended.stderr.split('\n').length]).toEqual([words, code, 2])
        expect(ended.stderr).toContain(sentence)
      }
      expect(readdirSync(directory).sort()).toEqual(['data', 'empty', 'file'])
    }),
  )

  it('killed at any moment, they leave whole backups, and a store that is not opened before the restore is done', () =>
    withPorts(30_000, async (directory, fd) => {
      const path = join(directory, 'backups')
      await fd.backUp(path)
      const whole = async (): Promise<number> => {
        const { all, damaged } = await listBackups(path)
        expect(damaged).toEqual([])
        return all.length
      }
      for (let nth = 0; nth < kills; nth++) {
        await killedAfter(400 + (800 * nth) / kills, ['backup', 'lmdb:data/default', 'backups'], directory)
        expect(await whole()).toBeGreaterThan(0)
      }
      const before = await whole()
      expect((await ashlar(['backup', 'lmdb:data/default', 'backups'], { directory })).code).toBe(0)
      expect(await whole()).toBe(before + 1)
      // Lock, and two files each.
      expect(readdirSync(path).length).toBe(1 + 2 * (before + 1))
      const address = `lmdb:${join(directory, 'restored')}`
      for (let nth = 0; nth < kills; nth++) {
        await killedAfter(400 + (1_200 * nth) / kills, ['restore', 'backups', 'lmdb:restored'], directory)
        if (!existsSync(join(directory, 'restored', 'data.mdb'))) continue
        const store = await openStore(address)
        const copied = copyStore(store, await openStore('memory:'))
        const outcome = await copied.then(
          () => 'whole',
          ({ message }: Error) => (/is not finished|holds nothing/.test(message) ? 'unfinished' : message),
        )
        await store.close()
        expect(['whole', 'unfinished']).toContain(outcome)
        if (outcome === 'whole') break
      }
      const last = await ashlar(['restore', 'backups', 'lmdb:restored'], { directory })
      expect(`${last.stdout}${last.stderr}`).toMatch(/^Restored |is not empty/)
      expect(await objectsIn(address)).toBe(30_000)
    }))
})

/** What it starts is killed with it: the process that has the store open is a child of it. */
async function killedAfter(ms: number, words: readonly string[], directory: string): Promise<void> {
  const child = spawn(process.execPath, [inject('server'), ...words], {
    cwd: directory,
    stdio: 'ignore',
    detached: true,
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  await Promise.race([delay(ms), ended])
  if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGKILL')
  await ended
}
