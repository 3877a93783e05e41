/** `ashlar copy`: moves a federated database between stores. */

import type { CopyReport, Store } from '@ashlar/engine'
import { storeDirectory } from '@ashlar/engine/store-address'
import type { Command } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'
import { interruptedError, usageError } from '../errors/command-error.ts'
import { printResult, type ResultOptions } from '../output/print-result.ts'
import { withProgress } from '../output/progress.ts'
import { numberText } from '../output/texts.ts'
import { inChild } from './in-child.ts'
import { resumable } from './resumable.ts'
import { refuseAddresses } from './store-failure.ts'
import { isDirectoryOf, refuseForeignFiles } from './target-directory.ts'

export function addCopyCommand(program: Command): void {
  const command = program
    .command('copy <from> <to>')
    .description(
      'Copy a federated database into an empty store. Stores are lmdb:<dir> or postgres://<host>/<database>; <from> can also be archive:<file>, an archive of ashlar export.',
    )
  addJsonOption(command).action(async (from: string, to: string, options: ResultOptions) => {
    const archive = /^archive:(.+)$/.exec(from)?.[1]
    const addresses = archive === undefined ? [from, to] : [to]
    await refuseAddresses(addresses)
    refuseForeignFiles(to)
    return inChild('copy', addresses, (signal) =>
      archive === undefined ? copy(from, to, options, signal) : copyFromArchive(archive, to, options, signal),
    )
  })
}

async function copy(from: string, to: string, options: ResultOptions, signal: AbortSignal): Promise<void> {
  const { copyStore, openStore } = await import('@ashlar/engine')
  // First, since opening the target makes its directory: a mistyped source leaves nothing behind.
  const source = await openStore(from, { isReadOnly: true })
  try {
    refuseSame(from, to)
    const target = await openStore(to)
    try {
      const report = await withProgress(options, (onProgress) => copyStore(source, target, { signal, onProgress }))
      const [sourceLocation, targetLocation] = [source.capabilities.location, target.capabilities.location]
      printResult({ from: sourceLocation, to: targetLocation, ...report }, options, () => [
        copyLine(report, source, target),
      ])
    } catch (error) {
      if (!signal.aborted) throw resumable(error, target.capabilities.location)
      throw interruptedError('The copy was stopped; run the same command again to resume it.')
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

function refuseSame(from: string, to: string): void {
  const source = storeDirectory(from)
  if (source !== undefined && isDirectoryOf(source, to)) throw usageError('A store cannot be copied into itself.')
}

async function copyFromArchive(path: string, to: string, options: ResultOptions, signal: AbortSignal): Promise<void> {
  const { copyArchive } = await import('./archive/copy-archive.ts')
  try {
    const copied = await withProgress(options, (onProgress) => copyArchive(path, to, { signal, onProgress }))
    const { objects, head, report } = copied
    const { entries, checksum, isResumed } = report
    const content = `${numberText(objects)} objects of ${head.exportedAt}, ${numberText(entries)} entries`
    const how = `made anew, compared and verified, SHA-256 ${checksum}${isResumed ? ' (resumed)' : ''}`
    const result = { from: path, exportedAt: head.exportedAt, objects, ...report }
    printResult(result, options, () => [`Copied ${path}: ${content}, ${how}`])
  } catch (error) {
    if (!signal.aborted) throw error
    throw interruptedError('The copy was stopped; run the same command again.')
  }
}

function copyLine({ entries, bytes, checksum, isResumed }: CopyReport, source: Store, target: Store): string {
  const places = `${source.capabilities.location} → ${target.capabilities.location}`
  const size = `${numberText(entries)} entries, ${numberText(bytes)} bytes`
  return `Copied ${places}: ${size}, compared, SHA-256 ${checksum}${isResumed ? ' (resumed)' : ''}`
}
