/** A server is told to stop while another process was stopped in the middle of a commit to its store, and a change waits for that. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { expect, it, onTestFinished } from 'vitest'
import { builtChild } from '../../../engine/test/store/children/child.ts'
import { start, temporaryDirectory } from './process.ts'

const holdWrites = new URL('../../../engine/test/store/children/hold-writes.ts', import.meta.url)

/** Resolves once another process holds LMDB's write lock, and is not going to release it. */
async function holdWriteLock(directory: string): Promise<void> {
  const holder = spawn(process.execPath, [builtChild(holdWrites), directory])
  onTestFinished(() => void holder.kill('SIGKILL'))
  expect(String((await once(holder.stdout, 'data'))[0])).toBe('open\n')
  holder.stdin.write('\n')
  expect(String((await once(holder.stdout, 'data'))[0])).toBe('holds\n')
}

it('it ends when its time is over, and says that it had to kill its worker', async () => {
  const directory = temporaryDirectory()
  const store = join(directory, 'store')
  writeFileSync(join(directory, 'ashlar.json'), '{"limits":{"stopMsMax":100}}')
  const server = start(['--port', '0', '--config', 'ashlar.json', '--fd', `main=lmdb:${store}`], {}, directory)
  const url = await server.url
  const client = new AshlarClient({ baseUrl: url, fdAlias: 'main' })
  await client.defineClasses([{ className: 'Gadget', isReferenceable: true, attributes: [] }])
  await holdWriteLock(store)
  const change = client.createObject('Gadget', {}).catch((error: unknown) => error)
  // Requests that come after it are answered: by then it waits.
  for (let nth = 0; nth < 20; nth++) await (await fetch(`${url}/health/live`)).text()
  server.child.kill('SIGTERM')
  const { code, stderr } = await server.ended
  expect(code).toBe(1)
  expect(stderr).toContain('a worker does not stop in time, and is killed')
  expect(await change).toBeInstanceOf(Error)
})
