/** `ashlar verify`: checks a store, and reports by its exit code whether it is intact. */

import type { StoreCheck } from '@ashlar/engine'
import type { Command } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'
import { CommandError } from '../errors/command-error.ts'
import { printResult, type ResultOptions } from '../output/print-result.ts'
import { withProgress } from '../output/progress.ts'
import { countText } from '../output/texts.ts'
import { inChild } from './in-child.ts'
import { refuseAddresses } from './store-failure.ts'

const fileAdvice = 'To check it too, stop every process that uses the store first, or verify a backup of it.'
const exitCode = { hasProblems: 1, isNotChecked: 2 } as const

export function addVerifyCommand(program: Command): void {
  const command = program
    .command('verify <store>')
    .summary('Check a store for damage and inconsistencies.')
    .description(
      'Check a store, lmdb:<dir> or postgres://<host>/<database>, for damage and inconsistencies, without changing anything. ' +
        'Exit codes: 0 no problems, 1 problems found, 2 the store could not be checked.',
    )
  addJsonOption(command).action(async (store: string, options: ResultOptions) => {
    await refuseAddresses([store])
    return inChild('verify', [store], (signal) => verify(store, options, signal), exitCode.isNotChecked)
  })
}

async function verify(address: string, options: ResultOptions, signal: AbortSignal): Promise<void> {
  const { checkStore } = await import('@ashlar/engine')
  try {
    const check = await withProgress(options, (onProgress) =>
      checkStore(address, { signal, onProgress: (entries) => onProgress('looking', entries) }),
    )
    printResult(check, options, () => lines(check, address))
    if (check.problems.length > 0) process.exitCode = exitCode.hasProblems
  } catch (error) {
    const reason = signal.aborted ? 'The check was stopped.' : (error as Error).message
    throw new CommandError(exitCode.isNotChecked, reason)
  }
}

function lines(check: StoreCheck, address: string): string[] {
  const { file, content, isUnfinishedCopy, lacksChecksums, problems } = check
  const result: string[] = []
  if (file !== undefined && 'notChecked' in file)
    result.push(`File: not checked, since ${file.notChecked}. ${fileAdvice}`)
  else if (file !== undefined)
    result.push(`File: ${countText(file.pages, 'page')}, ${countText(file.entries, 'entry', 'entries')}.`)
  if (lacksChecksums)
    result.push(
      'Checksums: not checked, since a store of an earlier version has none: values that have changed on the disk cannot be told. ' +
        `Bring it over with: ashlar copy ${address} lmdb:<new directory>`,
    )
  if (isUnfinishedCopy) result.push('Content: not checked, since the copy is not finished.')
  else if (content === undefined) result.push('Content: not checked, since it cannot be read as it was written.')
  else {
    const { objects, linkEntries, indexEntries } = content
    const links = countText(linkEntries, 'link entry', 'link entries')
    result.push(
      `Content: ${countText(objects, 'object')}, ${links}, ${countText(indexEntries, 'index entry', 'index entries')}.`,
    )
  }
  if (problems.length === 0)
    return [...result, isChecked(check) ? 'No problem found.' : 'No problem found in what was checked.']
  const advice = 'Restore a backup, or copy what can be read; docs/damage.md tells how.'
  const all = [...result, `${countText(problems.length, 'problem')}:`, ...problems.map((problem) => `- ${problem}`)]
  return isUnfinishedCopy && problems.length === 1 ? all : [...all, advice]
}

/** Returns true if no part of the store was skipped. */
function isChecked({ file, lacksChecksums }: StoreCheck): boolean {
  return lacksChecksums !== true && !(file !== undefined && 'notChecked' in file)
}
