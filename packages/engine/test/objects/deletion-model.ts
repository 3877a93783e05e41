/** What follows from deletions (contract 10.4), in a model of objects that refer to each other by one attribute. */
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, outcome, read, toMany } from '../engine/open-fd.ts'

export type Rules = { readonly onTargetDelete: string; readonly onSourceDelete: string }

/** How an attribute keeps references, and how the body of an object gives them. */
export const kinds = {
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

export type Kind = keyof typeof kinds

export function nodeClass(kind: Kind, rules: Rules): object {
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
export function expected(
  edges: readonly (readonly number[])[],
  chosen: readonly number[],
  kind: Kind,
  rules: Rules,
): Outcome {
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

export async function leftIn(fd: FederatedDatabase, oids: readonly string[]): Promise<Outcome['left']> {
  const left: Record<number, readonly number[]> = {}
  for (const [i, oid] of oids.entries()) {
    if ((await outcome(Promise.resolve().then(() => fd.readObject(oid)))) !== 'ok') continue
    const { next } = await read(fd, oid)
    const targets = typeof next === 'string' ? [next] : Object.values(next as object)
    left[i] = targets.filter((one) => one !== '0-0-0-0').map((one) => oids.indexOf(one as string))
  }
  return left
}

/** The elements of a set have no order. */
export function sorted({ type, left }: Outcome): Outcome {
  const entries = Object.entries(left).map(([source, targets]) => [source, [...targets].sort()])
  return { type, left: Object.fromEntries(entries) }
}
