/** `ashlar copy`: moves a federated database between stores. */
import { existsSync, realpathSync } from 'node:fs'
import type { CopyReport, Store } from '@ashlar/engine'
import type { Command } from 'commander'
import { closeAs } from '../security/close-to-others.ts'
import { inChild } from './in-child.ts'

export function addCopyCommand(program: Command): void {
  program
    .command('copy <from> <to>')
    .description('Copy a federated database into an empty store: lmdb:<dir> or postgres://<host>/<database>.')
    .action((from: string, to: string) => {
      const guarded = { work: 'copy', addresses: [from, to], lostExitCode: 1 } as const
      return inChild(guarded, (signal) => copy(from, to, signal))
    })
}

async function copy(from: string, to: string, signal: AbortSignal): Promise<void> {
  const { openStore } = await import('@ashlar/engine')
  // First, since opening the target makes its directory: a mistyped source leaves nothing behind.
  const source = await openStore(from, { isReadOnly: true })
  try {
    refuseSame(from, to)
    const target = await openStore(to)
    try {
      closeAs(from, to)
      const report = await copyWithBar(source, target, signal)
      process.stdout.write(`${told(report, source, target)}\n`)
    } catch (error) {
      if (!signal.aborted) throw error
      throw new Error('The copy was stopped; run the same command again to resume it.')
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

function refuseSame(from: string, to: string): void {
  const [source, target] = [from, to].map((address) => /^lmdb:(.+)$/.exec(address)?.[1])
  if (source === undefined || target === undefined || !existsSync(target)) return
  if (realpathSync(source) === realpathSync(target)) throw new Error('A store cannot be copied into itself.')
}

/** The bar goes to standard error, and only where somebody looks. */
async function copyWithBar(source: Store, target: Store, signal: AbortSignal): Promise<CopyReport> {
  const [{ copyStore }, { SingleBar }] = await Promise.all([import('@ashlar/engine'), import('cli-progress')])
  const bar = new SingleBar({ format: '{step} [{bar}] {percentage} % · {value} entries · {eta_formatted} left' })
  let shown: string | undefined
  try {
    return await copyStore(source, target, {
      signal,
      onProgress(step, done, total) {
        if (shown === step) bar.update(done)
        else bar.start(Math.max(total, done), done, { step })
        shown = step
      },
    })
  } finally {
    bar.stop()
  }
}

function told({ entries, bytes, checksum, isResumed }: CopyReport, source: Store, target: Store): string {
  const places = `${source.capabilities.location} → ${target.capabilities.location}`
  const size = `${entries.toLocaleString('en')} entries, ${bytes.toLocaleString('en')} bytes`
  return `Copied ${places}: ${size}, compared, SHA-256 ${checksum}${isResumed ? ' (resumed)' : ''}`
}
