/** The entry point of the `ashlar` program that `tools/build-program.mjs` bundles. */
import { readFileSync } from 'node:fs'

/** With a lower limit, Node may not even load the program's files, many of which it reads concurrently. */
const openFilesMin = 256

main().catch(reportOpenFilesLimit)

async function main(): Promise<void> {
  // With a low limit, the server may start and then wait forever for a worker that cannot receive messages.
  if (process.platform === 'linux' && openFilesOfLinux() < openFilesMin) throw new Error('too few open files')
  // Imported late, so that a failure can be reported in one sentence: Node's own errors blame an arbitrary file.
  const { runProgram: run } = await import('./program/run.ts')
  await run(process.argv.slice(2))
}

/** Reports the limit of open files as the cause of any failure if the limit is low; otherwise throws the error. */
function reportOpenFilesLimit(error: unknown): void {
  const openFilesMax = Math.min(
    openFilesLimit(),
    process.platform === 'linux' ? openFilesOfLinux() : Number.POSITIVE_INFINITY,
  )
  if (openFilesMax >= openFilesMin) throw error
  const hint = `The limit of open files is ${openFilesMax}, and Ashlar needs ${openFilesMin} to start: raise it, as by \`ulimit -n 4096\`.`
  process.stderr.write(`ashlar: ${hint}\n`)
  process.exitCode = 1
}

/** Reads the limit in a fraction of the time of `openFilesLimit`. */
function openFilesOfLinux(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** Returns Infinity if there is no limit or it is unknown. */
function openFilesLimit(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: Record<string, { readonly soft: unknown }>
  }
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isNaN(soft) ? Number.POSITIVE_INFINITY : soft
}
