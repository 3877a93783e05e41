/** Entries of indexes and links that name an object which is not there: what is stored contradicts itself, and no row is left out silently. */
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import { objectKey } from '../../src/records/object-key.ts'
import type { Oid } from '../../src/types/oid.ts'
import { classOf, index, toMany, toOne } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'

const classes = [
  classOf('Part', { code: 'integer', name: 'string', hub: toOne('Hub', 'parts'), next: toOne('Part') }),
  classOf('Hub', { title: 'string', parts: toMany('Part', 'hub') }),
]

it('queries that come by such an entry say so', async () => {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'test', store })
  await fd.defineClasses(classes, 'create')
  for (const one of [index('byCode', 'Part', true, 'code'), index('byName', 'Part', false, 'name')])
    await fd.createIndex(one)
  await fd.createIndex(index('byNext', 'Part', false, 'next'))
  await fd.createIndex(index('byTitle', 'Hub', true, 'title'))
  const hub = await fd.createObject('Hub', { title: 'h' })
  const kept = await fd.createObject('Part', { code: 1, name: 'a', hub })
  const lost = await fd.createObject('Part', { code: 2, name: 'b', hub, next: kept })
  const rows = async (text: string): Promise<unknown[]> => rowValues(await fd.query({ text }))
  const texts = {
    'FROM Part WHERE code = 2 RETURN code': "index 'byCode'",
    'FROM Part WHERE code IN LIST {1, 2} RETURN code': "index 'byCode'",
    "FROM Part WHERE name > 'a' RETURN code": "index 'byName'",
    'FROM Part ORDER BY code RETURN code': "index 'byCode'",
    'FROM Part ORDER BY name RETURN code': "index 'byName'",
    "FROM Part WHERE code = 2 OR name = 'b' RETURN code": "index 'byCode' or index 'byName'",
    'FROM Part WHERE next.code = 1 RETURN code': "index 'byNext'",
    "FROM Part WHERE hub.title = 'h' RETURN code": 'attribute parts',
    'UPDATE Part WHERE code = 2 SET name TO name': "index 'byCode'",
  }
  for (const text of Object.keys(texts)) await expect(rows(text), text).resolves.not.toEqual([])
  await store.commit({ changes: [{ kind: 'delete', key: objectKey(lost as Oid) }], preconditions: [] })
  for (const [text, entries] of Object.entries(texts)) {
    await expect(rows(text), text).rejects.toMatchObject({
      type: 'DataCorruption',
      message: `What is stored contradicts itself: ${entries} names object ${lost}, which is not there. Run 'ashlar verify' on the store.`,
    })
  }
  // An OID that is given may name nothing, and other objects are found as ever.
  expect(await rows(`FROM Part WHERE $$ID = ${lost} RETURN code`)).toEqual([])
  expect(await rows('FROM Part WHERE code = 1 RETURN code')).toEqual([{ code: 1 }])
  expect(await rows(`FROM Part WHERE $$ID = ${lost} OR code = 1 RETURN code`)).toEqual([{ code: 1 }])
  await fd.close()
})
