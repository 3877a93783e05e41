/** Two processes on the same data: one changes the schema, the other writes. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { outcome } from '../engine/open-fd.ts'
import { startChild } from '../store/children/child.ts'
import { freshAddress } from '../store/postgres-stores.ts'
import { isOnPostgres } from '../store/store-of-run.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'

// Every other round lets the change of type through.
const rounds = 2 * Math.ceil(Math.max(2, 6 * Number(process.env.ASHLAR_RUNS ?? 1)))
const value = (attributeName: string, storage: string, encoding: string): object => {
  return { attributesToChange: [{ attributeName, logicalType: 'integer', storage, encoding }] }
}

it('the next request of the other sees each change, and no write that an earlier schema allowed lands after it', async () => {
  const address = isOnPostgres ? freshAddress() : `lmdb:${await temporaryDirectory()}`
  const fd = await FederatedDatabase.open({ alias: 'test', store: await openStore(address) })
  await fd.defineClasses(
    [{ className: 'Item', isReferenceable: true, attributes: [{ attributeName: 'value0', logicalType: 'integer' }] }],
    'create',
  )
  await fd.createIndex({
    name: 'byValue',
    indexedClass: 'Item',
    isUnique: false,
    keyAttributes: [{ attributeName: 'value0' }],
  })
  const child = startChild(new URL('./children/write-objects.ts', import.meta.url), [address])
  const written = new Map<string, number>()
  const refused = new Map<string, number>()
  const answers: ((names: string[]) => void)[] = []
  let lines = 0
  let isReady = false
  const reading = (async () => {
    for await (const line of child.lines) {
      const [kind, first = '', ...rest] = line.split(' ')
      lines++
      if (kind === 'ready') isReady = true
      else if (kind === 'W') written.set(first, Number(rest[0]))
      else if (kind === 'R') refused.set(first, (refused.get(first) ?? 0) + 1)
      else if (kind === 'N') answers.shift()?.([first, ...rest])
    }
  })()
  while (!isReady) await new Promise((resolve) => setTimeout(resolve, 1))
  const namesSeen = (): Promise<string[]> => {
    return new Promise((resolve) => {
      answers.push(resolve)
      child.process.stdin.write('names\n')
    })
  }
  const someLines = async (): Promise<void> => {
    for (const enough = lines + 30; lines < enough; ) await new Promise((resolve) => setTimeout(resolve, 1))
  }

  const refusals = (): number => refused.get('ValueNotAllowed') ?? 0
  const narrowed: string[] = []
  for (let round = 1; round <= rounds; round++) {
    await fd.alterClass('Item', {
      attributesToRename: [{ originalName: `value${round - 1}`, newName: `value${round}` }],
    })
    expect((await namesSeen())[0]).toBe(`value${round}`)
    await someLines()
    if (round % 2 === 0) {
      child.process.stdin.write('small\n')
      await someLines()
      const { chunks } = await fd.query({
        text: `UPDATE Item WHERE value${round} > 255 SET value${round} TO 255 RETURN COUNT()`,
      })
      for await (const chunk of chunks) void chunk
    }
    narrowed.push(await outcome(fd.alterClass('Item', value(`value${round}`, 'b8', 'unsigned'))))
    child.process.stdin.write('large\n')
    if (narrowed.at(-1) === 'ok') {
      for (const before = refusals(); refusals() === before; ) await someLines()
      await fd.alterClass('Item', value(`value${round}`, 'b32', 'signed'))
    }
    await fd.alterClass('Item', { attributesToAdd: [{ attributeName: `more${round}`, logicalType: 'string' }] })
    expect(await namesSeen()).toContain(`more${round}`)
  }
  child.process.stdin.write('stop\n')
  await reading
  expect(await child.ended).toMatchObject({ code: 0, errors: '' })
  // Values that the other process was told are written are there: whole, or cut to 255 by this one's updates.
  expect(written.size).toBeGreaterThan(20)
  for (const [oid, last] of written) {
    const object = JSON.parse((await fd.readObject(oid)).toString()) as Record<string, unknown>
    expect([last, Math.min(last, 255)], `${oid}: ${JSON.stringify(object)}`).toContain(object[`value${rounds}`])
  }
  expect(narrowed.filter((type) => type === 'ok')).toHaveLength(rounds / 2)
  expect(new Set(narrowed)).toEqual(new Set(['ok', 'ValuesWouldBeLost']))
  for (const type of refused.keys()) expect(['ValueNotAllowed', 'UnknownAttribute', 'ObjectNotFound']).toContain(type)
  expect((await fd.verify()).problems).toEqual([])
  await fd.close()
})
