/** Deletions that follow from others (contract 10.4), compared with a model of objects in memory. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, outcome, read, toMany, withFd } from '../engine/open-fd.ts'
import { rowTexts } from '../row-texts.ts'

const onTarget = ['keep', 'clear', 'restrict', 'delete'] as const
const onSource = ['keep', 'delete', 'deleteUnreferenced'] as const
type Rules = { readonly onTargetDelete: string; readonly onSourceDelete: string }

/** How an attribute keeps references, and how the body of an object gives them. */
const kinds = {
  single: { of: (reference: object) => reference, value: (targets: readonly string[]) => targets[0] ?? '0-0-0-0' },
  array: { of: (element: object) => ({ logicalType: 'list', elementSpecification: element }), value: asList },
  tree: {
    of: (element: object) => ({
      logicalType: 'list',
      collectionTypeName: 'TreeListOfReferences',
      elementSpecification: element,
    }),
    value: asList,
  },
  set: { of: (element: object) => ({ logicalType: 'set', elementSpecification: element }), value: asList },
  map: {
    of: (element: object) => ({
      logicalType: 'map',
      keySpecification: { logicalType: 'string' },
      elementSpecification: element,
    }),
    value: (targets: readonly string[]) => Object.fromEntries(targets.map((target, i) => [`k${i}`, target])),
  },
  paired: { of: (reference: object) => reference, value: (targets: readonly string[]) => targets[0] ?? '0-0-0-0' },
  pairedMany: { of: (element: object) => ({ logicalType: 'list', elementSpecification: element }), value: asList },
} as const

function asList(targets: readonly string[]): readonly string[] {
  return targets
}

type Kind = keyof typeof kinds

function nodeClass(kind: Kind, rules: Rules): object {
  const inverse = kind === 'paired' || kind === 'pairedMany' ? { inverseAttribute: 'back' } : {}
  const next = kinds[kind].of({ logicalType: 'reference', referencedClass: 'Node', ...inverse, ...rules })
  return classOf('Node', {
    n: 'integer',
    next,
    ...(kind === 'paired' || kind === 'pairedMany' ? { back: toMany('Node', 'next') } : {}),
  })
}

interface Outcome {
  readonly type: string
  /** Of each object that is left: the positions of those that it refers to, dangling ones too. */
  readonly left: Readonly<Record<number, readonly number[]>>
}

/** `edges`: of each object, those that it refers to, each named once for sets and pairs. */
function expected(edges: readonly (readonly number[])[], chosen: readonly number[], kind: Kind, rules: Rules): Outcome {
  const gone = new Set(chosen)
  for (let before = -1; before !== gone.size; ) {
    before = gone.size
    for (const [source, targets] of edges.entries()) {
      for (const target of targets) {
        if (rules.onTargetDelete === 'delete' && gone.has(target)) gone.add(source)
        if (rules.onSourceDelete === 'delete' && gone.has(source)) gone.add(target)
        const isKept = edges.some((others, other) => other !== target && !gone.has(other) && others.includes(target))
        if (rules.onSourceDelete === 'deleteUnreferenced' && gone.has(source) && !isKept) gone.add(target)
      }
    }
  }
  const rest = edges.flatMap((targets, source) => (gone.has(source) ? [] : [{ source, targets }]))
  const isRestricted =
    rules.onTargetDelete === 'restrict' && rest.some(({ targets }) => targets.some((t) => gone.has(t)))
  if (isRestricted) return { type: 'DeleteRestricted', left: Object.fromEntries(edges.entries()) }
  const isCleared = rules.onTargetDelete === 'clear' || kind === 'paired' || kind === 'pairedMany'
  const left = rest.map(({ source, targets }): [number, readonly number[]] => {
    return [source, isCleared ? targets.filter((t) => !gone.has(t)) : targets]
  })
  return { type: 'ok', left: Object.fromEntries(left) }
}

async function leftIn(fd: FederatedDatabase, oids: readonly string[]): Promise<Outcome['left']> {
  const left: Record<number, readonly number[]> = {}
  for (const [i, oid] of oids.entries()) {
    if ((await outcome(Promise.resolve().then(() => fd.readObject(oid)))) !== 'ok') continue
    const { next } = await read(fd, oid)
    const targets = typeof next === 'string' ? [next] : Object.values(next as object)
    left[i] = targets.filter((one) => one !== '0-0-0-0').map((one) => oids.indexOf(one as string))
  }
  return left
}

async function rowsOf(fd: FederatedDatabase, text: string): Promise<string[]> {
  return rowTexts(await fd.query({ text }))
}

/** The elements of a set have no order. */
function sorted({ type, left }: Outcome): Outcome {
  const entries = Object.entries(left).map(([source, targets]) => [source, [...targets].sort()])
  return { type, left: Object.fromEntries(entries) }
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
