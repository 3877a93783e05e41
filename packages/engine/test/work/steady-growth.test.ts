/** Nothing that a statement holds of very many objects is copied or sorted in one piece: others would wait for that. */

import { expect, it } from 'vitest'
import { entriesOfOneMap } from '../../src/budget/steady-map.ts'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, index, withFd } from '../engine/open-fd.ts'
import { rowValues } from '../row-texts.ts'
import { largestDuring } from './count-work.ts'

const many = entriesOfOneMap + 1_000
const created = 6_000

async function rowsOf(fd: FederatedDatabase, text: string): Promise<unknown[]> {
  return rowValues(await fd.query({ text }))
}

it('objects, their entries, groups and sorted rows', () =>
  withFd([classOf('Part', { code: 'integer', name: 'string' })], async (fd) => {
    await fd.createIndex(index('byCode', 'Part', true, 'code'))
    for (let at = 0; at < many; at += created) {
      const requests = Array.from({ length: Math.min(created, many - at) }, (_, i) => {
        return { class: 'Part', attributes: { code: at + i, name: `n${(7 * (at + i)) % many}` } }
      })
      await fd.createObjects(requests)
    }
    const texts = [
      'FROM Part GROUP BY name RETURN COUNT() AS n',
      `FROM Part ORDER BY name TAKE 12000 RETURN name`,
      `UPDATE Part SET code TO code + ${many} RETURN COUNT() AS n`,
      'DELETE Part RETURN COUNT() AS n',
    ]
    for (const text of texts) {
      let rows: unknown[] = []
      const { held, sorted } = await largestDuring(async () => {
        rows = await rowsOf(fd, text)
      })
      expect(rows.length, text).toBeGreaterThan(0)
      expect(held, text).toBeLessThanOrEqual(entriesOfOneMap)
      expect(sorted, text).toBeLessThanOrEqual(2_048)
    }
  }))
