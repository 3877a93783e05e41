/** Deletions that follow from others (contract 10.4), compared with a model of objects in memory. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { outcome, withFd } from '../engine/open-fd.ts'
import { rowTexts } from '../row-texts.ts'
import { expected, type Kind, kinds, leftIn, nodeClass, sorted } from './deletion-model.ts'

const onTarget = ['keep', 'clear', 'restrict', 'delete'] as const
const onSource = ['keep', 'delete', 'deleteUnreferenced'] as const

async function rowsOf(fd: FederatedDatabase, text: string): Promise<string[]> {
  return rowTexts(await fd.query({ text }))
}

const graphs = (kind: Kind) =>
  fc.integer({ min: 2, max: 7 }).chain((count) => {
    const node = fc.integer({ min: 0, max: count - 1 })
    const isMany = kind !== 'single' && kind !== 'paired'
    const targets = isMany
      ? fc
          .uniqueArray(node, { maxLength: 3 })
          .chain((some) => fc.constant(kind === 'tree' || kind === 'array' ? [...some, ...some.slice(0, 1)] : some))
      : fc.uniqueArray(node, { maxLength: 1 })
    return fc.record({
      edges: fc.array(targets, { minLength: count, maxLength: count }),
      chosen: fc.uniqueArray(node, { minLength: 1, maxLength: 2 }),
    })
  })

describe.each(Object.keys(kinds) as Kind[])('references kept as %s', (kind) => {
  it.each(onTarget.flatMap((one) => onSource.map((other) => [one, other] as const)))(
    'follow onTargetDelete %s and onSourceDelete %s',
    async (onTargetDelete, onSourceDelete) => {
      const rules = { onTargetDelete, onSourceDelete }
      let runs = 0
      await withFd([nodeClass(kind, rules)], async (fd) => {
        await fc.assert(
          fc.asyncProperty(graphs(kind), async ({ edges, chosen }) => {
            const run = ++runs
            const oids = await fd.createObjects(
              edges.map((_, i) => ({ class: 'Node', attributes: { n: chosen.includes(i) ? run : 0 } })),
            )
            for (const [i, targets] of edges.entries()) {
              const next = kinds[kind].value(targets.map((target) => oids[target] as string))
              await fd.updateObject(oids[i] as string, { next })
            }
            const wanted = expected(edges, chosen, kind, rules)
            const type = await outcome(rowsOf(fd, `DELETE Node WHERE n = ${run}`))
            const found = { type, left: await leftIn(fd, oids) }
            expect(kind === 'set' ? sorted(found) : found).toEqual(kind === 'set' ? sorted(wanted) : wanted)
          }),
          { numRuns: 8 },
        )
      })
    },
  )
})
