/** Starts a program that has just been built once, and keeps the code that V8 compiles for that: the next starts take it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const keeper = fileURLToPath(new URL('program/keep-code.cjs', import.meta.url))

const startMsMax = 30_000

/**
 * Until it has answered a read. Where it does not start here, it does without: whoever starts it is told why.
 * @param {string} folder of the program
 */
export async function keepCodeOfStart(folder) {
  const data = mkdtempSync(join(tmpdir(), 'ashlar-start-'))
  const words = ['serve', '--port', '0', '--fd', `fd=lmdb:${join(data, 'fd')}`, '--log-level', 'warn']
  const child = spawn(process.execPath, ['--require', keeper, join(folder, 'ashlar.cjs'), ...words], {
    cwd: data,
    env: { ...ownEnvironment(), PROGRAM_FOLDER: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'exit')
  const timeout = setTimeout(() => child.kill('SIGKILL'), startMsMax)
  try {
    let told = ''
    for await (const piece of child.stdout) {
      told += piece
      const url = /http:\/\/[\d.:]+/.exec(told)?.[0]
      if (url === undefined) continue
      await fetch(`${url}/v1/object/3-3-1-1`)
        .then((reply) => reply.text())
        .catch(() => undefined)
      break
    }
  } finally {
    child.kill('SIGTERM')
    await ended
    clearTimeout(timeout)
    rmSync(data, { recursive: true, force: true })
  }
}

/** Without what configures a server, or Node. */
function ownEnvironment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(ASHLAR|NODE|npm)_/i.test(name)))
}
