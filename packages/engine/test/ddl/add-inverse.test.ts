/** An existing reference is given an inverse, which has the links of all objects that are there, or loses it again. */
import { describe, expect, it } from 'vitest'
import type { FederatedDatabase } from '../../src/federated-database.ts'
import { classOf, index, outcome, read, toMany, toOne, withFd } from '../engine/open-fd.ts'
import { refusal } from './changing-shop.ts'

const setOf = (referencedClass: string, inverseAttribute?: string): object => ({
  logicalType: 'set',
  elementSpecification: toOne(referencedClass, inverseAttribute),
})

const plain = [
  classOf('V.A', { n: 'string' }),
  classOf('V.B', { a: toOne('V.A'), n: 'integer' }),
  classOf('V.C', {}, { superClass: 'V.B' }),
  classOf('V.D', {}, { superClass: 'V.A' }),
]
const addition = (inverse: object): object[] => [
  classOf('V.A', { bs: inverse }),
  classOf('V.B', { a: toOne('V.A', 'bs') }),
]
const listed = addition(toMany('V.B', 'a'))

interface Linked {
  readonly targets: readonly string[]
  readonly sources: readonly string[]
}

/** Two objects of V.A, the second of a subclass, and objects of V.B that refer to them in turn; the third to none. */
async function fill(fd: FederatedDatabase, count = 7): Promise<Linked> {
  const targets = [await fd.createObject('V.A', { n: 'x' }), await fd.createObject('V.D', { n: 'y' })]
  const sources: string[] = []
  for (let n = 0; n < count; n++) {
    const a = n === 2 ? '0-0-0-0' : targets[n % 2]
    sources.push(await fd.createObject(n % 3 === 1 ? 'V.C' : 'V.B', { a, n }))
  }
  return { targets, sources }
}

const ofTarget = async (fd: FederatedDatabase, { sources }: Linked, target: unknown): Promise<string[]> => {
  const found: string[] = []
  for (const oid of sources) if ((await read(fd, oid)).a === target) found.push(oid)
  return found
}
const sorted = (oids: unknown): string[] => [...(oids as string[])].sort()

describe('a single reference', () => {
  it.each([
    ['a list', toMany('V.B', 'a')],
    ['a set', setOf('V.B', 'a')],
  ])('is given %s as inverse by a batch that adds it', async (_name, inverse) => {
    await withFd(plain, async (fd) => {
      const linked = await fill(fd)
      await fd.createIndex(index('byA', 'V.B', false, 'a'))
      expect(await fd.defineClasses(addition(inverse), 'createOrExtend')).toHaveLength(2)
      for (const target of linked.targets) {
        const of = sorted((await read(fd, target)).bs)
        expect(of).toEqual(sorted(await ofTarget(fd, linked, target)))
        expect(of.length).toBeGreaterThan(2)
      }
      const [first = '', second = ''] = linked.sources
      await fd.deleteObject(second)
      await fd.updateObject(first, { a: linked.targets[1] })
      expect((await read(fd, linked.targets[1] as string)).bs).toContain(first)
      expect((await read(fd, linked.targets[0] as string)).bs).not.toContain(first)
    })
  })

  it('keeps the order of the objects in the list', async () => {
    await withFd(plain, async (fd) => {
      const { targets } = await fill(fd)
      await fd.defineClasses(listed, 'createOrExtend')
      const bs = (await read(fd, targets[0] as string)).bs as string[]
      const slots = bs
        .filter((oid) => oid.startsWith(`${bs[0]?.split('-').slice(0, 3).join('-')}-`))
        .map((oid) => Number(oid.split('-')[3]))
      expect(slots).toEqual([...slots].sort((one, other) => one - other))
    })
  })

  it('is given a single reference as inverse where no two refer to the same object', async () => {
    await withFd(plain, async (fd) => {
      const { targets, sources } = await fill(fd, 2)
      await fd.defineClasses(addition(toOne('V.B', 'a')), 'createOrExtend')
      for (const [i, target] of targets.entries()) expect((await read(fd, target)).bs).toBe(sources[i])
    })
  })

  it('is refused a single one where two do, with counts and an example, and nothing changes', async () => {
    await withFd(plain, async (fd) => {
      const linked = await fill(fd)
      const before = await fd.listClasses()
      const error = await refusal(fd.defineClasses(addition(toOne('V.B', 'a')), 'createOrExtend'))
      expect(error.type).toBe('ValuesWouldBeLost')
      expect(error.extensions).toEqual({ valuesLost: [{ className: 'V.B', attributeName: 'a', values: 4 }] })
      expect(error.message).toMatch(/4 values of a of class V\.B \(object \S+ refers to \S+, as another object does\)/)
      expect((await fd.listClasses()).map(({ attributes }) => attributes)).toEqual(
        before.map(({ attributes }) => attributes),
      )
      for (const target of linked.targets) expect(await ofTarget(fd, linked, target)).toHaveLength(3)
      await expect(fd.previewClasses(addition(toOne('V.B', 'a')), 'createOrExtend')).rejects.toMatchObject({
        message: error.message,
      })
      await fd.defineClasses(addition(toOne('V.B', 'a')), 'createOrExtend', { isLossAllowed: true })
      for (const target of linked.targets) expect(await ofTarget(fd, linked, target)).toHaveLength(1)
    })
  })

  it('whose object does not exist is counted, and cleared where that is allowed', async () => {
    await withFd(plain, async (fd) => {
      const linked = await fill(fd)
      await fd.deleteObject(linked.targets[0] as string)
      const error = await refusal(fd.defineClasses(listed, 'createOrExtend'))
      expect(error).toMatchObject({ type: 'ValuesWouldBeLost', extensions: { valuesLost: [{ values: 3 }] } })
      expect(error.message).toContain('which does not exist')
      expect(await ofTarget(fd, linked, linked.targets[0])).toHaveLength(3)
      const report = await fd.previewClasses(listed, 'createOrExtend', { isLossAllowed: true })
      expect(report.valuesLost).toEqual([{ className: 'V.B', attributeName: 'a', values: 3 }])
      await fd.defineClasses(listed, 'createOrExtend', { isLossAllowed: true })
      expect(await ofTarget(fd, linked, '0-0-0-0')).toHaveLength(4)
      expect((await read(fd, linked.targets[1] as string)).bs).toHaveLength(3)
    })
  })

  it('is paired with an attribute of its own class by one change of the class', async () => {
    await withFd([classOf('Node', { parent: toOne('Node') })], async (fd) => {
      const root = await fd.createObject('Node', {})
      const children = [
        await fd.createObject('Node', { parent: root }),
        await fd.createObject('Node', { parent: root }),
      ]
      await fd.updateObject(root, { parent: root })
      await fd.alterClass('Node', {
        attributesToChange: [{ attributeName: 'parent', ...toOne('Node', 'children') }],
        attributesToAdd: [{ attributeName: 'children', ...toMany('Node', 'parent') }],
      })
      expect(sorted((await read(fd, root)).children)).toEqual(sorted([root, ...children]))
    })
  })
})

describe('references in collections', () => {
  const many = (kind: (cls: string, inverse?: string) => object): object[] => [
    classOf('V.A', { n: 'string' }),
    classOf('V.B', { as: kind('V.A') }),
  ]
  const pair = (kind: (cls: string, inverse?: string) => object, inverse: object): object[] => [
    classOf('V.B', { as: kind('V.A', 'bs') }),
    classOf('V.A', { bs: inverse }),
  ]
  const treeList = (cls: string, inverse?: string): object => ({
    ...toMany(cls, inverse),
    collectionTypeName: 'TreeListOfReferences',
  })

  it.each([
    ['a list', toMany],
    ['a list by name', treeList],
    ['a set', setOf],
  ])('of %s are given a collection, or a single reference, as inverse', async (_name, kind) => {
    await withFd(many(kind), async (fd) => {
      const targets = [
        await fd.createObject('V.A', {}),
        await fd.createObject('V.A', {}),
        await fd.createObject('V.A', {}),
      ]
      const [x = '', y = '', z = ''] = targets
      const one = await fd.createObject('V.B', { as: [y, x] })
      const other = await fd.createObject('V.B', { as: [x, z] })
      const error = await refusal(fd.defineClasses(pair(kind, toOne('V.B', 'as')), 'createOrExtend'))
      expect(error).toMatchObject({ type: 'ValuesWouldBeLost', extensions: { valuesLost: [{ values: 1 }] } })
      await fd.defineClasses(pair(kind, setOf('V.B', 'as')), 'createOrExtend')
      expect(sorted((await read(fd, x)).bs)).toEqual(sorted([one, other]))
      expect((await read(fd, y)).bs).toEqual([one])
      expect((await read(fd, one)).as).toEqual(kind === setOf ? sorted([x, y]) : [y, x])
    })
  })

  it('lose what is twice in a list, and what is not there, only where that is allowed', async () => {
    await withFd(many(toMany), async (fd) => {
      const [x, y, gone] = [
        await fd.createObject('V.A', {}),
        await fd.createObject('V.A', {}),
        await fd.createObject('V.A', {}),
      ]
      const b = await fd.createObject('V.B', { as: [x, y, x, gone, '0-0-0-0'] })
      await fd.deleteObject(gone)
      const change = pair(toMany, toMany('V.B', 'as'))
      const error = await refusal(fd.defineClasses(change, 'createOrExtend'))
      expect(error).toMatchObject({ type: 'ValuesWouldBeLost', extensions: { valuesLost: [{ values: 3 }] } })
      expect((await read(fd, b)).as).toEqual([x, y, x, gone, '0-0-0-0'])
      await fd.defineClasses(change, 'createOrExtend', { isLossAllowed: true })
      expect((await read(fd, b)).as).toEqual([x, y])
      expect((await read(fd, x)).bs).toEqual([b])
    })
  })
})

describe('an inverse is refused', () => {
  const refused = async (change: object[], words: string): Promise<void> => {
    await withFd([...plain, classOf('V.E', { others: toMany('V.B') })], async (fd) => {
      await fill(fd)
      const error = await refusal(fd.defineClasses(change, 'createOrExtend'))
      expect(error.message).toContain(words)
    })
  }
  it('where the attribute exists already', () =>
    refused([classOf('V.B', { a: toOne('V.A', 'n') })], 'which exists already. An inverse is added, under a new name'))
  it('together with another class', () =>
    refused(
      [classOf('V.E', { bs: toMany('V.B', 'a') }), classOf('V.B', { a: toOne('V.E', 'bs') })],
      'exists as reference V.A',
    ))
  it('where the batch does not add it, with what to do', () =>
    refused([classOf('V.B', { a: toOne('V.A', 'bs') })], 'An inverse that is new is described in the same request'))
  it('where the batch does not give it to the reference, with what to do', () =>
    refused([classOf('V.A', { bs: toMany('V.B', 'a') })], 'list it in the same request'))
})

describe('an inverse is removed', () => {
  it('with cascade, and the references stay', async () => {
    await withFd(plain, async (fd) => {
      const linked = await fill(fd)
      await fd.defineClasses(listed, 'createOrExtend')
      await fd.createIndex(index('byA', 'V.B', false, 'a'))
      const change = { attributesToChange: [{ attributeName: 'a', ...toOne('V.A') }] }
      const error = await refusal(fd.alterClass('V.B', change))
      expect(error).toMatchObject({ type: 'AttributeInUse' })
      expect(error.message).toContain('a keeps its references')
      await fd.alterClass('V.B', change, { isCascading: true })
      expect(await read(fd, linked.targets[0] as string)).not.toHaveProperty('bs')
      expect(await ofTarget(fd, linked, linked.targets[0])).toHaveLength(3)
      await fd.deleteObject(linked.targets[0] as string)
      expect(await ofTarget(fd, linked, linked.targets[0])).toHaveLength(3)
      expect((await fd.verify()).problems).toEqual([])
      await fd.createObject('V.B', { a: linked.targets[1] })
      expect(await outcome(fd.defineClasses(listed, 'createOrExtend', { isLossAllowed: true }))).toBe('ok')
    })
  })

  it.each([
    ['a list', toMany],
    ['a set', setOf],
  ])('of %s too', async (_name, kind) => {
    await withFd([classOf('V.A', { bs: kind('V.B', 'as') }), classOf('V.B', { as: kind('V.A', 'bs') })], async (fd) => {
      const [x, y] = [await fd.createObject('V.A', {}), await fd.createObject('V.A', {})]
      const b = await fd.createObject('V.B', { as: [x, y] })
      await fd.alterClass(
        'V.B',
        { attributesToChange: [{ attributeName: 'as', ...kind('V.A') }] },
        { isCascading: true },
      )
      expect((await read(fd, b)).as).toEqual([x, y])
      expect(await read(fd, x)).not.toHaveProperty('bs')
      await fd.deleteObject(x)
      expect((await read(fd, b)).as).toEqual([x, y])
    })
  })
})

it('within one request, an attribute that was changed may be listed again as it is by then', async () => {
  await withFd([classOf('P', { a: 'string' })], async (fd) => {
    const attribute = { attributeName: 'a', logicalType: 'integer' }
    await fd.alterClass('P', { attributesToChange: [attribute], attributesToAdd: [attribute] })
    const other = { attributesToChange: [attribute], attributesToAdd: [{ attributeName: 'a', logicalType: 'string' }] }
    expect(await outcome(fd.alterClass('P', other))).toBe('AttributeExists')
    const added = {
      attributesToChange: [{ ...attribute, attributeName: 'b' }],
      attributesToAdd: [{ ...attribute, attributeName: 'b' }],
    }
    expect(await outcome(fd.alterClass('P', added))).toBe('UnknownAttribute')
    const twice = { attributesToChange: [attribute, attribute] }
    expect((await refusal(fd.alterClass('P', twice))).message).toContain('changed twice')
  })
})
