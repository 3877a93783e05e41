/** The location of the statement threads' program: a separate file, also in the bundled program. */
const isCompiled = import.meta.url.endsWith('.js')

/** Worker threads cannot run TypeScript: from the sources, as in tests, the compiled program is used. */
export const threadProgram = new URL(
  isCompiled ? '../statement-thread.js' : '../../dist/statement-thread.js',
  import.meta.url,
)
