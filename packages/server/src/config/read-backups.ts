/** The setting `backups` of the configuration file: where they are kept, and which are made by themselves. */
import { resolve } from 'node:path'
import type { BackupSettings } from '../backups/backup-settings.ts'
import { ConfigError } from './config.ts'
import { didYouMean, objectOf, readDuration, readText } from './read-value.ts'

const fields = ['directory', 'every', 'incrementalEvery', 'keep'] as const

/** Throws ConfigError. */
export function readBackups(value: unknown, name: string): BackupSettings {
  const given = objectOf(value, name)
  for (const field of Object.keys(given)) {
    if ((fields as readonly string[]).includes(field)) continue
    throw new ConfigError(`${name} has no field ${field}.${didYouMean(field, fields)}`)
  }
  const { directory, every, incrementalEvery, keep } = given
  const time = (field: string, text: unknown): number | undefined =>
    text === undefined ? undefined : readDuration(text, `${field} of ${name}`)
  if (every === undefined && (incrementalEvery ?? keep) !== undefined)
    throw new ConfigError(`${name} needs every, the time between full backups, for incrementalEvery and keep.`)
  return {
    directory: resolve(readText(directory, `directory of ${name}`)),
    everyMs: time('every', every),
    incrementalEveryMs: time('incrementalEvery', incrementalEvery),
    keepMs: time('keep', keep),
  }
}
