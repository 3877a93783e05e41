/** LMDB: whatever stands in place of a store's directory or files is told in one sentence that names it and says what to do. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { checkStore } from '../../src/verify/check-store.ts'
import { startChild } from './children/child.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const openAs = new URL('./children/open-as.ts', import.meta.url)
const isRoot = process.getuid?.() === 0
const isWindows = process.platform === 'win32'

async function closedStore(): Promise<string> {
  const directory = await temporaryDirectory()
  await (await openLmdbStore(directory)).close()
  return directory
}

type Use = 'copied' | 'verified' | 'served'

/** What each way to use a store says of it; those that only read come first. */
async function refusals(directory: string): Promise<readonly (readonly [Use, string])[]> {
  const said = (use: Promise<unknown>): Promise<string> => {
    return use.then(
      () => 'nothing',
      (error: Error) => error.message,
    )
  }
  const opened = async (isReadOnly: boolean): Promise<void> => (await openLmdbStore(directory, { isReadOnly })).close()
  return [
    ['copied', await said(opened(true))],
    ['verified', await said(checkStore(`lmdb:${directory}`))],
    ['served', await said(opened(false))],
  ]
}

interface OddPath {
  readonly what: string
  /** Answers the address to use. */
  make(store: string): string
  readonly sentence: string | RegExp
  /** To be served, it is made; so only reading is refused. */
  readonly isMade?: true
}

const missing = /there is no such directory; check the address$/
const noStore = /there is no store in that directory; check the address$/

function inPlaceOf(name: string, make: (path: string) => void): (store: string) => string {
  return (store) => {
    rmSync(join(store, name), { recursive: true })
    make(join(store, name))
    return store
  }
}

const oddPaths: readonly OddPath[] = [
  { what: 'a directory that does not exist', make: (store) => join(store, 'none'), sentence: missing, isMade: true },
  {
    what: 'a directory that holds no store',
    make(store) {
      mkdirSync(join(store, 'other', 'things'), { recursive: true })
      return join(store, 'other')
    },
    sentence: noStore,
    isMade: true,
  },
  {
    what: 'a file',
    make: (store) => join(store, 'data.mdb'),
    sentence: 'it is a file, and a store is a directory; name a directory',
  },
  {
    what: 'a directory below a file',
    make: (store) => join(store, 'data.mdb', 'sub'),
    sentence: 'is a file and has to be a directory; move it away',
  },
  {
    what: 'a directory that is a link to itself',
    make(store) {
      symlinkSync('loop', join(store, 'loop'))
      return join(store, 'loop')
    },
    sentence:
      'loop is, or leads through, a symbolic link that is not followed or that leads to itself; put what it stands for',
  },
  {
    what: 'a directory as data.mdb',
    make: inPlaceOf('data.mdb', mkdirSync),
    sentence: 'data.mdb is not a file; restore',
  },
  {
    what: 'a pipe as data.mdb',
    make: inPlaceOf('data.mdb', (path) => spawnSync('bash', ['-c', 'mkfifo "$1"', 'bash', path])),
    sentence: 'data.mdb is not a file; restore a backup of the store',
  },
  {
    what: 'a link to itself as data.mdb',
    make: inPlaceOf('data.mdb', (path) => symlinkSync('data.mdb', path)),
    sentence: 'data.mdb is, or leads through, a symbolic link',
  },
  {
    what: 'a link to nothing as data.mdb',
    make: inPlaceOf('data.mdb', (path) => symlinkSync('gone.mdb', path)),
    sentence: 'data.mdb is missing, though there was a store; restore a backup',
  },
  {
    what: 'no data.mdb',
    make: inPlaceOf('data.mdb', () => undefined),
    sentence: 'data.mdb is missing, though there was a store; restore a backup',
  },
  {
    what: 'a file as processes',
    make: inPlaceOf('processes', (path) => writeFileSync(path, '')),
    sentence: 'is a file and has to be a directory; move it away',
  },
  {
    what: 'a directory as processes/gate',
    make: inPlaceOf('processes/gate', mkdirSync),
    sentence: 'gate is a directory and has to be a file; move it away while no process uses the store',
  },
  {
    what: 'a link as processes/gate',
    make: inPlaceOf('processes/gate', (path) => symlinkSync('turnstile', path)),
    sentence: 'gate is, or leads through, a symbolic link that is not followed',
  },
  {
    what: 'a name that is too long',
    make: (store) => join(store, 'x'.repeat(300)),
    sentence: 'is longer than the file system takes; name a shorter one',
  },
]

function expectSentence(said: string, use: Use, directory: string, sentence: string | RegExp): void {
  expect(said, use).toContain(`The LMDB store in ${directory} cannot be ${use === 'verified' ? 'checked' : 'opened'}: `)
  expect(said, use).toMatch(sentence)
  // Paths are chosen at random, and may look like one of the system's names of errors.
  expect(said.replaceAll(/\/\S+/g, ''), use).not.toMatch(/\n|\bE[A-Z]{4,}\b/)
}

describe.skipIf(isWindows)('lmdb: in place of a store', () => {
  it.each(oddPaths)('$what', async ({ make, sentence, isMade }) => {
    const directory = make(await closedStore())
    for (const [use, said] of await refusals(directory)) {
      if (isMade && use === 'served') expect(said).toBe('nothing')
      else expectSentence(said, use, directory, sentence)
    }
  })

  it.runIf(process.platform === 'linux')('a file system that lets nobody make directories', async () => {
    const directory = '/proc/ashlar/default'
    await expect(openLmdbStore(directory)).rejects.toThrow(
      `The LMDB store in ${directory} cannot be opened: no directory can be made in /proc; name another place`,
    )
  })

  it('reading makes nothing', async () => {
    const directory = await temporaryDirectory()
    await expect(openLmdbStore(directory, { isReadOnly: true })).rejects.toThrow(noStore)
    await expect(checkStore(`lmdb:${directory}`)).rejects.toThrow(noStore)
    expect(readdirSync(directory)).toEqual([])
  })

  const inMount = (directory: string) =>
    `exec unshare --mount bash -c 'mount --bind ${directory} ${directory} && mount -o remount,bind,ro ${directory} && exec "$@"' bash "$@"`
  const canMount = spawnSync('bash', ['-c', `set -- true; ${inMount(import.meta.dirname)}`]).status === 0

  it.skipIf(!canMount)('on a read-only file system (skipped where nothing can be mounted)', async () => {
    for (const directory of [await closedStore(), await temporaryDirectory()]) {
      const child = startChild(openAs, [directory], inMount(directory))
      const { value } = await child.lines.next()
      expectSentence(value, 'served', directory, 'is read-only; mount it so that it can be written to')
      child.process.stdin.end()
    }
  })

  it.skipIf(!isRoot || isPrivate())('without permission (skipped unless root)', async () => {
    const directory = await closedStore()
    for (const [closed, mode] of [
      ['processes', 0o700],
      ['.', 0o700],
    ] as const) {
      chmodSync(join(directory, closed), mode)
      const child = startChild(openAs, [directory, '65534'])
      const { value } = await child.lines.next()
      expectSentence(value, 'served', directory, 'the user who runs Ashlar may not use')
      expect(value).toContain(`the user who runs the server has to own ${directory} and all in it (chown -R`)
      child.process.stdin.end()
    }
  })
})

/** Below a private folder root's checkout, and so what the child runs, is closed to everybody else. */
function isPrivate(): boolean {
  const look = ['-e', 'require("fs").readFileSync(process.argv[1])', fileURLToPath(openAs)]
  return spawnSync(process.execPath, look, { uid: 65_534, gid: 65_534 }).status !== 0
}
