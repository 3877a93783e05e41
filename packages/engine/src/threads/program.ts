/** The location of the statement threads' program: a separate file, also in the bundled program. */
const isCompiled = import.meta.url.endsWith('.js')

/** A worker thread cannot run TypeScript: from the sources, as in tests, it is the compiled program. */
export const threadProgram = new URL(
  isCompiled ? '../statement-thread.js' : '../../dist/statement-thread.js',
  import.meta.url,
)
