/** Starts a child script and reads its lines; what is still running after a test is ended. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'

export interface Child {
  readonly process: ChildProcessWithoutNullStreams
  /** What the child writes to its output, line by line; a last line without its end is left out. */
  readonly lines: AsyncIterableIterator<string>
  /** Resolves when the child has ended and all its output was received. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; errors: string }>
}

const tests = fileURLToPath(new URL('../../', import.meta.url))

/** The program that was built of a script in TypeScript: see `tools/children-for-tests.ts`. */
export function builtChild(script: URL): string {
  return join(inject('children'), relative(tests, fileURLToPath(script))).replace(/\.ts$/, '.mjs')
}

/** Within a test. `limit` is a shell command that runs before the child, in its process. */
export function startChild(script: URL, args: readonly string[], limit?: string): Child {
  const command = [process.execPath, builtChild(script), ...args]
  const child =
    limit === undefined
      ? spawn(command[0]!, command.slice(1))
      : spawn('bash', ['-c', `${limit}; exec "$@"`, 'bash', ...command])
  onTestFinished(() => void child.kill('SIGKILL'))
  return { process: child, lines: linesOf(child), ended: endOf(child) }
}

async function endOf(child: ChildProcessWithoutNullStreams): Promise<Awaited<Child['ended']>> {
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const [code, signal] = await once(child, 'close')
  return { code, signal, errors }
}

function linesOf(child: ChildProcessWithoutNullStreams): AsyncIterableIterator<string> {
  return createInterface({ input: child.stdout })[Symbol.asyncIterator]()
}
