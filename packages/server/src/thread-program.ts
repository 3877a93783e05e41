/** The path of the program of statement threads, in the same directory as the bundled program. */
const isCompiled = import.meta.url.endsWith('.js')

/** A worker thread cannot run TypeScript: for the sources, as in tests, this is the compiled program. */
export const threadProgram = new URL(
  isCompiled ? './statement-thread.js' : '../dist/statement-thread.js',
  import.meta.url,
)
