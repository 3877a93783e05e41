/**
 * Checks the structure of a store's file without LMDB, which trusts what it reads: every page is reached exactly once and by the right path; key
 * order, counts, long values, free pages, and the checksums of entries are correct. The store must not be written meanwhile.
 */
import { join } from 'node:path'
import { appendSpace } from '../append.ts'
import type { Bytes } from '../store.ts'
import { metaPages, newerMeta } from './check-data-file.ts'
import { DataFile } from './data-file.ts'
import { checkedLength } from './entry-checksum.ts'
import { freePagesName, walkFreePages } from './free-pages.ts'
import { readMainTree } from './main-tree.ts'
import { claimPage, PageOwners, walkTree } from './walk-tree.ts'

export interface FileReport {
  /** Empty if the file is valid; otherwise the first 1,000 problems. */
  readonly problems: readonly string[]
  /** Only checksums are wrong: LMDB can read the file and finds the right pages. */
  readonly isReadable: boolean
  /** False for a store of an earlier version, in which damage of values is undetectable. */
  readonly hasChecksums: boolean
  readonly entries: number
  /** All pages of the file, including free ones. */
  readonly pages: number
}

const problemsMax = 1_000

/** `nameOf` names the entry of a key in messages. Throws an `Error` for the operator if the file is unreadable. */
export function verifyDataFile(directory: string, nameOf: (key: Bytes) => string): FileReport {
  const file = new DataFile(join(directory, 'data.mdb'))
  try {
    return verifyFile(file, nameOf)
  } finally {
    file.close()
  }
}

function verifyFile(file: DataFile, nameOf: (key: Bytes) => string): FileReport {
  const problems: string[] = []
  let found = 0
  const problem = (text: string): void => {
    found++
    if (problems.length < problemsMax) problems.push(text)
  }
  const metas = metaPages(file)
  for (const text of metas.problems) problem(text)
  const meta = newerMeta(metas)
  if (meta === undefined) return { problems, isReadable: false, hasChecksums: true, entries: 0, pages: 0 }
  const { pageBytes, lastPage, transaction } = meta
  const pages = Math.floor(file.bytes / pageBytes)
  const owners = new PageOwners(Math.min(pages, lastPage + 1))
  const context = { file, pageBytes, lastPage, transaction, owners, problem }
  walkFreePages(context, meta, (page) => claimPage(context, page, freePagesName))
  let entries = 0
  let damagedEntries = 0
  const named = readMainTree(context, meta)
  if (named !== undefined && named.tail !== 'absent') entries++
  if (named?.tail === 'damaged') {
    damagedEntries++
    problem(`${nameOf(Buffer.of(appendSpace, 0))} is damaged: its checksum does not fit`)
  }
  if (named !== undefined) {
    walkTree(context, named.tree, {
      name: named.name,
      entry(key, value) {
        entries++
        if (value === undefined || !named.hasChecksums || checkedLength(key, value, value.length) >= 0) return
        damagedEntries++
        problem(`${nameOf(key)} is damaged: its checksum does not fit`)
      },
    })
  }
  const { count, first } = owners.unowned(lastPage)
  // If a page is unreadable, the pages below it have no known owner.
  if (found === damagedEntries && count > 0)
    problem(`${count} pages belong to nothing${first === undefined ? '' : `, the first of them is ${first}`}`)
  const hasChecksums = named?.hasChecksums ?? true
  return { problems, isReadable: found === damagedEntries, hasChecksums, entries, pages: lastPage + 1 }
}
