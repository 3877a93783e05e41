/** The check of a store that need not be served: its file, as far as it has one, and then all that is stored in it. */
import { resolve } from 'node:path'
import { CatalogCache } from '../catalog/catalog-cache.ts'
import { AshlarError, AssertionFailed } from '../errors.ts'
import type { Catalog } from '../schema/catalog.ts'
import { unfinishedCopyProblem } from '../storage/copy-claim.ts'
import { openStore } from '../storage/open-store.ts'
import { decodeFormatVersion, earliestAlike, storageFormat } from '../storage/storage-format.ts'
import { storeDirectory } from '../storage/store-address.ts'
import type { FileReport } from '../store/lmdb/verify-data-file.ts'
import { ReadSkew } from '../store/read-skew.ts'
import type { Snapshot, Store } from '../store/store.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import { nameEntry } from './name-entry.ts'
import { type VerifyOptions, type VerifyReport, verifyStore } from './verify.ts'

export interface StoreCheck {
  /** Of a store in a file; absent for others. */
  readonly file?: FileReport | { readonly notChecked: string }
  /** Absent where the file, or the catalog, is too damaged to go on. */
  readonly content?: VerifyReport
  /** It is the target of a copy that is not finished, which is its first problem; its content is not checked. */
  readonly isUnfinishedCopy?: true
  /** It is an LMDB store of an earlier version, whose entries have no checksums: a value that has changed on the disk passes for what was written. */
  readonly lacksChecksums?: true
  /** All that is wrong, of both. */
  readonly problems: readonly string[]
}

/**
 * Only reads. Where a process has an LMDB store open, its file cannot be looked at, and what it holds is checked as of one
 * moment. Throws an `Error` for the operator where the store cannot be opened, and the reason of the signal.
 */
export async function checkStore(address: string, options: VerifyOptions = {}): Promise<StoreCheck> {
  const directory = storeDirectory(address)
  const file = directory === undefined ? undefined : await checkFile(directory)
  const checkedFile = file !== undefined && 'problems' in file ? file : undefined
  const lacking = checkedFile?.hasChecksums === false ? ({ lacksChecksums: true } as const) : {}
  if (checkedFile?.isReadable === false) return { ...lacking, file: checkedFile, problems: checkedFile.problems }
  const found = await checkContent(address, options)
  const ofFile = checkedFile?.problems ?? []
  // The entries that the file has damaged are those that the content lacks, which can name them better.
  const problems =
    found.problems.length === 0 || found.isUnfinishedCopy ? [...found.problems, ...ofFile] : found.problems
  return {
    ...(file === undefined ? {} : { file }),
    ...(found.content === undefined ? {} : { content: found.content }),
    ...(found.isUnfinishedCopy && { isUnfinishedCopy: true }),
    ...(found.lacksChecksums && { lacksChecksums: true }),
    problems,
  }
}

async function checkFile(directory: string): Promise<NonNullable<StoreCheck['file']>> {
  const { verifyLmdbFile } = await import('../store/lmdb/verify-lmdb-file.ts')
  return verifyLmdbFile(resolve(directory), nameWithoutCatalog)
}

async function checkContent(address: string, options: VerifyOptions): Promise<Omit<StoreCheck, 'file'>> {
  const store = await openStore(address, { isReadOnly: true })
  const { lacksChecksums } = store.capabilities
  const found = await checkContentOf(store, options)
  return lacksChecksums === true ? { ...found, lacksChecksums } : found
}

/** Closes the store. */
async function checkContentOf(store: Store, options: VerifyOptions): Promise<Omit<StoreCheck, 'file'>> {
  const catalogs = new CatalogCache(checkFormat)
  store.nameEntriesBy?.((key) => nameEntry(store, catalogs.latest, key))
  try {
    const unfinished = await withSnapshot(store, (snapshot) =>
      unfinishedCopyProblem(snapshot, store.capabilities.location),
    )
    if (unfinished !== undefined) return { isUnfinishedCopy: true, problems: [unfinished] }
    const content = await verifyContent(store, async (snapshot) => await catalogs.at(snapshot), options)
    return { content, problems: content.problems }
  } catch (error) {
    // Of the catalog, without which nothing else can be understood.
    if (error instanceof AshlarError && error.type === 'DataCorruption') return { problems: [error.message] }
    if (!isOfDecoding(error)) throw error
    return { problems: [`What is stored cannot be understood: ${error.message}.`] }
  } finally {
    await store.close()
  }
}

/** What bytes that Ashlar did not write cause where they pass for its own. */
function isOfDecoding(error: unknown): error is Error {
  return [AssertionFailed, SyntaxError, RangeError, TypeError].some((type) => error instanceof type)
}

/** On one snapshot; what looks wrong on it is read skew for all that is known, and looked at once more where that may be. */
export async function verifyContent(
  store: Store,
  catalogAt: (snapshot: Snapshot) => Promise<Catalog>,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const verify = async (snapshot: Snapshot): Promise<VerifyReport> => {
    const report = await verifyStore(snapshot, await catalogAt(snapshot), options)
    if (report.problems.length > 0) throw new ProblemsFound(report)
    return report
  }
  try {
    return await withSnapshot(store, verify, { isolation: 'readOnly', isCounted: true, isLong: true })
  } catch (error) {
    if (error instanceof ProblemsFound) return error.report
    throw error
  }
}

class ProblemsFound extends ReadSkew {
  readonly report: VerifyReport

  constructor(report: VerifyReport) {
    super(report.problems[0] ?? '')
    this.report = report
  }
}

/** A store from before there was a version holds what the first version holds. */
export function checkFormat(stored: Uint8Array | undefined): void {
  const version = stored === undefined ? earliestAlike : decodeFormatVersion(stored)
  if (version >= earliestAlike && version <= storageFormat.version) return
  const checked = `formats ${earliestAlike} to ${storageFormat.version}`
  throw new Error(`The store has storage format ${version}, and this program checks ${checked}.`)
}

function nameWithoutCatalog(key: Uint8Array): string {
  return nameEntry(undefined, undefined, key)
}
