/** `ashlar compact`: returns the free space of a store to the file system, while a server uses the store. */
import type { Command } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'
import { CommandError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { printResult, type ResultOptions } from '../output/print-result.ts'
import { withProgress } from '../output/progress.ts'
import { inChild } from './in-child.ts'
import { refuseAddresses } from './store-failure.ts'

export function addCompactCommand(program: Command): void {
  const command = program
    .command('compact <store>')
    .description('Compact the file of a store, lmdb:<dir>, even while it is being served.')
  addJsonOption(command).action(async (store: string, options: ResultOptions) => {
    await refuseAddresses([store])
    const guarded = { work: 'compact', addresses: [store], lostExitCode: 1 } as const
    return inChild(guarded, (signal) => compact(store, options, signal))
  })
}

async function compact(address: string, options: ResultOptions, signal: AbortSignal): Promise<void> {
  const { compactStore } = await import('@ashlar/engine')
  try {
    const report = await withProgress(options, (onProgress) => compactStore(address, { signal, onProgress }))
    const { entries, bytesBefore, bytesAfter, aloneMs } = report
    const sizes = [bytesBefore, bytesAfter].map((bytes) => bytes.toLocaleString('en')).join(' → ')
    const waited = `commits waited for ${Math.ceil(aloneMs)} ms while the file was replaced`
    printResult(report, options, () => [
      `Compacted ${address}: ${sizes} bytes, ${entries.toLocaleString('en')} entries; ${waited}.`,
    ])
  } catch (error) {
    if (!signal.aborted) throw error
    throw new CommandError(exitCodes.interrupted, 'The compaction was stopped; the store is as it was.')
  }
}
