/** The tools Backup and Restore, restricted to the configured directory of backups (contract 2.2.31). */
import { AshlarError, openStore, restoreBackup } from '@ashlar/engine'
import { addressOfDirectory } from '@ashlar/engine/store-address'
import { type BackupSettings, backupsOf, pathBelow } from '../backups/backup-settings.ts'
import { durationMs } from '../backups/duration.ts'
import type { Tool, ToolResult, ToolRun } from './tool.ts'

export const backupTools: readonly Tool[] = [
  {
    name: 'Backup',
    needs: ['operate'],
    description:
      'Makes a backup in the backup directory while the server goes on working, and reads it back to verify it.',
    flags: {
      incremental: {
        type: 'boolean',
        description: 'Back up only changes since the latest backup; false by default.',
      },
      keep: {
        type: 'text',
        description: 'Then remove backups older than this, such as 7d, unless backups that are kept depend on them.',
      },
    },
    async run(fd, { incremental, keep }, run) {
      const keepMs = keep === undefined ? undefined : durationOf(String(keep))
      const directory = backupsOf(settingsOf(run), fd.alias)
      return toolResult(run, async () => {
        const onProgress = (_step: string, done: number, total?: number): void => run.report(done, total)
        const options = { isIncremental: incremental === true, keepMs, signal: run.signal, onProgress }
        const { backup, removed } = await fd.backUp(directory, options)
        const { objects, commits } = backup.counts
        const content = commits === undefined ? `${objects} objects` : `${commits} commits`
        return [
          `Backup ${backup.name}: ${content}, ${backup.file.bytes} bytes, verified.`,
          ...removed.map((name) => `Removed ${name}.`),
        ]
      })
    },
  },
  {
    name: 'Restore',
    needs: ['operate'],
    description:
      'Restores a backup into a new LMDB store below the backup directory, to be served from there or moved.',
    flags: {
      backup: {
        type: 'text',
        description:
          'A directory of backups or a backup file, below the backup directory; by default the backups of the federated database.',
      },
      into: {
        type: 'text',
        description: 'The directory of the store, below the backup directory.',
        isRequired: true,
      },
      until: {
        type: 'text',
        description: 'Point-in-time restore: up to a time with its zone, or a position of the change log.',
      },
    },
    async run(fd, { backup = fd.alias, into, until }, run) {
      const settings = settingsOf(run)
      const path = await pathBelow(settings, String(backup), 'backup')
      const directory = await pathBelow(settings, String(into), 'into')
      return toolResult(run, async () => {
        const target = await openStore(addressOfDirectory(directory))
        try {
          const onProgress = (_step: string, done: number, total?: number): void => run.report(done, total)
          const moment = until === undefined ? undefined : String(until)
          const report = await restoreBackup(path, target, { until: moment, signal: run.signal, onProgress })
          const names = report.chain.map(({ name }) => name).join(', ')
          const replayed =
            report.position === undefined ? '' : `, then ${report.commits} commits, up to ${report.position}`
          return [`Restored ${names} into ${addressOfDirectory(directory)}: ${report.entries} entries${replayed}.`]
        } finally {
          await target.close()
        }
      })
    },
  },
]

/** Throws MalformedRequest if the configuration names no directory. */
function settingsOf({ backups }: ToolRun): BackupSettings {
  if (backups !== undefined) return backups
  const message = 'The configuration of the server names no directory of backups (backups.directory).'
  throw new AshlarError('MalformedRequest', message)
}

/** Returns errors as the result of the tool: callers of these tools operate the server. */
async function toolResult({ signal }: ToolRun, work: () => Promise<readonly string[]>): Promise<ToolResult> {
  try {
    return { output: (await work()).join('\n') }
  } catch (error) {
    if (signal.aborted || error instanceof AshlarError || !(error instanceof Error)) throw error
    return { output: '', error: error.message }
  }
}

function durationOf(text: string): number {
  const ms = durationMs(text)
  if (ms !== undefined) return ms
  throw new AshlarError(
    'MalformedValue',
    `The flag keep is a time such as 7d, 12h, 30m or 90s, not '${text.slice(0, 50)}'.`,
  )
}
