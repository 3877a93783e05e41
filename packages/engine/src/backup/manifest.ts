/** What a backup says of itself: a JSON file beside that of its entries, written last. A backup without one is not finished. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { PlaceRefused } from '../store/place-refused.ts'
import { DamagedBackup, type EntryFileSummary } from './entry-file.ts'

const formatVersion = 1
export const manifestSuffix = '.json'
export const entriesSuffix = '.entries'
/** Of a file that is being written. */
export const unfinishedSuffix = '.unfinished'

export interface Manifest {
  /** The version of the format of backups. */
  readonly ashlarBackup: number
  /** Of its files, without what they end with. */
  readonly name: string
  readonly id: string
  readonly kind: 'full' | 'incremental'
  /** `StoreCapabilities.location`. */
  readonly store: string
  /** ISO 8601, in UTC: what was committed before is in it. In one directory no two have the same. */
  readonly at: string
  /** When the latest of its commits was made, as the change log has it; absent without such, and in backups of earlier versions. */
  readonly newestCommitAt?: string
  /** The version of the storage format. */
  readonly storageFormat: number
  /** Where the store has a change log. */
  readonly changeLog?: LogRange
  /** Of an incremental one: the backup that it goes on from. */
  readonly base?: { readonly name: string; readonly id: string }
  readonly file: EntryFileSummary
  readonly counts: Counts
}

export interface LogRange {
  readonly epoch: number
  /** All commits up to this one are in the backups that it goes on from; of a full one, in itself. */
  readonly from: number
  /** It has no later one; a full one may have some after `from`, but not each of them. */
  readonly to: number
}

export interface Counts {
  readonly objects: number
  readonly links: number
  readonly indexEntries: number
  /** Of an incremental one. */
  readonly commits?: number
}

/** Its last field is the checksum of the others. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify({ ...manifest, sha256: checksumOf(manifest) }, undefined, 2)}\n`
}

/** Undefined where the file is no manifest of a backup; one beside a file of entries is. Throws DamagedBackup; PlaceRefused for a later format. */
export async function readManifest(path: string): Promise<Manifest | undefined> {
  const text = await readFile(path, 'utf8')
  const parsed = parsedJson(text)
  if (typeof parsed !== 'object' || parsed === null || !('ashlarBackup' in parsed)) {
    const entries = `${path.slice(0, -manifestSuffix.length)}${entriesSuffix}`
    if (text.includes('"ashlarBackup"') || existsSync(entries)) throw damaged(path)
    return undefined
  }
  const { sha256, ...manifest } = parsed as Manifest & { readonly sha256?: string }
  if (sha256 !== checksumOf(manifest) || `${manifest.name}${manifestSuffix}` !== basename(path)) throw damaged(path)
  if (manifest.ashlarBackup !== formatVersion)
    throw new PlaceRefused('damaged', `${path} is of a later version of Ashlar; use that one, or a later one.`)
  return manifest
}

export function newManifest(fields: Omit<Manifest, 'ashlarBackup'>): Manifest {
  return { ashlarBackup: formatVersion, ...fields }
}

function damaged(path: string): DamagedBackup {
  return new DamagedBackup(`The manifest ${path} is damaged, or was renamed.`)
}

function checksumOf(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
