/** What an export shows becomes the same federated database again, whatever was done to the first. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { RebuildSource } from '../../src/rebuild/rebuild.ts'
import { openStore } from '../../src/storage/open-store.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { checkStore } from '../../src/verify/check-store.ts'
import { runs } from '../bytes/property-runs.ts'
import { Driver, outcomeOf, sequences, withModelFd } from '../model/model-run.ts'
import { randomSchemas } from '../schema/random-schema.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { temporaryDirectory } from '../store/temporary-stores.ts'

type Json = Readonly<Record<string, unknown>>

interface Shown {
  readonly classes: readonly Json[]
  readonly indexes: readonly Json[]
  readonly objects: readonly Json[]
}

async function shown(fd: FederatedDatabase): Promise<Shown> {
  const { classes, indexes, objects } = await fd.export({})
  let text = ''
  for await (const { bytes } of objects) text += bytes.toString()
  const lines = text.split('\n').filter((line) => line !== '')
  const copied = JSON.parse(JSON.stringify({ classes, indexes })) as Pick<Shown, 'classes' | 'indexes'>
  return { ...copied, objects: lines.map((line) => JSON.parse(line) as Json) }
}

function sourceOf({ classes, indexes, objects }: Shown, size = 3): RebuildSource {
  return {
    classes,
    indexes: indexes.map(({ state: _, ...index }) => index),
    async *objects() {
      for (let at = 0; at < objects.length; at += size) yield objects.slice(at, at + size)
    },
  }
}

async function opened(): Promise<FederatedDatabase> {
  return FederatedDatabase.open({ alias: 'again', store: await openStoreOfRun() })
}

/** Shape numbers count changes of the classes, which are not made anew. */
function unshaped({ classes, ...others }: Shown): object {
  return { ...others, classes: classes.map(({ shapeNumber: _, ...cls }) => cls) }
}

async function expectSameAgain(fd: FederatedDatabase): Promise<void> {
  const before = await shown(fd)
  const again = await opened()
  try {
    await again.rebuild(sourceOf(before))
    expect(unshaped(await shown(again))).toEqual(unshaped(before))
    expect((await again.verify()).problems).toEqual([])
    // What is made from now on has an OID of its own.
    const [cls] = before.classes.filter(({ isReferenceable }) => isReferenceable === true)
    if (cls === undefined) return
    for (const { name } of before.indexes) await again.deleteIndex(name as string)
    const made = await again.createObject(cls.className as string, {})
    expect(before.objects.map(({ __identifier__: oid }) => oid)).not.toContain(made)
  } finally {
    await again.close()
  }
}

it('after random changes of objects, links, indexes and classes', async () => {
  const property = fc.asyncProperty(sequences, async (operations) => {
    await withModelFd(await openStoreOfRun(), async (fd) => {
      const driver = new Driver(fd)
      for (const one of operations) {
        await outcomeOf(async () => {
          const oid = await driver.act(one)
          if (oid !== undefined) driver.oids.push(oid)
        })
      }
      await expectSameAgain(fd)
    })
  })
  await fc.assert(property, runs(60))
})

it('of random classes, with objects that refer to each other', async () => {
  const links = fc.array(
    fc.record({ from: fc.nat(30), attribute: fc.nat(9), to: fc.array(fc.nat(30), { maxLength: 4 }) }),
    {
      maxLength: 30,
    },
  )
  const property = fc.asyncProperty(randomSchemas, links, async (classes, links) => {
    const fd = await FederatedDatabase.open({ alias: 'first', store: await openMemoryStore() })
    try {
      await fd.defineClasses(classes, 'createOrExtend')
      const known = (await shown(fd)).classes
      const objects: { readonly oid: string; readonly names: readonly string[] }[] = []
      for (const { className, isReferenceable, attributes } of [...known, ...known, ...known]) {
        if (isReferenceable !== true) continue
        const names = (attributes as readonly Json[]).map(({ attributeName }) => attributeName as string)
        objects.push({ oid: await fd.createObject(className as string, {}), names })
      }
      for (const { from, attribute, to } of links) {
        const object = objects[from % Math.max(1, objects.length)]
        const name = object?.names[attribute % Math.max(1, object.names.length)]
        if (object === undefined || name === undefined) continue
        const targets = to.map((position) => objects[position % objects.length]?.oid)
        for (const value of [targets, targets[0]]) {
          await outcomeOf(() => fd.updateObject(object.oid, { [name]: value }))
        }
      }
      await expectSameAgain(fd)
    } finally {
      await fd.close()
    }
  })
  await fc.assert(property, runs(60))
})

it('what contradicts itself is refused', async () => {
  const cls = { className: 'A', classNumber: '1000005', shapeNumber: '1000005', isReferenceable: true, attributes: [] }
  const object = (oid: string, className = 'A'): Json => ({ __class__: className, __identifier__: oid })
  const refused = async (classes: readonly Json[], objects: readonly Json[]): Promise<string> => {
    const fd = await opened()
    try {
      await fd.rebuild(sourceOf({ classes, indexes: [], objects }))
      return ''
    } catch (error) {
      return (error as Error).message
    } finally {
      await fd.close()
    }
  }
  expect(await refused([cls], [object('3-3-1-1'), object('3-3-1-1')])).toContain('stands behind')
  expect(await refused([cls], [object('3-3-1-1', 'B')])).toContain('not a referenceable class')
  expect(await refused([cls], [object('0-0-0-0')])).toContain('No object has the OID')
  expect(await refused([cls, { ...cls, className: 'B' }], [])).toContain('different numbers')
  const other = { ...cls, className: 'B', classNumber: '1000009' }
  expect(await refused([cls, other], [object('3-3-1-1'), object('3-3-1-2', 'B')])).toContain('another class')
  expect(await refused([cls], [{ __class__: 'A' }])).toContain('no __identifier__')
})

it('constraints and unique attributes come along, and hold objects against nothing', async () => {
  const fd = await opened()
  const attributes = [
    { attributeName: 'mail', logicalType: 'string', isUnique: true, default: 'none' },
    { attributeName: 'name', logicalType: 'string', isRequired: true, maxLength: 5 },
    { attributeName: 'age', logicalType: 'integer', isReadOnly: true },
  ]
  await fd.defineClasses([{ className: 'Person', isReferenceable: true, attributes }], 'create')
  const people = ['a', 'b', 'c', 'd'].map((mail) => ({ class: 'Person', attributes: { mail, name: 'longer', age: 7 } }))
  await fd.alterClass('Person', { attributesToConstrain: [{ attributeName: 'name', maxLength: null }] })
  await fd.createObjects(people)
  const shorter = { attributesToConstrain: [{ attributeName: 'name', maxLength: 5 }] }
  const checks = [{ name: 'young', expression: 'age < 7' }]
  await fd.alterClass('Person', { ...shorter, classFields: { checks } }, { isValidating: false })
  const before = await shown(fd)
  expect(before.classes[0]?.checks).toEqual([{ ...checks[0], isValidated: false }])
  expect(before.indexes).toEqual([])
  const again = await opened()
  await again.rebuild(sourceOf(before))
  expect(unshaped(await shown(again))).toEqual(unshaped(before))
  expect((await again.verify()).problems).toEqual([])
  expect((await again.listIndexes()).map(({ name }) => name)).toEqual(['Person.mail'])
  await again.close()
  await fd.close()
})

it('expressions of attributes give nothing anew: objects have what they had', async () => {
  const fd = await opened()
  const next = { expression: 'n + 1' }
  const attributes = [
    { attributeName: 'n', logicalType: 'integer' },
    { attributeName: 'made', logicalType: 'integer', default: next },
    { attributeName: 'changed', logicalType: 'integer', default: null, onUpdate: next },
    { attributeName: 'twice', logicalType: 'integer', computed: { expression: 'n * 2', isStored: true } },
  ]
  const negative = { attributeName: 'negative', logicalType: 'integer', computed: { expression: '0 - n' } }
  const parts = [...attributes.filter((one) => !('onUpdate' in one)), negative]
  const part = { logicalType: 'object', class: 'Part' }
  const embedding = [
    { attributeName: 'part', ...part },
    { attributeName: 'parts', logicalType: 'list', elementSpecification: part },
  ]
  const classes = [
    { className: 'Part', isReferenceable: false, attributes: parts },
    { className: 'Counter', isReferenceable: true, attributes: [...attributes, ...embedding] },
  ]
  await fd.defineClasses(classes as never, 'create')
  const oid = await fd.createObject('Counter', { n: 1, made: null, part: { n: 3, made: null }, parts: [{ n: 4 }] })
  await fd.createObject('Counter', { n: 5 })
  await expectSameAgain(fd)
  await fd.updateObject(oid, { n: 2 })
  await expectSameAgain(fd)
  await fd.close()
})

it('with defaults that draw from sequences, each at its next number', async () => {
  const fd = await FederatedDatabase.open({ alias: 'first', store: await openMemoryStore() })
  const again = await FederatedDatabase.open({ alias: 'again', store: await openMemoryStore() })
  try {
    await fd.query({ text: 'CREATE SEQUENCE s START 40' })
    await fd.query({ text: "UPDATE SCHEMA {CREATE CLASS Invoice {number: Integer{Default: (NEXT('s'))}}}" })
    await fd.createObject('Invoice', {})
    const { sequences } = await fd.export({})
    await again.rebuild({ ...sourceOf(await shown(fd)), sequences: JSON.parse(JSON.stringify(sequences)) })
    await again.createObject('Invoice', {})
    const numbers = (await shown(again)).objects.map(
      (one) => (one.attributes as Json | undefined)?.number ?? one.number,
    )
    expect(numbers).toEqual([40, 41])
  } finally {
    await fd.close()
    await again.close()
  }
})

it('with constraints of linked collections, which hold of the whole, whichever side comes first', async () => {
  const constraints = ['MinItems: 1', 'MinItems: 1, ReadOnly: TRUE', 'MaxItems: 1', 'MinItems: 1, UniqueItems: TRUE']
  const creations = ['P {kids: LIST{CREATE K {}}}', 'K {p: CREATE P {}}']
  for (const constraint of constraints) {
    for (const creation of creations) {
      const fd = await opened()
      await fd.query({
        text: `UPDATE SCHEMA {CREATE CLASS P {kids: List{Element: Reference{Referenced: K, Inverse: p}, ${constraint}}}
          CREATE CLASS K {p: Reference{Referenced: P, Inverse: kids, Required: TRUE}}}; CREATE ${creation}`,
      })
      const before = await shown(fd)
      await fd.close()
      for (const size of [1, 3]) {
        const again = await opened()
        await again.rebuild(sourceOf(before, size))
        expect(unshaped(await shown(again))).toEqual(unshaped(before))
        expect((await again.verify()).problems).toEqual([])
        await again.close()
      }
    }
  }
})

it('an archive may bring objects that break a check, which are found while the store is not served', async () => {
  const address = `lmdb:${await temporaryDirectory()}`
  const fd = await FederatedDatabase.open({ alias: 'again', store: await openStore(address) })
  const range = [
    { attributeName: 'from', logicalType: 'integer' },
    { attributeName: 'until', logicalType: 'integer' },
  ]
  const checks = [{ name: 'order', expression: 'from <= until' }]
  const first = await opened()
  await first.defineClasses([{ className: 'Range', isReferenceable: true, attributes: range }], 'create')
  await first.createObject('Range', { from: 2, until: 1 })
  const source = sourceOf(await shown(first))
  await fd.rebuild({ ...source, classes: source.classes.map((cls) => ({ ...(cls as Json), checks })) })
  await first.close()
  await fd.close()
  expect((await checkStore(address)).problems).toEqual([expect.stringMatching(/Range.*check order/)])
})

it('embedded objects that an attribute brought, and checks that a change of type left unvalidated', async () => {
  const fd = await opened()
  const part = {
    className: 'Part',
    isReferenceable: false,
    attributes: [{ attributeName: 'n', logicalType: 'integer' }],
    checks: [{ name: 'half', expression: 'n / 2 != 2.5' }],
  }
  const whole = { className: 'Whole', isReferenceable: true, attributes: [] }
  await fd.defineClasses([part, whole], 'create')
  await fd.createObject('Whole', {})
  await fd.alterClass('Part', { attributesToConstrain: [{ attributeName: 'n', default: 5, maximum: 9 }] })
  await fd.alterClass('Whole', { attributesToAdd: [{ attributeName: 'part', logicalType: 'object', class: 'Part' }] })
  await fd.alterClass('Part', { attributesToConstrain: [{ attributeName: 'n', default: 6 }] })
  const toReal = { attributesToChange: [{ attributeName: 'n', logicalType: 'real' }] }
  await fd.alterClass('Part', toReal, { isValidating: false })
  const { classes, objects } = await shown(fd)
  expect(objects).toMatchObject([{ part: { n: 5 } }])
  expect(classes[0]?.checks).toEqual([{ ...part.checks[0], isValidated: false }])
  await fd.updateObject(objects[0]?.__identifier__ as string, { part: { n: 4 } })
  await expectSameAgain(fd)
  await fd.close()
})
