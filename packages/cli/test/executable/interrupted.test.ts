/** Ctrl-C amid a command that writes a store or a backup: it says how to go on, exits with 130, and goes on when it is run again. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { FederatedDatabase, openStore } from '@ashlar/engine'
import { expect, test } from 'vitest'
import { ashlar, start, temporaryDirectory } from '../../../server/test/executable/process.ts'

/** Some seconds of copying, on any machine. */
const objects = 60_000

async function storeWithMany(): Promise<string> {
  const directory = temporaryDirectory()
  const fd = await FederatedDatabase.open({ alias: 'many', store: await openStore(`lmdb:${join(directory, 'many')}`) })
  const attributes = [{ attributeName: 'text', logicalType: 'string' }]
  await fd.defineClasses([{ className: 'Note', isReferenceable: true, attributes }], 'create')
  const indexed = { name: 'byText', indexedClass: 'Note', isUnique: true, keyAttributes: [{ attributeName: 'text' }] }
  await fd.createIndex(indexed)
  for (let at = 0; at < objects; at += 5_000) {
    const part = Array.from({ length: 5_000 }, (_, i) => ({ class: 'Note', attributes: { text: `note ${at + i}` } }))
    await fd.createObjects(part)
  }
  await fd.close()
  return directory
}

/** Interrupted as soon as there is such a file. */
async function interrupted(words: readonly string[], directory: string, file: string) {
  const { child, ended } = start(words, {}, directory)
  const hasStarted = (): boolean => {
    const [folder = '', ending = ''] = file.split('/')
    return existsSync(join(directory, folder)) && readdirSync(join(directory, folder)).some((n) => n.endsWith(ending))
  }
  await expect.poll(hasStarted, { interval: 1 }).toBe(true)
  child.kill('SIGINT')
  return ended
}

test('copy, backup and restore', async () => {
  const directory = await storeWithMany()
  const copied = ['copy', 'lmdb:many', 'lmdb:copied']
  expect(await interrupted(copied, directory, 'copied/data.mdb')).toMatchObject({
    code: 130,
    stderr: 'ashlar: The copy was stopped; run the same command again to resume it.\n',
  })
  expect(await ashlar(copied, { directory })).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Copied /) })

  const backup = ['backup', 'lmdb:many', 'backups', '--quiet']
  expect(await interrupted(backup, directory, 'backups/backup.lock')).toMatchObject({
    code: 130,
    stderr: 'ashlar: The backup was stopped; nothing of it was kept.\n',
  })
  expect(readdirSync(join(directory, 'backups'))).toEqual(['backup.lock'])
  expect(await ashlar(backup, { directory })).toMatchObject({ code: 0 })

  const restored = ['restore', 'backups', 'lmdb:restored', '--quiet']
  expect(await interrupted(restored, directory, 'restored/data.mdb')).toMatchObject({
    code: 130,
    stderr: 'ashlar: The restore was stopped; run the same command again to resume it.\n',
  })
  expect(await ashlar(restored, { directory })).toMatchObject({ code: 0 })
  const { stdout } = await ashlar(['verify', 'lmdb:restored'], { directory })
  expect(stdout).toContain('Content: 60,000 objects, 0 link entries, 60,000 index entries.\nNo problem found.')
})

test('import and export', async () => {
  const directory = await storeWithMany()
  const { child, url: listening } = start(['serve', '--port', '0', '--fd', 'many=lmdb:many'], {}, directory)
  const url = ['--url', await listening]
  const exported = ['export', 'Note', ...url, '-o', 'notes.ndjson']
  const begun = start([...exported, '--quiet'], {}, directory)
  const written = (): number =>
    Math.max(
      0,
      ...readdirSync(directory).map((name) => (name.endsWith('.partial') ? statSync(join(directory, name)).size : 0)),
    )
  await expect.poll(written, { interval: 1, timeout: 20_000 }).toBeGreaterThan(0)
  begun.child.kill('SIGINT')
  expect(await begun.ended).toMatchObject({
    code: 130,
    stderr: 'ashlar: The export was stopped. notes.ndjson was not written; run the same command again.\n',
  })
  expect(readdirSync(directory).filter((name) => name.startsWith('notes'))).toEqual([])
  expect(await ashlar(exported, { directory })).toMatchObject({ code: 0 })

  const imported = ['import', 'notes.ndjson', ...url, '--class', 'Copied', '--quiet']
  const count = async (): Promise<number> => {
    const words = ['query', 'FROM Copied RETURN COUNT(*) AS n', '--json', ...url]
    const { code, stdout } = await ashlar(words, { directory })
    return code === 0 ? JSON.parse(stdout)[0].n : 0
  }
  const amid = start(imported, {}, directory)
  await expect.poll(count, { interval: 1, timeout: 20_000 }).toBeGreaterThan(0)
  amid.child.kill('SIGINT')
  const { code, stderr } = await amid.ended
  expect(code).toBe(130)
  // What was sent is answered before it ends.
  const skip = /^ashlar: Stopped\. [\d,]+ records are done: resume with --skip (\d+)\. The class Copied/.exec(
    stderr,
  )?.[1]
  expect(await count()).toBe(Number(skip))
  expect(await ashlar([...imported, '--skip', String(skip)], { directory })).toMatchObject({ code: 0 })
  expect(await count()).toBe(objects)
  child.kill('SIGTERM')
})
