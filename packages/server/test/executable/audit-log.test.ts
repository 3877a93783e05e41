/** The audit log of a server of several processes, whose file is moved away as logrotate does. */
import { readdirSync, readFileSync, readlinkSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { AshlarClient } from '@ashlar/client'
import { expect, it } from 'vitest'
import { childrenOf } from '../process-tree.ts'
import { start, temporaryDirectory } from './process.ts'

function linesIn(file: string): number {
  return readFileSync(file, 'utf8').split('\n').length - 1
}

/** Files that a process has open, by their present names. */
function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      // Closed meanwhile.
      return []
    }
  })
}

it.runIf(process.platform === 'linux')(
  'all processes let go of a moved audit log on SIGHUP, and write a new one',
  async () => {
    const directory = temporaryDirectory()
    const [file, moved] = [join(directory, 'audit.ndjson'), join(directory, 'audit.ndjson.moved')]
    const server = start(['serve', '--port', '0', '--workers', '2', '--audit-log', file, '--log-level', 'error'])
    const client = new AshlarClient({ baseUrl: await server.url })
    await client.defineClasses([
      { className: 'City', isReferenceable: true, attributes: [{ attributeName: 'name', logicalType: 'string' }] },
    ])
    // The definition of the class has a line as well.
    let requests = 1
    const createSome = async () => {
      await Promise.all(Array.from({ length: 8 }, () => client.createObject('City', { name: 'Lima' })))
      requests += 8
    }
    const workers = () => childrenOf(server.child.pid as number)
    const holders = (name: string) => workers().filter((pid) => openFiles(pid).includes(name))
    // Connections are shared out among the workers: each has written at last.
    await expect
      .poll(async () => {
        await createSome()
        return holders(file).length
      })
      .toBe(2)
    renameSync(file, moved)
    server.child.kill('SIGHUP')
    await expect.poll(() => holders(moved)).toEqual([])
    const before = linesIn(moved)
    await createSome()
    // Lines are written a moment after their reply: the new file may have some of requests before the signal.
    await expect.poll(() => linesIn(file)).toBe(requests - before)
    expect(linesIn(moved)).toBe(before)
    server.child.kill('SIGTERM')
    expect(await server.ended).toMatchObject({ code: 0 })
  },
)
