/** `ashlar compact`: returns the free space of a store to the file system, while a server uses the store. */

import type { Command } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'
import { interruptedError } from '../errors/command-error.ts'
import { printResult, type ResultOptions } from '../output/print-result.ts'
import { withProgress } from '../output/progress.ts'
import { numberText } from '../output/texts.ts'
import { inChild } from './in-child.ts'
import { refuseAddresses } from './store-failure.ts'

export function addCompactCommand(program: Command): void {
  const command = program
    .command('compact <store>')
    .description('Compact the file of a store, lmdb:<dir>, even while it is being served.')
  addJsonOption(command).action(async (store: string, options: ResultOptions) => {
    await refuseAddresses([store])
    return inChild('compact', [store], (signal) => compact(store, options, signal))
  })
}

async function compact(address: string, options: ResultOptions, signal: AbortSignal): Promise<void> {
  const { compactStore } = await import('@ashlar/engine')
  try {
    const report = await withProgress(options, (onProgress) => compactStore(address, { signal, onProgress }))
    const { entries, bytesBefore, bytesAfter, aloneMs } = report
    const sizes = [bytesBefore, bytesAfter].map((bytes) => numberText(bytes)).join(' → ')
    const waited = `commits waited for ${Math.ceil(aloneMs)} ms while the file was replaced`
    printResult(report, options, () => [
      `Compacted ${address}: ${sizes} bytes, ${numberText(entries)} entries; ${waited}.`,
    ])
  } catch (error) {
    if (!signal.aborted) throw error
    throw interruptedError('The compaction was stopped; the store is as it was.')
  }
}
