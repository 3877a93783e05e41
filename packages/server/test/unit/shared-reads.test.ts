/** Over which connections reads of requests that arrive together may share a snapshot. */
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ask, openSecure } from './open-secure.ts'
import { defineGadget, type OpenServer, openServer } from './open-server.ts'

function lmdb(): string {
  const directory = mkdtempSync(join(tmpdir(), 'ashlar-store.'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return `lmdb:${directory}`
}

/** Whether each snapshot that is made from now on shares with others. */
function watchSnapshots({ federatedDatabases: [fd] }: OpenServer): boolean[] {
  const seen: boolean[] = []
  const store = fd?.store
  if (store === undefined) throw new Error('a server has a federated database')
  const snapshot = store.snapshot.bind(store)
  store.snapshot = (options) => {
    const made = snapshot(options)
    if (!(made instanceof Promise)) seen.push(made.sharedRead !== undefined)
    return made
  }
  return seen
}

it('is done over HTTP/1.1 without TLS', async () => {
  const server = await openServer({ store: lmdb() })
  await defineGadget(server.app)
  await server.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.app.server.address() as AddressInfo
  const seen = watchSnapshots(server)
  await new Promise<void>((resolve, reject) => {
    request({ port, path: '/v1/schema' }, (response) => response.resume().on('end', resolve))
      .on('error', reject)
      .end()
  })
  expect(seen).toEqual([true])
})

it('is not done over HTTPS: a connection may be readable for what is no request', async () => {
  const server = await openSecure({ store: lmdb() })
  await defineGadget(server.app)
  const session = await server.session()
  const seen = watchSnapshots(server)
  expect((await ask(session, 'GET', '/v1/schema')).status).toBe(200)
  expect(seen).toEqual([false])
})
