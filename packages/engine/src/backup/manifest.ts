/** The manifest of a backup: a JSON file next to the entry file, written last. A backup without a manifest is unfinished. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { PlaceRefused } from '../store/place-refused.ts'
import { DamagedBackup, type EntryFileSummary } from './entry-file.ts'

const formatVersion = 1
export const manifestSuffix = '.json'
export const entriesSuffix = '.entries'
export const unfinishedSuffix = '.unfinished'

export interface Manifest {
  readonly ashlarBackup: number
  /** The base name of its files, without suffix. */
  readonly name: string
  readonly id: string
  readonly kind: 'full' | 'incremental'
  readonly store: string
  /** ISO 8601 in UTC. The backup contains everything committed before. Unique within a directory. */
  readonly at: string
  /** The time of its latest commit according to the change log; absent without such a commit, and in backups of earlier versions. */
  readonly newestCommitAt?: string
  readonly storageFormat: number
  readonly changeLog?: LogRange
  readonly base?: { readonly name: string; readonly id: string }
  readonly file: EntryFileSummary
  readonly counts: BackupCounts
}

export interface LogRange {
  readonly epoch: number
  /** Commits up to this one are in the base backups, or, for a full backup, in the backup itself. */
  readonly from: number
  /** The last commit in the backup. A full backup may contain only some of the commits after `from`. */
  readonly to: number
}

export interface BackupCounts {
  readonly objects: number
  readonly links: number
  readonly indexEntries: number
  readonly commits?: number
}

export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify({ ...manifest, sha256: checksumOf(manifest) }, undefined, 2)}\n`
}

/** Returns undefined if the file is not a manifest and has no entry file. Throws DamagedBackup, and PlaceRefused for a later format. */
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
