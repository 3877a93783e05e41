/** Checks the data file of a store before LMDB opens it: LMDB would crash on some files and treat others as new ones. */
import { accessSync, closeSync, constants, existsSync, lstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PlaceRefused } from '../place-refused.ts'
import { treeHeaderProblem } from './check-tree-header.ts'
import { DataFile, dataVersion, integerKeyFlag, isPageSize, type MetaPage, magicNumber } from './data-file.ts'
import { ownershipRemedy } from './file-failure.ts'
import { walkFreePages } from './free-pages.ts'
import { readMainTree } from './main-tree.ts'
import { refuseUnfinishedBackup } from './make-backup.ts'
import { systemErrorCode } from './owned-files.ts'
import { storeMark } from './store-mark.ts'
import { PageOwners } from './walk-tree.ts'

export interface MetaPages {
  readonly found: readonly MetaPage[]
  /** Sentences without a full stop: the faults of either page, or of the file. */
  readonly problems: readonly string[]
}

const attemptsMax = 5
/** More than the address space of a process. */
const mapBytesMax = 2 ** 47
const restore = 'restore a backup of the store'
export const noStore = 'there is no store in that directory; check the address'

/** Throws an `Error` with one sentence unless the files in the directory are a store that LMDB can open, or there never was one. */
export function checkDataFile(directory: string, isReadOnly: boolean): void {
  // Repeated here since no backup can begin from now on: it would find the gate.
  refuseUnfinishedBackup(directory)
  const path = join(directory, 'data.mdb')
  const bytes = dataFileBytes(path)
  checkLockFile(directory)
  if (bytes === undefined || bytes === 0) {
    checkAbsence(directory, bytes !== undefined)
    if (isReadOnly) throw new PlaceRefused('wrongPlace', noStore)
    return
  }
  checkAccess(directory, 'data.mdb', isReadOnly)
  let problem: string | undefined
  // A concurrent writer may change one meta page after the other was read.
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    problem = problemOf(path)
    if (problem === undefined) return
  }
  throw new Error(problem)
}

/** Throws an `Error` with one sentence unless there is a readable data file, whatever its content. */
export function checkPresence(directory: string): void {
  if (dataFileBytes(join(directory, 'data.mdb')) === undefined) {
    checkAbsence(directory, false)
    throw new PlaceRefused('wrongPlace', noStore)
  }
  checkAccess(directory, 'data.mdb', true)
}

/** Undefined if there is no file. */
function dataFileBytes(path: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  // Opening a pipe would block until a writer opens it.
  if (stats !== undefined && !stats.isFile()) throw new Error(`${path} is not a file; ${restore}`)
  return stats?.size
}

function problemOf(path: string): string | undefined {
  const file = new DataFile(path)
  try {
    const metas = metaPages(file)
    const [problem] = metas.problems
    if (problem !== undefined) return `${path}: ${problem}; ${restore}`
    const meta = newerMeta(metas)
    if (meta === undefined) return undefined
    const expectedBytes = (meta.lastPage + 1) * meta.pageBytes
    if (isTruncated(file, meta)) return `${path} is cut: it has ${file.bytes} bytes of ${expectedBytes}; ${restore}`
    const listProblem = mainTreeProblem(file, meta)
    return listProblem === undefined ? undefined : `${path}: ${listProblem}; ${restore}`
  } finally {
    file.close()
  }
}

/** Accepts a missing file, and one on a read-only file system. */
function checkAccess(directory: string, name: string, isReadOnly: boolean): void {
  try {
    accessSync(join(directory, name), isReadOnly ? constants.R_OK : constants.R_OK | constants.W_OK)
  } catch (cause) {
    if (systemErrorCode(cause) === 'ENOENT' || systemErrorCode(cause) === 'EROFS') return
    const what = `${join(directory, name)} may not be ${isReadOnly ? 'read' : 'read and written'} by the user who runs Ashlar`
    throw new Error(`${what}; ${ownershipRemedy(directory)}`, { cause })
  }
}

/** Readers write to it too, and lmdb-js crashes if it cannot be opened. */
function checkLockFile(directory: string): void {
  const path = join(directory, 'lock.mdb')
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  const remedy = 'it is only the lock table of LMDB: remove it while no process uses the store'
  if (!stats.isFile() && !stats.isSymbolicLink()) throw new Error(`${path} is not a file; ${remedy}`)
  checkAccess(directory, 'lock.mdb', false)
  try {
    closeSync(openSync(path, constants.O_RDWR))
  } catch (cause) {
    if (systemErrorCode(cause) === 'EROFS') return
    throw new Error(`${path} cannot be opened (${String(systemErrorCode(cause))}); ${remedy}`, { cause })
  }
}

/** If the mark exists or LMDB's lock file holds a transaction number, there was a store, and its data is gone. */
function checkAbsence(directory: string, isThere: boolean): void {
  let lock: Buffer | undefined
  try {
    lock = readFileSync(join(directory, 'lock.mdb'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const hadData = lock !== undefined && lock.length >= 16 && lock.readBigUInt64LE(8) > 0n
  // LMDB creates its lock file before the data file.
  if (!hadData && !(isThere && lock === undefined) && !existsSync(storeMark(directory))) return
  const what = `${join(directory, 'data.mdb')} is ${isThere ? 'empty' : 'missing'}`
  throw new Error(`${what}, though there was a store; ${restore}, or delete the directory to begin with a new one`)
}

/** Both meta pages, and whatever in them contradicts an LMDB file. */
export function metaPages(file: DataFile): MetaPages {
  const first = file.meta(0, 0)
  if (first === undefined) return { found: [], problems: [`the file is cut: it has ${file.bytes} bytes`] }
  // If the first is damaged, assume that the second follows a page of the usual size.
  const pageBytes = isPageSize(first.pageBytes) ? first.pageBytes : 4_096
  const second = file.meta(1, pageBytes)
  if (second === undefined) return { found: [first], problems: [`the file is cut: it has ${file.bytes} bytes`] }
  if (first.magic !== magicNumber && second.magic !== magicNumber)
    return { found: [], problems: ['it is not a file of LMDB'] }
  const found = [first, second]
  const problems = found.flatMap((meta, which) => problemsOf(meta, which).map((text) => `meta page ${which} ${text}`))
  const [one, other] = [first.transaction, second.transaction]
  // Commits alternate between the two pages; in a new file both have zero.
  if (problems.length === 0 && Math.abs(one - other) !== 1 && one + other !== 0)
    problems.push(`the meta pages are of transactions ${one} and ${other}, which do not follow each other`)
  return { found, problems }
}

function problemsOf(meta: MetaPage, which: number): string[] {
  const { magic, version, pageBytes, transaction, lastPage, isMarked } = meta
  if (magic !== magicNumber) return ['is damaged']
  if (version !== dataVersion)
    return [`is of data format ${version}, and this version of Ashlar reads ${dataVersion}; use the one that wrote it`]
  if (!isMarked || meta.number !== which || meta.mapBytes > mapBytesMax) return ['is damaged']
  if (!isPageSize(pageBytes)) return [`tells a page size of ${pageBytes} bytes, which is not possible`]
  if (transaction % 2 !== which && transaction !== 0)
    return [`is of transaction ${transaction}, whose place is the other`]
  const freeProblem = treeHeaderProblem(meta.freePages, { flags: integerKeyFlag, pad: pageBytes, lastPage })
  const mainProblem = treeHeaderProblem(meta.main, { flags: 0, pad: 0, lastPage })
  return [freeProblem, mainProblem].filter((problem) => problem !== undefined)
}

/** The first problem of the list of databases, which is a single page. */
function mainTreeProblem(file: DataFile, meta: MetaPage): string | undefined {
  const problems: string[] = []
  const problem = (text: string): unknown => problems.push(text)
  const { pageBytes, lastPage, transaction } = meta
  readMainTree({ file, pageBytes, lastPage, transaction, owners: new PageOwners(0), problem }, meta)
  return problems[0]
}

/** The meta page that LMDB uses; undefined if neither is readable. */
export function newerMeta({ found }: MetaPages): MetaPage | undefined {
  const [one, other] = found.filter(({ magic, pageBytes }) => magic === magicNumber && isPageSize(pageBytes))
  if (one === undefined || other === undefined) return one
  return other.transaction > one.transaction ? other : one
}

/** Whether used pages are missing at the end; free pages may never have been written. */
function isTruncated(file: DataFile, meta: MetaPage): boolean {
  const { pageBytes, lastPage, transaction } = meta
  const pages = Math.floor(file.bytes / pageBytes)
  if (pages > lastPage) return false
  const free = new Set<number>()
  let hasProblem = false
  const problem = (): void => {
    hasProblem = true
  }
  const context = { file, pageBytes, lastPage, transaction, owners: new PageOwners(pages), problem }
  walkFreePages(context, meta, (page) => {
    if (page >= pages) free.add(page)
  })
  for (let page = pages; page <= lastPage; page++) if (!free.has(page)) return true
  return hasProblem
}
