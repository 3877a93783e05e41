/** The file of the program of statement threads, which the bundled program has beside its others. */
const isCompiled = import.meta.url.endsWith('.js')

/** A worker thread cannot run TypeScript: from the sources, as in tests, it is the compiled program. */
export const threadProgram = new URL(
  isCompiled ? './statement-thread.js' : '../dist/statement-thread.js',
  import.meta.url,
)
