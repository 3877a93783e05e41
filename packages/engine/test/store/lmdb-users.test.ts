/** LMDB: what a process of another user, or a full disk, leaves or lacks does not keep a store from being opened. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import type { Store } from '../../src/store/store.ts'
import { commitChanges, put } from './bytes.ts'
import { type Child, startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const isRoot = process.getuid?.() === 0
const isWindows = process.platform === 'win32'
/** Any but root. */
const service = 65_534
const serviceArgument = isRoot ? String(service) : ''

const openAs = new URL('./children/open-as.ts', import.meta.url)

async function line(child: Child): Promise<string> {
  const { value, done } = await child.lines.next()
  if (done === true) throw new Error(`The child ended: ${JSON.stringify(await child.ended)}`)
  return value
}

/** Where this process is root's, it belongs to another user. */
async function serviceDirectory(): Promise<string> {
  const directory = await temporaryDirectory()
  if (isRoot) chownSync(directory, service, service)
  return directory
}

async function openedHere(directory: string): Promise<Store> {
  const store = await openLmdbStore(directory)
  onTestFinished(() => store.close())
  return store
}

/** The number of a process that has ended. */
async function endedPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'])
  await once(child, 'close')
  return child.pid!
}

/** Below a private folder root's checkout, and so what the child runs, is closed to everybody else. */
function mayBeReadByOthers(): boolean {
  const look = ['-e', 'require("fs").readFileSync(process.argv[1])', fileURLToPath(openAs)]
  return spawnSync(process.execPath, look, { uid: service, gid: service }).status === 0
}

const isPrivate = isRoot && !mayBeReadByOthers()

// Skipped as root where other users cannot read the checkout.
describe.skipIf(isWindows || isPrivate)('lmdb: a store that another user has used', () => {
  it.skipIf(!isRoot)(
    'as root: all that was made belongs to the user of the directory (skipped unless root)',
    async () => {
      const directory = await serviceDirectory()
      const store = await openedHere(directory)
      const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
      expect(files).toHaveLength(8)
      for (const file of files)
        expect(statSync(join(directory, file)), file).toMatchObject({ uid: service, gid: service })
      await commitChanges(store, put('first', '1'))
      // While root goes on, and after root was killed, whose files stay.
      const child = startChild(openAs, [directory, serviceArgument])
      expect(await line(child)).toBe('1')
      await store.close()
    },
  )

  it.each([0o444, 0o000])('and who was killed there: its file may not be written to (mode %o)', async (mode) => {
    const directory = await serviceDirectory()
    const processes = join(directory, 'processes')
    const store = await openLmdbStore(directory)
    const own = readdirSync(processes).find((name) => name.startsWith(String(process.pid)))!
    await store.close()
    const left = own.replace(String(process.pid), String(await endedPid()))
    writeFileSync(join(processes, left), '')
    chmodSync(join(processes, left), mode)
    const child = startChild(openAs, [directory, serviceArgument])
    expect(await line(child)).toBe('0')
    const names = readdirSync(processes)
    expect(names).not.toContain(left)
    expect(names).toHaveLength(5)
  })

  it.each(['processes/gate', 'lock.mdb'])('is told, with the remedy, where nothing helps: %s', async (name) => {
    const directory = await serviceDirectory()
    await (await openLmdbStore(directory)).close()
    rmSync(join(directory, name))
    writeFileSync(join(directory, name), '', { mode: 0o400 })
    const told = await line(startChild(openAs, [directory, serviceArgument]))
    expect(told).toContain(join(directory, name))
    expect(told).toContain(`; the user who runs the server has to own ${directory} and all in it (chown -R`)
  })

  it('of a group that may write to the directory: the group may write to all in it', async () => {
    const directory = await temporaryDirectory()
    chmodSync(directory, 0o770)
    await openedHere(directory)
    const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    for (const file of files) expect(statSync(join(directory, file)).mode & 0o060, file).toBe(0o060)
  })

  const inUserNamespace = 'exec unshare --user --map-root-user "$@"'
  const canUnshare = spawnSync('bash', ['-c', `set -- true; ${inUserNamespace}`]).status === 0

  it.skipIf(!isRoot || !canUnshare)(
    'is opened by a root who may not give files away (skipped unless root)',
    async () => {
      const directory = await serviceDirectory()
      chmodSync(directory, 0o777)
      const child = startChild(openAs, [directory], inUserNamespace)
      expect(await line(child)).toBe('0')
    },
  )

  it('is opened by root without following a link', async () => {
    const directory = await temporaryDirectory()
    mkdirSync(join(directory, 'processes'))
    const aim = join(directory, 'aim')
    symlinkSync(aim, join(directory, 'processes', 'gate'))
    await expect(openLmdbStore(directory)).rejects.toThrow(
      'gate is, or leads through, a symbolic link that is not followed',
    )
    expect(existsSync(aim)).toBe(false)
  })
})

describe.skipIf(isWindows)('lmdb: whoever else uses the machine', () => {
  const modeOf = (path: string): number => statSync(path).mode & 0o7777

  it('can read nothing of a new store, nor of the directories that were made for it, nor of a backup', async () => {
    const above = join(await temporaryDirectory(), 'new')
    const directory = join(above, 'store')
    const store = await openedHere(directory)
    await commitChanges(store, put('first', '1'))
    const backup = await temporaryDirectory()
    chmodSync(backup, 0o755)
    await store.backup?.(backup)
    const all = [directory, backup].flatMap((path) =>
      readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name)),
    )
    expect(all.length).toBeGreaterThan(8)
    for (const path of [above, directory, ...all])
      expect([path, modeOf(path)]).toEqual([path, statSync(path).isDirectory() ? 0o700 : 0o600])
  })

  it('and can read one of before: the operator is told at the opening, with the remedy', async () => {
    // Beside the folder of the run, which is closed to others.
    const directory = mkdtempSync(join(dirname(tmpdir()), 'ashlar-open-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    await (await openLmdbStore(directory)).close()
    const told: string[] = []
    const open = async (): Promise<string[]> => {
      const store = await openLmdbStore(directory, { warn: (message) => told.push(message) })
      await store.close()
      return told.splice(0)
    }
    chmodSync(directory, 0o755)
    expect(await open()).toEqual([])
    chmodSync(join(directory, 'data.mdb'), 0o644)
    expect(await open()).toEqual([
      `Other users of this machine can read the store in ${directory}; to close it to them, run: chmod -R go= ${directory}`,
    ])
    chmodSync(directory, 0o770)
    expect(await open()).toEqual([])
    chmodSync(directory, 0o775)
    expect(await open()).toEqual([expect.stringMatching(/ run: chmod -R o= /)])
    spawnSync('chmod', ['-R', 'o=', directory])
    expect(await open()).toEqual([])
  })
})

describe.skipIf(isWindows)('lmdb: a full disk', () => {
  it('keeps nobody from opening a store, and from reading it', async () => {
    const directory = await temporaryDirectory()
    const store = await openedHere(directory)
    await commitChanges(store, put('first', '1'))
    // No file takes a byte more.
    for (const how of ['read', 'write']) {
      const child = startChild(openAs, [directory, '', how], `trap '' XFSZ; ulimit -f 0`)
      expect(await line(child)).toBe('1')
      child.process.stdin.end()
      expect(await child.ended).toMatchObject({ code: 0 })
    }
  })
})
