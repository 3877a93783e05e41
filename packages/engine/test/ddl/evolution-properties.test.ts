/**
 * Random changes of a schema under random objects, compared with a model that converts everything at once: what is read
 * lazily, through any number of shapes, is the same. On the database that made the changes, and on one opened afterwards.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Store } from '../../src/store/store.ts'
import { conversionFor } from '../../src/types/conversion.ts'
import { codecFor, defineType } from '../../src/types/index.ts'
import type { Codec } from '../../src/types/logical-type.ts'
import type { TypeDefinition } from '../../src/types/type-definition.ts'
import { runs } from '../bytes/property-runs.ts'
import { storeKinds } from '../query/query-database.ts'
import { rowTexts } from '../row-texts.ts'
import { leftOpen } from '../store/left-open.ts'
import { openStoreOfRun } from '../store/store-of-run.ts'
import { typeSamples } from '../types/type-samples.ts'
import { defineContext, exactJson } from '../types/type-under-test.ts'

const scalars = [
  'boolean',
  'character',
  'integer',
  'real',
  'decimal',
  'string',
  'guid',
  'date',
  'time',
  'datetime',
  'interval',
  'bytes',
] as const
type Owner = 'Base' | 'Sub' | 'Part'
const owners: readonly Owner[] = ['Base', 'Sub', 'Part']

interface ModelAttribute {
  name: string
  definition: TypeDefinition
}

/** Values by attribute, as the codecs have them; parts are objects of the embedded class. */
interface ModelObject {
  readonly oid: string
  readonly isSub: boolean
  readonly values: Map<ModelAttribute, unknown>
  readonly part: Map<ModelAttribute, unknown>
  readonly parts: Map<ModelAttribute, unknown>[]
  /** Embedded under attributes that came later. */
  readonly more: Map<string, Map<ModelAttribute, unknown>>
}

type Seeds = readonly unknown[]
type Operation =
  | { readonly kind: 'add'; readonly owner: Owner; readonly definition: TypeDefinition }
  | { readonly kind: 'delete' | 'rename' | 'index'; readonly owner: Owner; readonly nth: number }
  | {
      readonly kind: 'change'
      readonly owner: Owner
      readonly nth: number
      readonly definition: TypeDefinition
      readonly isLossAllowed: boolean
    }
  | { readonly kind: 'create'; readonly isSub: boolean; readonly parts: number; readonly seeds: Seeds }
  | { readonly kind: 'update'; readonly nth: number; readonly owner: Owner; readonly seeds: Seeds }
  | { readonly kind: 'upgrade' | 'renameClass' | 'embed' }

const definition: fc.Arbitrary<TypeDefinition> = fc
  .constantFrom(...scalars)
  .chain((name) => typeSamples[name].definition)
const owner = fc.constantFrom(...owners)
/** Random values of every type; the one that fits an attribute is taken by its definition. */
const seeds: fc.Arbitrary<Seeds> = fc.array(fc.nat(1_000_000), { minLength: 12, maxLength: 12 })

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), owner, definition }),
  fc.record({ kind: fc.constantFrom('delete' as const, 'rename' as const, 'index' as const), owner, nth: fc.nat(9) }),
  {
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      owner,
      nth: fc.nat(9),
      definition,
      isLossAllowed: fc.boolean(),
    }),
    weight: 4,
  },
  {
    arbitrary: fc.record({ kind: fc.constant('create' as const), isSub: fc.boolean(), parts: fc.nat(3), seeds }),
    weight: 2,
  },
  { arbitrary: fc.record({ kind: fc.constant('update' as const), nth: fc.nat(9), owner, seeds }), weight: 2 },
  fc.record({ kind: fc.constantFrom('upgrade' as const, 'renameClass' as const, 'embed' as const) }),
)

const codecs = new Map<TypeDefinition, Codec>()
const noEmbedding = {
  embedded: (): never => {
    throw new Error('single values embed nothing')
  },
}
const specOf = (type: TypeDefinition) => defineType(type, defineContext)
function codecOf(type: TypeDefinition): Codec {
  let codec = codecs.get(type)
  if (codec === undefined) {
    codec = codecFor(specOf(type), noEmbedding)
    codecs.set(type, codec)
  }
  return codec
}

/** A value of the type that follows from the seed: JSON as a request has it. */
function jsonOf(type: TypeDefinition, seed: unknown): unknown {
  const name = String(type.logicalType).toLowerCase() as (typeof scalars)[number]
  const [sample] = fc.sample(typeSamples[name].values({ ...type }), { numRuns: 1, seed: seed as number })
  return sample?.json ?? null
}

class World {
  readonly attributes: Record<Owner, ModelAttribute[]> = { Base: [], Sub: [], Part: [] }
  readonly objects: ModelObject[] = []
  readonly indexed = new Map<string, { owner: Owner; attribute: ModelAttribute }>()
  private readonly fd: FederatedDatabase
  private readonly embedding: string[] = []
  private made = 0
  private baseName = 'Base'

  private readonly isWithinTransaction: boolean

  constructor(fd: FederatedDatabase, isWithinTransaction: boolean) {
    this.fd = fd
    this.isWithinTransaction = isWithinTransaction
  }

  async start(): Promise<void> {
    await this.fd.defineClasses(
      [
        { className: 'Part', isReferenceable: false, attributes: [] },
        {
          className: 'Base',
          isReferenceable: true,
          attributes: [
            { attributeName: 'part', logicalType: 'object', class: 'Part' },
            {
              attributeName: 'parts',
              logicalType: 'list',
              elementSpecification: { logicalType: 'object', class: 'Part' },
            },
          ],
        },
        { className: 'Sub', isReferenceable: true, superClass: 'Base', attributes: [] },
      ],
      'create',
    )
  }

  async apply(op: Operation): Promise<void> {
    switch (op.kind) {
      case 'add':
        return this.add(op.owner, op.definition)
      case 'delete':
        return this.delete(op.owner, op.nth)
      case 'rename':
        return this.rename(op.owner, op.nth)
      case 'change':
        return this.change(op.owner, op.nth, op.definition, op.isLossAllowed)
      case 'index':
        return this.index(op.owner, op.nth)
      case 'create':
        return this.create(op.isSub, op.parts, op.seeds)
      case 'update':
        return this.update(op.nth, op.owner, op.seeds)
      case 'upgrade':
        await this.fd.upgradeObjects({ objectsPerSecondMax: 1_000_000 })
        return
      case 'embed':
        return this.embed()
      case 'renameClass':
        this.baseName = `Base${++this.made}`
        await this.alter((await this.classNumber()) ?? '', { classRename: this.baseName })
        return
    }
  }

  /** Each object as it is read, and by each index. */
  async expectSame(fd: FederatedDatabase): Promise<void> {
    for (const object of this.objects) {
      const read = JSON.parse((await fd.readObject(object.oid)).toString()) as Record<string, unknown>
      const { __class__, __identifier__, ...shown } = read
      expect({ oid: object.oid, ...shown }).toEqual({ oid: object.oid, ...this.shown(object) })
    }
    for (const { owner, attribute } of this.indexed.values()) {
      const path = owner === 'Part' ? `part.${attribute.name}` : attribute.name
      const source = owner === 'Sub' ? 'Sub' : this.baseName
      for (const object of this.covered(owner)) {
        const value = this.valueOf(object, owner, attribute)
        if (value === null || Number.isNaN(value)) continue
        const reply = await fd.query({
          text: `FROM ${source} WHERE ${path} = $value RETURN $$ID`,
          parameters: { value: codecOf(attribute.definition).toJson(value) },
        })
        expect((await rowTexts(reply)).join(',')).toContain(`"${object.oid}"`)
      }
    }
    expect((await fd.verify()).problems).toEqual([])
  }

  private alter(name: string, body: object, settings: { isCascading?: boolean; isLossAllowed?: boolean } = {}) {
    if (!this.isWithinTransaction) return this.fd.alterClass(name, body, settings)
    return this.fd.transaction((step) => step(1).alterClass(name, body, settings), false)
  }

  private async classNumber(): Promise<string | undefined> {
    return (await this.fd.listClasses()).find(({ className }) => className.startsWith('Base'))?.classNumber
  }

  private nameOf(owner: Owner): string {
    return owner === 'Base' ? this.baseName : owner
  }

  private async add(owner: Owner, type: TypeDefinition): Promise<void> {
    const attribute = { name: `a${++this.made}`, definition: type }
    await this.alter(this.nameOf(owner), { attributesToAdd: [{ attributeName: attribute.name, ...type }] })
    this.attributes[owner].push(attribute)
    for (const values of this.holders(owner)) values.set(attribute, codecOf(type).defaultValue)
  }

  private async embed(): Promise<void> {
    if (this.embedding.length > 2) return
    const name = `p${++this.made}`
    const attribute = { attributeName: name, logicalType: 'object', class: 'Part' }
    await this.alter(this.baseName, { attributesToAdd: [attribute] })
    this.embedding.push(name)
    for (const object of this.objects) object.more.set(name, this.partDefaults())
  }

  private partDefaults(): Map<ModelAttribute, unknown> {
    return new Map(this.attributes.Part.map((attribute) => [attribute, codecOf(attribute.definition).defaultValue]))
  }

  private async delete(owner: Owner, nth: number): Promise<void> {
    const attribute = this.nth(owner, nth)
    if (attribute === undefined) return
    const isUsed = [...this.indexed.values()].some((one) => one.attribute === attribute)
    const body = { attributesToDelete: [attribute.name] }
    if (isUsed) expect(await failure(this.alter(this.nameOf(owner), body))).toBe('AttributeInUse')
    await this.alter(this.nameOf(owner), body, { isCascading: isUsed })
    this.attributes[owner] = this.attributes[owner].filter((one) => one !== attribute)
    for (const [name, one] of this.indexed) if (one.attribute === attribute) this.indexed.delete(name)
    for (const values of this.holders(owner)) values.delete(attribute)
  }

  private async rename(owner: Owner, nth: number): Promise<void> {
    const attribute = this.nth(owner, nth)
    if (attribute === undefined) return
    const newName = `a${++this.made}`
    await this.alter(this.nameOf(owner), { attributesToRename: [{ originalName: attribute.name, newName }] })
    attribute.name = newName
  }

  private async change(owner: Owner, nth: number, to: TypeDefinition, isLossAllowed: boolean): Promise<void> {
    const attribute = this.nth(owner, nth)
    if (attribute === undefined) return
    const [from, next] = [specOf(attribute.definition), specOf(to)]
    const body = { attributesToChange: [{ attributeName: attribute.name, ...to }] }
    const changing = this.alter(this.nameOf(owner), body, { isLossAllowed })
    const conversion = conversionFor(from, next)
    if (conversion === undefined) {
      expect(await failure(changing)).toBe('InvalidDefinition')
      return
    }
    const held = [...this.holders(owner)].map((values) => values.get(attribute)).filter((value) => value !== null)
    const lost = held.filter((value) => !conversion.isExact(value)).length
    if (JSON.stringify(from) !== JSON.stringify(next) && lost > 0 && !isLossAllowed) {
      const error = await changing.then(
        () => undefined,
        (reason) => reason,
      )
      expect(error).toMatchObject({
        type: 'ValuesWouldBeLost',
        extensions: { valuesLost: [{ attributeName: attribute.name, values: lost }] },
      })
      return
    }
    await changing
    for (const values of this.holders(owner)) {
      const value = values.get(attribute)
      values.set(attribute, value === null ? null : conversion.convert(value))
    }
    attribute.definition = to
  }

  private async index(owner: Owner, nth: number): Promise<void> {
    const attribute = this.nth(owner, nth)
    if (attribute === undefined || this.indexed.size > 3) return
    const name = `i${++this.made}`
    const indexedClass = owner === 'Sub' ? 'Sub' : this.baseName
    const attributeName = owner === 'Part' ? `part.${attribute.name}` : attribute.name
    await this.fd.createIndex({ name, indexedClass, isUnique: false, keyAttributes: [{ attributeName }] })
    this.indexed.set(name, { owner, attribute })
  }

  private async create(isSub: boolean, parts: number, given: Seeds): Promise<void> {
    const json = { ...this.given('Base', given), ...(isSub ? this.given('Sub', given) : {}) }
    const partsJson = Array.from({ length: parts }, (_, i) => this.given('Part', given, i + 1))
    const body = { ...json, part: this.given('Part', given), parts: partsJson }
    const oid = await this.fd.createObject(isSub ? 'Sub' : this.baseName, body)
    const values = this.parsed('Base', json)
    if (isSub) for (const [attribute, value] of this.parsed('Sub', json)) values.set(attribute, value)
    this.objects.push({
      oid,
      isSub,
      values,
      part: this.parsed('Part', body.part),
      parts: partsJson.map((part) => this.parsed('Part', part)),
      more: new Map(this.embedding.map((name) => [name, this.partDefaults()])),
    })
  }

  private async update(nth: number, owner: Owner, given: Seeds): Promise<void> {
    const object = this.objects[nth % Math.max(1, this.objects.length)]
    if (object === undefined || (owner === 'Sub' && !object.isSub)) return
    const json = this.given(owner, given)
    await this.fd.updateObject(object.oid, owner === 'Part' ? { part: json } : json)
    const target = owner === 'Part' ? object.part : object.values
    for (const [attribute, value] of this.parsed(owner, json)) target.set(attribute, value)
  }

  private given(owner: Owner, given: Seeds, offset = 0): Record<string, unknown> {
    return Object.fromEntries(
      this.attributes[owner].map(({ name, definition: type }, i) => {
        return [name, jsonOf(type, Number(given[i % given.length]) + offset * 7)]
      }),
    )
  }

  private parsed(owner: Owner, json: Record<string, unknown>): Map<ModelAttribute, unknown> {
    return new Map(
      this.attributes[owner].map((attribute) => {
        const given = json[attribute.name]
        return [attribute, given === null ? null : codecOf(attribute.definition).parse(given)]
      }),
    )
  }

  private nth(owner: Owner, nth: number): ModelAttribute | undefined {
    const all = this.attributes[owner]
    return all[nth % Math.max(1, all.length)]
  }

  private *holders(owner: Owner): Generator<Map<ModelAttribute, unknown>> {
    for (const object of this.objects) {
      if (owner === 'Base' || (owner === 'Sub' && object.isSub)) yield object.values
      if (owner === 'Part') yield* [object.part, ...object.parts, ...object.more.values()]
    }
  }

  private covered(owner: Owner): ModelObject[] {
    return owner === 'Sub' ? this.objects.filter(({ isSub }) => isSub) : this.objects
  }

  private valueOf(object: ModelObject, owner: Owner, attribute: ModelAttribute): unknown {
    return (owner === 'Part' ? object.part : object.values).get(attribute)
  }

  private shown({ isSub, values, part, parts, more }: ModelObject): Record<string, unknown> {
    const show = (owner: Owner, held: Map<ModelAttribute, unknown>): Record<string, unknown> => {
      return Object.fromEntries(
        this.attributes[owner].map((attribute) => {
          const value = held.get(attribute)
          const json = value === null ? null : codecOf(attribute.definition).toJson(value)
          // As JSON.parse would read it: numbers are doubles.
          return [attribute.name, JSON.parse(exactJson(json))]
        }),
      )
    }
    const shownParts = parts.map((one) => show('Part', one))
    return {
      ...show('Base', values),
      part: show('Part', part),
      parts: shownParts,
      ...(isSub ? show('Sub', values) : {}),
      ...Object.fromEntries([...more].map(([name, held]) => [name, show('Part', held)])),
    }
  }
}

async function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error) => {
      if (error instanceof AshlarError) return error.type
      throw error
    },
  )
}

async function check(
  operations: readonly Operation[],
  wrap: (store: Store) => Store,
  isWithinTransaction: boolean,
): Promise<void> {
  const store = wrap(await openStoreOfRun())
  const fd = await FederatedDatabase.open({ alias: 'warm', store })
  const world = new World(fd, isWithinTransaction)
  await world.start()
  for (const one of operations) await world.apply(one)
  await world.expectSame(fd)
  const cold = await FederatedDatabase.open({ alias: 'cold', store: leftOpen(store) })
  await world.expectSame(cold)
  await cold.close()
  await fd.close()
}

describe('random changes of a schema', () => {
  for (const [kind, wrap] of storeKinds.entries()) {
    for (const isWithin of [false, true]) {
      const store = kind === 0 ? '' : ', from a store that answers later'
      it(`leave what a model has that converts at once${isWithin ? ', within transactions' : ''}${store}`, async () => {
        const operations = fc.array(operation, { minLength: 8, maxLength: 40 })
        await fc.assert(
          fc.asyncProperty(operations, (chosen) => check(chosen, wrap, isWithin)),
          runs(60),
        )
      })
    }
  }
})
