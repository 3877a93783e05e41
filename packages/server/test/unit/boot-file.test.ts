/** Which federated database a boot file means. */
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { bootFileAgrees } from '../../src/tools/boot-file.ts'
import { openServer } from './open-server.ts'

const original = { store: 'lmdb:/data/fleet.ashlar', bootFile: '/old/vehicles.boot' }

it.each([
  ['fleet', original],
  ['/old/vehicles.boot', original],
  ['/old/../old/vehicles.boot', original],
  ['/anywhere/vehicles.fdb', original],
  ['D:\\old\\vehicles.boot', original],
  ['lmdb:/data/fleet.ashlar', original],
  ['/data/fleet.ashlar', original],
  ['postgres://db/x?schema=a', { store: 'postgres://me:secret@db/x?schema=a' }],
  ['/data/fleet.ashlar/', original],
  ['x/fleet.ashlar.boot', original],
  ['fleet.boot', original],
  ['lmdb:./data/trucks', { store: 'lmdb:./data/trucks' }],
  [resolve('data/trucks'), { store: 'lmdb:./data/trucks' }],
  ['/old/trucks.boot', { store: 'lmdb:./data/trucks' }],
  ['postgres://db.example.com/fleet', { store: 'postgres://me:secret@db.example.com/fleet' }],
  ['postgres://me:secret@db.example.com/fleet', { store: 'postgres://me:secret@db.example.com/fleet' }],
  ['memory:', { store: 'memory:' }],
])('%s agrees with the federated database fleet at %j', (bootFile, place) => {
  expect(bootFileAgrees(bootFile, 'fleet', place)).toBe(true)
})

it.each([
  ['FLEET', original],
  ['postgres://db/x?schema=b', { store: 'postgres://me:secret@db/x?schema=a' }],
  ['/fleet.boot/x', original],
  ['other.boot', original],
  ['.boot', original],
  ['postgres://db.example.com/other', { store: 'postgres://me:secret@db.example.com/fleet2' }],
])('%s does not agree with the federated database fleet at %j', (bootFile, place) => {
  expect(bootFileAgrees(bootFile, 'fleet', place)).toBe(false)
})

it('is taken where there is one federated database, and told', async () => {
  const { app } = await openServer()
  const tool = async (flags: object) => {
    return (await app.inject({ method: 'POST', url: '/v1/tool', payload: { tool: 'ListIndexes', flags } })).json()
  }
  const note =
    /^The bootFile '\/old\/none\.boot' is not known here: the federated database \w+ was taken, the only one\./
  expect(await tool({ bootFile: '/old/none.boot' })).toEqual({
    returnCode: 0,
    toolOutput: expect.stringMatching(note),
    toolError: '',
  })
  const failed = await app.inject({
    method: 'POST',
    url: '/v1/tool',
    payload: { tool: 'DropIndex', flags: { name: 'x', bootFile: '/old/none.boot' } },
  })
  expect(failed.json()).toMatchObject({ returnCode: 1, toolOutput: expect.stringMatching(note) })
})
