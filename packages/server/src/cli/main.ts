#!/usr/bin/env node
/** What `ashlar` runs. */

/** With fewer, Node may not even load the program's files; it reads many at once. */
const openFilesMin = 256

try {
  // Imported only now, so that a failure can be told in a sentence: Node's own errors blame whichever file it was.
  const { run } = await import('./run.ts')
  await run(process.argv.slice(2))
} catch (error) {
  const openFilesMax = openFilesLimit()
  if (openFilesMax >= openFilesMin) throw error
  const hint = `The limit of open files is ${openFilesMax}, and Ashlar needs ${openFilesMin} to start: raise it, as by \`ulimit -n 4096\`.`
  process.stderr.write(`ashlar: ${hint}\n`)
  process.exitCode = 1
}

/** Infinity where there is none, and where it is not known. */
function openFilesLimit(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: Record<string, { readonly soft: unknown }>
  }
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isNaN(soft) ? Number.POSITIVE_INFINITY : soft
}
