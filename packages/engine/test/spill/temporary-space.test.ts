/** Temporary files: names that are gone at once, leftovers of killed processes, limits, full disks. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RequestSpace } from '../../src/spill/request-space.ts'
import { nodeFileSystem, TemporarySpace } from '../../src/spill/temporary-space.ts'

const block = Buffer.alloc(1_000, 7)
const wide = { statementDiskBytesMax: 10_000, statementsDiskBytesMax: 10_000 }
let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'temporary-space-'))
})

afterEach(() => rm(directory, { recursive: true, force: true }))

function failing(code: string): Error {
  return Object.assign(new Error(code), { code })
}

describe('temporary files', () => {
  it('have no name while they are used, and hold what was written', async () => {
    const within = join(directory, 'made', 'when needed')
    const space = new TemporarySpace(within)
    const request = new RequestSpace(space, wide)
    const file = await request.open()
    expect(await readdir(within)).toEqual([])
    await file.append(block, 600)
    await file.append(Buffer.from('abc'), 3)
    const read = Buffer.alloc(5)
    await file.read(read, 1, 3, 600)
    expect(read.toString('latin1', 1, 4)).toBe('abc')
    expect([space.bytes, request.bytes, file.end]).toEqual([603, 603, 603])
    await file.clear()
    expect([space.bytes, file.end]).toEqual([0, 0])
    await file.append(block, 10)
    await file.close()
    expect(space.bytes).toBe(0)
  })

  it('are removed at their end where an open file keeps its name', async () => {
    let isOpen = true
    const unlink = (path: string): Promise<void> =>
      isOpen ? Promise.reject(failing('EBUSY')) : nodeFileSystem.unlink(path)
    const space = new TemporarySpace(directory, { ...nodeFileSystem, unlink })
    const file = await new RequestSpace(space, wide).open()
    expect(await readdir(directory)).toHaveLength(1)
    isOpen = false
    await file.close()
    expect(await readdir(directory)).toEqual([])
  })

  it('of killed processes are removed, those of others and other files stay', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', ''])
    const left = `ashlar-spill-${pid}-1.tmp`
    const others = [`ashlar-spill-${process.ppid}-1.tmp`, `ashlar-spill-${pid}-1.tmp.txt`, 'data.mdb']
    for (const name of [left, ...others]) await writeFile(join(directory, name), 'x')
    await new TemporarySpace(directory).removeLeftovers()
    expect((await readdir(directory)).sort()).toEqual(others.sort())
    await writeFile(join(directory, left), 'x')
    const file = await new RequestSpace(new TemporarySpace(directory), wide).open()
    expect((await readdir(directory)).sort()).toEqual(others.sort())
    await file.close()
    await new TemporarySpace(join(directory, 'nowhere')).removeLeftovers()
  })

  it('take other names than those that a process of the same number has left', async () => {
    const files = Array.from({ length: 200 }, (_, i) => `ashlar-spill-${process.pid}-${i + 1}.tmp`)
    for (const name of files) await writeFile(join(directory, name), 'x')
    const file = await new RequestSpace(new TemporarySpace(directory), wide).open()
    await file.append(block, 10)
    await file.close()
    expect((await readdir(directory)).sort()).toEqual(files.sort())
  })

  it('are bounded for a request and for all of a process, by limits that are named', async () => {
    const space = new TemporarySpace(directory)
    const limits = { statementDiskBytesMax: 2_000, statementsDiskBytesMax: 3_000 }
    const [one, other] = [new RequestSpace(space, limits), new RequestSpace(space, limits)]
    const [first, second] = [await one.open(), await other.open()]
    for (let i = 0; i < 2; i++) await first.append(block, 1_000)
    const tooMuch = {
      type: 'LimitExceeded',
      message: expect.stringMatching(/2000 bytes on disk \(statementDiskBytesMax\)/),
    }
    await expect(first.append(block, 1)).rejects.toMatchObject(tooMuch)
    await second.append(block, 1_000)
    const busy = {
      type: 'ServerBusy',
      isRepeatable: true,
      isFatal: false,
      message: expect.stringMatching(/3000 bytes on disk \(statementsDiskBytesMax\)/),
    }
    await expect(second.append(block, 1)).rejects.toMatchObject(busy)
    await first.close()
    await second.append(block, 1_000)
    await second.close()
    expect(space.bytes).toBe(0)
  })

  it('on a full disk are 503 for now, and where they cannot be used, until somebody mends that', async () => {
    for (const [code, isFatal] of [
      ['ENOSPC', false],
      ['EDQUOT', false],
      ['EIO', true],
    ] as const) {
      const create = async (path: string) => {
        const file = await nodeFileSystem.create(path)
        const write = (): Promise<never> => Promise.reject(failing(code))
        return { ...ofFile(file), write } as unknown as typeof file
      }
      const space = new TemporarySpace(directory, { ...nodeFileSystem, create })
      const file = await new RequestSpace(space, wide).open()
      const told = { type: 'ServerBusy', isFatal, message: expect.stringMatching(`temporaryDir.*${code}`) }
      await expect(file.append(block, 10)).rejects.toMatchObject(told)
      await file.close()
      expect(space.bytes).toBe(0)
    }
    const path = join(directory, 'a file')
    await writeFile(path, '')
    const none = new RequestSpace(new TemporarySpace(path), wide)
    await expect(none.open()).rejects.toMatchObject({ type: 'ServerBusy', isFatal: true })
    await rm(path)
    // Mended.
    const file = await none.open()
    await file.close()
  })
})

type FileOf = Awaited<ReturnType<typeof nodeFileSystem.create>>

function ofFile(file: FileOf): FileOf {
  return {
    read: file.read.bind(file),
    write: file.write.bind(file),
    truncate: file.truncate.bind(file),
    close: file.close.bind(file),
  }
}
