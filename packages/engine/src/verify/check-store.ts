/** Checks a store that is not being served: first its file, if it has one, then its content. */
import { resolve } from 'node:path'
import { MemoryPool } from '../budget/memory-pool.ts'
import { CatalogCache } from '../catalog/catalog-cache.ts'
import { AshlarError, AssertionFailed } from '../errors.ts'
import { CompiledExpressions } from '../expressions/object-expressions.ts'
import { defaultEngineLimits } from '../limits.ts'
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
  /** Only for a store in a file. */
  readonly file?: FileReport | { readonly notChecked: string }
  /** Absent if the file or the catalog is too damaged to continue. */
  readonly content?: VerifyReport
  /** The store is the target of an unfinished copy, which is the first problem; its content is not checked. */
  readonly isUnfinishedCopy?: true
  /** An LMDB store of an earlier version, whose entries have no checksums: values altered on disk go undetected. */
  readonly lacksChecksums?: true
  /** All problems of both checks. */
  readonly problems: readonly string[]
}

/**
 * Reads only. If a process has an LMDB store open, its file is not checked, and its content is checked as of one snapshot.
 * Throws an `Error` for the operator if the store cannot be opened, and the reason of the signal.
 */
export async function checkStore(address: string, options: VerifyOptions = {}): Promise<StoreCheck> {
  const directory = storeDirectory(address)
  const file = directory === undefined ? undefined : await checkFile(directory)
  const checkedFile = file !== undefined && 'problems' in file ? file : undefined
  const lacking = checkedFile?.hasChecksums === false ? ({ lacksChecksums: true } as const) : {}
  if (checkedFile?.isReadable === false) return { ...lacking, file: checkedFile, problems: checkedFile.problems }
  const checks = new CompiledExpressions(new MemoryPool(), defaultEngineLimits)
  const found = await checkContent(address, { checks, ...options })
  const fileProblems = checkedFile?.problems ?? []
  // Entries damaged in the file are also missing from the content, whose problems name them better.
  const problems =
    found.problems.length === 0 || found.isUnfinishedCopy ? [...found.problems, ...fileProblems] : found.problems
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
    // The catalog is damaged, and nothing else can be decoded without it.
    if (error instanceof AshlarError && error.type === 'DataCorruption') return { problems: [error.message] }
    if (!isDecodingError(error)) throw error
    return { problems: [`What is stored cannot be understood: ${error.message}.`] }
  } finally {
    await store.close()
  }
}

/** Errors that result from decoding bytes not written by Ashlar. */
function isDecodingError(error: unknown): error is Error {
  return [AssertionFailed, SyntaxError, RangeError, TypeError].some((type) => error instanceof type)
}

/** Checks one snapshot. Where a problem may be read skew, it is checked again. */
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

/** A store without a version has the format of the first version. */
export function checkFormat(stored: Uint8Array | undefined): void {
  const version = stored === undefined ? earliestAlike : decodeFormatVersion(stored)
  if (version >= earliestAlike && version <= storageFormat.version) return
  const checked = `formats ${earliestAlike} to ${storageFormat.version}`
  throw new Error(`The store has storage format ${version}, and this program checks ${checked}.`)
}

function nameWithoutCatalog(key: Uint8Array): string {
  return nameEntry(undefined, undefined, key)
}
