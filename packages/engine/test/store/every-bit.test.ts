/** The structural check of a data file: every bit of the structure of a small store, flipped one at a time, is told. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/lmdb-store.ts'
import { verifyDataFile } from '../../src/store/lmdb/verify-data-file.ts'
import { commitOf, put } from './bytes.ts'
import { temporaryDirectory } from './temporary-stores.ts'

const pageBytes = 4_096

interface Part {
  readonly what: string
  readonly at: number
  readonly length: number
  /** Which flips of a byte may stay unnoticed; where it is used, a comment says why. */
  readonly harmless?: (before: number, after: number) => boolean
}

/** A branch, leaves, a long value, and pages that have become free. */
async function smallStore(): Promise<string> {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  for (let round = 0; round < 3; round++) {
    const changes = Array.from({ length: 12 }, (_, number) => put(`${number}-${'k'.repeat(900)}`, `value ${round}`))
    await store.commit(commitOf([...changes, put('long', 'x'.repeat(9_000 - round * 4_000)), put('odd', 'odd')]))
  }
  await store.close()
  return directory
}

const always = (): boolean => true

/** Every field of the structure, of both meta pages and of what the newer leads to. */
function partsOf(file: Buffer): Part[] {
  const parts: Part[] = []
  const add = (what: string, at: number, length: number, harmless?: Part['harmless']): unknown =>
    parts.push({ what, at, length, ...(harmless === undefined ? {} : { harmless }) })
  const newer = file.readUInt32LE(152) > file.readUInt32LE(pageBytes + 152) ? 0 : pageBytes
  const metaPart = (meta: number): void => {
    // LMDB takes the other, and the next commit overwrites this one.
    const ofOlder = meta === newer ? undefined : always
    add('meta: header, magic, version, address', meta, 40)
    // LMDB maps as much as the file needs where this is less, and room for growth where it is more.
    add('meta: size of the map', meta + 40, 8, always)
    for (const tree of [48, 96]) {
      add('meta: size of a page, flags', meta + tree, 6)
      add('meta: tree', meta + tree + 6, 42, ofOlder)
    }
    add('meta: last page', meta + 144, 8, ofOlder)
    add('meta: transaction', meta + 152, 8)
    // Only read with a setting that Ashlar does not use.
    add('meta: boot of the system', meta + 160, 8, always)
  }
  metaPart(0)
  metaPart(pageBytes)
  const page = (number: number, kind: 'entries' | 'main' | 'free'): void => {
    const at = number * pageBytes
    const flags = file.readUInt16LE(at + 18)
    const lower = file.readUInt16LE(at + 20)
    add(`${kind}: page number`, at, 8)
    // A page that is taken for older than it is, is copied before it is changed, as each committed page is.
    add(`${kind}: transaction`, at + 8, 8, (before, after) => after < before)
    add(`${kind}: pad, flags, bounds`, at + 16, 8)
    add(`${kind}: places of the nodes`, at + 24, lower)
    for (let index = 0; index < lower / 2; index++) {
      const node = at + 24 + file.readUInt16LE(at + 24 + index * 2)
      const keyBytes = file.readUInt16LE(node + 6)
      const data = node + 8 + keyBytes
      if (flags === 1) {
        add(`${kind}: branch node`, node, 6)
        add(`${kind}: branch key size`, node + 6, 2)
        // A key that still lies between the pages that it separates leads everywhere as before; the first is not looked at.
        add(`${kind}: branch key`, node + 8, Math.min(keyBytes, 20), always)
        page(file.readUInt32LE(node), kind)
        continue
      }
      const dataBytes = file.readUInt16LE(node) + file.readUInt16LE(node + 2) * 65_536
      add(`${kind}: leaf node`, node, 8)
      // By which transaction pages became free keeps them for readers older than it, which end with their processes.
      add(`${kind}: key`, node + 8, Math.min(keyBytes, 12), kind === 'free' ? always : undefined)
      if ((file.readUInt16LE(node + 4) & 1) !== 0) {
        const long = file.readUInt32LE(data) * pageBytes
        add(`${kind}: pointer to a long value`, data, 24)
        add(`${kind}: header of a long value`, long, 24)
      } else add(`${kind}: data`, data, dataBytes)
      if (kind === 'main' && (file.readUInt16LE(node + 4) & 2) !== 0) page(file.readUInt32LE(data + 40), 'entries')
    }
  }
  page(file.readUInt32LE(newer + 136), 'main')
  page(file.readUInt32LE(newer + 88), 'free')
  return parts
}

it('every flipped bit of the structure is told, or harmless for a reason', async () => {
  const directory = await smallStore()
  const path = join(directory, 'data.mdb')
  const file = readFileSync(path)
  const nameOf = (): string => 'an entry'
  expect(verifyDataFile(directory, nameOf).problems).toEqual([])
  const descriptor = openSync(path, 'r+')
  const silent: string[] = []
  let flips = 0
  try {
    for (const { what, at, length, harmless } of partsOf(file)) {
      for (let bit = 0; bit < length * 8; bit++) {
        const place = at + (bit >> 3)
        const before = file.readUInt8(place)
        const after = before ^ (1 << (bit & 7))
        if (harmless?.(before, after) === true) continue
        flips++
        writeSync(descriptor, Buffer.of(after), 0, 1, place)
        if (verifyDataFile(directory, nameOf).problems.length === 0)
          silent.push(`${what}: ${place}, ${before}>${after}`)
        writeSync(descriptor, Buffer.of(before), 0, 1, place)
      }
    }
  } finally {
    closeSync(descriptor)
  }
  expect(silent).toEqual([])
  expect(flips).toBeGreaterThan(10_000)
})
