/** The structural check of a data file: silent about every file that LMDB wrote, and about nothing that damage does. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkDataFile } from '../../src/store/lmdb/check-data-file.ts'
import { type PageHeader, pageHeader } from '../../src/store/lmdb/data-file.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { verifyDataFile } from '../../src/store/lmdb/verify-data-file.ts'
import type { Change } from '../../src/store/store.ts'
import { commitOf } from './bytes.ts'
import { temporaryDirectory } from './temporary-stores.ts'
import { seededRandom } from './wrappers/seeded-random.ts'

const pageBytes = 4_096
const nameOf = (key: Uint8Array): string => `entry ${Buffer.from(key).toString('latin1')}`

/** Changes at random, with values from none to several pages, deletions of whole ranges, and openings in between. */
async function usedStore(seed: number, rounds: number): Promise<string> {
  const random = seededRandom(seed)
  const directory = await temporaryDirectory()
  for (let opening = 0; opening < 3; opening++) {
    const store = await openLmdbStore(directory)
    for (let round = 0; round < rounds; round++) {
      const isDeleting = random() < 0.3
      const numbers = Array.from({ length: 1 + Math.floor(random() * 60) }, () => Math.floor(random() * 600))
      const changes = [...new Set(numbers)].map((number): Change => {
        const key = Buffer.from(`key-${number}${'k'.repeat(random() < 0.1 ? 300 : 3)}`)
        if (isDeleting) return { kind: 'delete', key }
        const length = random() < 0.1 ? Math.floor(random() * 30_000) : Math.floor(random() * 200)
        return { kind: 'put', key, value: Buffer.alloc(length, round) }
      })
      await store.commit(commitOf(changes))
    }
    await store.close()
  }
  return directory
}

describe('the structural check of a data file', () => {
  it('finds nothing in files that were only ever written by LMDB', async () => {
    for (const seed of [1, 2, 3]) {
      const directory = await usedStore(seed, 25)
      expect(() => checkDataFile(directory, false)).not.toThrow()
      const { problems, entries } = verifyDataFile(directory, nameOf)
      expect(problems).toEqual([])
      expect(entries).toBeGreaterThan(50)
    }
  })

  it('names an entry whose bytes have changed', async () => {
    const directory = await temporaryDirectory()
    const store = await openLmdbStore(directory)
    await store.commit(commitOf([{ kind: 'put', key: Buffer.from('one'), value: Buffer.from('a value sought') }]))
    await store.close()
    patch(directory, (file) => {
      for (let at = file.indexOf('a value sought'); at >= 0; at = file.indexOf('a value sought', at + 1))
        file[at + 3] = 0
    })
    expect(verifyDataFile(directory, nameOf)).toMatchObject({
      problems: ['entry one is damaged: its checksum does not fit'],
      isReadable: true,
    })
  })

  const harms: readonly [string, (file: Buffer, pages: readonly Found[]) => void, string][] = [
    ['a page that hides a key', hideKey, 'entries, and its header says'],
    [
      'a page that says to be another',
      (file, pages) => file.writeUInt32LE(7_777, leaf(pages).at),
      'says that it is page 7777',
    ],
    ['a stale page in the place of a new one', replaceByOther, 'page'],
    ['keys out of order', swapPlaces, 'is not behind the one before'],
    ['a branch that leads to another page', redirect, 'belongs to'],
    ['a page from the future', (file, pages) => file.writeUInt32LE(0x7fff_ffff, leaf(pages).at + 8), 'is younger than'],
    [
      'a node outside of its page',
      (file, pages) => file.writeUInt16LE(0xfff0, leaf(pages).at + 24),
      'lies outside of the page',
    ],
  ]
  it.each(harms)('tells of %s', async (_name, harm, sentence) => {
    const directory = await usedStore(5, 10)
    expect(verifyDataFile(directory, nameOf).problems).toEqual([])
    patch(directory, (file) => harm(file, livePages(file)))
    const { problems, isReadable } = verifyDataFile(directory, nameOf)
    expect(problems.join('\n')).toContain(sentence)
    expect(isReadable).toBe(false)
  })
})

interface Found extends PageHeader {
  readonly at: number
}

function patch(directory: string, change: (file: Buffer) => void): void {
  const path = join(directory, 'data.mdb')
  const file = readFileSync(path)
  change(file)
  writeFileSync(path, file)
}

/** The pages of the tree of entries: from the root that the newer meta page leads to by way of the list of databases. */
function livePages(file: Buffer): Found[] {
  const meta = file.readUInt32LE(152) > file.readUInt32LE(pageBytes + 152) ? 0 : pageBytes
  const list = file.readUInt32LE(meta + 136) * pageBytes
  const name = file.indexOf('entries.v2\0', list)
  const root = file.readUInt32LE(name + 'entries.v2\0'.length + 40)
  const found: Found[] = []
  const visit = (number: number): void => {
    const at = number * pageBytes
    const header = pageHeader(file.subarray(at, at + pageBytes))
    found.push({ ...header, at })
    if (header.flags !== 1) return
    for (let index = 0; index < header.lower / 2; index++)
      visit(file.readUInt32LE(at + 24 + file.readUInt16LE(at + 24 + index * 2)))
  }
  visit(root)
  return found
}

function leaf(pages: readonly Found[]): Found {
  const found = pages.find(({ flags, lower }) => flags === 2 && lower >= 6)
  if (found === undefined) throw new Error('there is no leaf of three entries')
  return found
}

function branch(pages: readonly Found[]): Found {
  const found = pages.find(({ flags }) => flags === 1)
  if (found === undefined) throw new Error('there is no branch')
  return found
}

function hideKey(file: Buffer, pages: readonly Found[]): void {
  const { at, lower } = leaf(pages)
  file.writeUInt16LE(lower - 2, at + 20)
}

function replaceByOther(file: Buffer, pages: readonly Found[]): void {
  const [one, other] = pages.filter(({ flags }) => flags === 2)
  if (one === undefined || other === undefined) throw new Error('there are no two leaves')
  file.copy(file, one.at, other.at, other.at + pageBytes)
}

function swapPlaces(file: Buffer, pages: readonly Found[]): void {
  const { at } = leaf(pages)
  const [first, second] = [file.readUInt16LE(at + 24), file.readUInt16LE(at + 26)]
  file.writeUInt16LE(second, at + 24)
  file.writeUInt16LE(first, at + 26)
}

function redirect(file: Buffer, pages: readonly Found[]): void {
  const { at } = branch(pages)
  const [first, second] = [at + 24 + file.readUInt16LE(at + 24), at + 24 + file.readUInt16LE(at + 26)]
  file.writeUInt16LE(file.readUInt16LE(second), first)
}
