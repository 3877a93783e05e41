/**
 * Random requests that change a class in several ways at once, on their own, within transactions, and beside operations that are
 * disposed of: what is refused, what is lost and what is read afterwards is what a model says; a dry run says it first.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AshlarError } from '../../src/errors.ts'
import { FederatedDatabase } from '../../src/federated-database.ts'
import type { Database, SchemaReport } from '../../src/index.ts'
import { conversionFor } from '../../src/types/conversion.ts'
import { defineType } from '../../src/types/index.ts'
import type { TypeDefinition } from '../../src/types/type-definition.ts'
import type { TypeSpec } from '../../src/types/type-spec.ts'
import { runs } from '../bytes/property-runs.ts'
import { classOf, index, read } from '../engine/open-fd.ts'
import { isOnPostgres, openStoreOfRun } from '../store/store-of-run.ts'
import { codecOf, defineContext } from '../types/type-under-test.ts'
import {
  definitionOf,
  inOidOrder,
  isMoved,
  isOf,
  isSet,
  type ModelType,
  none,
  type Request,
  request,
  scalarTypes,
  type Target,
  targets,
} from './model-requests.ts'

type Mode = 'alone' | 'in a transaction' | 'beside what is disposed of'
const modes: readonly Mode[] = ['alone', 'in a transaction', 'beside what is disposed of']

interface ModelAttribute {
  name: string
  type: ModelType
}
interface ModelIndex {
  readonly attributes: readonly ModelAttribute[]
  readonly isUnique: boolean
}
type Values = Map<ModelAttribute, unknown>
type Alter = Extract<Request, { kind: 'alter' }>

/** What becomes of the values, or why it is refused. */
interface Outcome {
  readonly refusal: string | undefined
  readonly lost: number
  readonly values: Map<ModelAttribute, Map<Values, unknown>>
}

const definitionIn = (type: ModelType): TypeDefinition => definitionOf(type) as TypeDefinition
const specOf = (type: ModelType): TypeSpec => defineType(definitionIn(type), defineContext)

class World {
  private readonly fd: FederatedDatabase
  private readonly mode: Mode
  private attributes: ModelAttribute[] = []
  private readonly objects = new Map<string, Values>()
  private readonly indexes = new Map<string, ModelIndex>()
  private readonly targets = new Map<string, Target>()
  private readonly alive = new Map<string, Target>()
  private made = 0

  constructor(fd: FederatedDatabase, mode: Mode) {
    this.fd = fd
    this.mode = mode
  }

  async start(): Promise<void> {
    const leads = { logicalType: 'reference', referencedClass: 'T' }
    const [T, TOther] = [classOf('T', { leads }), classOf('TOther', { leads })]
    await this.fd.defineClasses([T, classOf('TSub', {}, { superClass: 'T' }), TOther, classOf('Owner', {})], 'create')
    for (const cls of [...targets, ...targets]) {
      const oid = await this.fd.createObject(cls, {})
      this.alive.set(oid, cls)
      this.targets.set(oid, cls)
    }
    const added: readonly ModelType[] = [
      { form: 'scalar', name: 'text' },
      { form: 'scalar', name: 'integer' },
      { form: 'references', kind: 'plain', target: 'T' },
    ]
    await this.alter({
      kind: 'alter',
      deleted: [],
      renamed: [],
      changed: [],
      added,
      isCascading: false,
      isLossAllowed: false,
    })
  }

  async apply(one: Request): Promise<void> {
    switch (one.kind) {
      case 'alter':
        return this.alter(one)
      case 'create':
        return this.create(one.seeds)
      case 'index':
        return this.index(one.nths, one.isUnique)
      case 'dropIndex': {
        const name = [...this.indexes.keys()][one.nth]
        if (name === undefined) return
        await this.fd.deleteIndex(name)
        this.indexes.delete(name)
        return
      }
      case 'deleteTarget': {
        const oid = [...this.targets.keys()][one.nth % this.targets.size] as string
        if (this.alive.delete(oid)) await this.fd.deleteObject(oid)
      }
    }
  }

  async expectSame(): Promise<void> {
    for (const [oid, values] of this.objects) {
      const { __class__, __identifier__, ...shown } = await read(this.fd, oid)
      const wanted = this.attributes.map((attribute) => [attribute.name, this.shown(attribute, values.get(attribute))])
      expect({ oid, ...shown }).toEqual({ oid, ...Object.fromEntries(wanted) })
    }
    expect((await this.fd.listIndexes()).map(({ name }) => name)).toEqual([...this.indexes.keys()].sort())
    expect((await this.fd.verify()).problems).toEqual([])
  }

  /** The operation in the world's way; what it tells is what is committed. */
  private act<T>(operation: (database: Database) => Promise<T>): Promise<T> {
    if (this.mode === 'alone') return operation(this.fd)
    if (this.mode === 'in a transaction') return this.fd.transaction((step) => operation(step(1)), false)
    const name = `Disposed${++this.made}`
    return this.fd.transaction(async (step, isRehearsal) => {
      if (isRehearsal) {
        await step(1).defineClasses([classOf(name, { a: 'string' })], 'create')
        await step(2).createObject(name, { a: 'x' })
        await step(3).alterClass('Owner', { attributesToAdd: [{ attributeName: `d${name}`, logicalType: 'real' }] })
        await step(4).createIndex(index(`i${name}`, 'Owner', false, `d${name}`))
      }
      const [number] = await step(5).defineClasses([classOf(`Kept${name}`, {})], 'create')
      const oid = await step(6).createObject(`Kept${name}`, {})
      const result = await operation(step(7))
      if (isRehearsal) return result
      expect((await step(8).readClass(`Kept${name}`)).classNumber).toBe(number)
      expect(JSON.parse((await step(8).readObject(oid)).toString()).__class__).toBe(`Kept${name}`)
      await step(9).deleteObject(oid)
      await step(10).deleteClass(`Kept${name}`)
      return result
    }, true)
  }

  private async alter(given: Alter): Promise<void> {
    const pick = (nth: number): ModelAttribute | undefined => this.attributes[nth]
    const deleted = new Set(given.deleted.flatMap((nth) => pick(nth) ?? []))
    const renamed = new Map<ModelAttribute, string>()
    for (const nth of given.renamed) {
      const attribute = pick(nth)
      if (attribute !== undefined && !deleted.has(attribute)) renamed.set(attribute, `a${++this.made}`)
    }
    const changed = new Map<ModelAttribute, ModelType>()
    for (const { nth, type } of given.changed) {
      const attribute = pick(nth)
      if (attribute !== undefined && !deleted.has(attribute)) changed.set(attribute, type)
    }
    const added = given.added.map((type): ModelAttribute => ({ name: `a${++this.made}`, type }))
    const body = {
      attributesToDelete: [...deleted].map(({ name }) => name),
      attributesToRename: [...renamed].map(([{ name }, newName]) => ({ originalName: name, newName })),
      attributesToChange: [...changed].map(([attribute, type]) => {
        return { attributeName: renamed.get(attribute) ?? attribute.name, ...definitionOf(type) }
      }),
      attributesToAdd: added.map(({ name, type }) => ({ attributeName: name, ...definitionOf(type) })),
    }
    if (Object.values(body).every((list) => list.length === 0)) return
    const outcome = this.outcomeOf(deleted, changed, given)
    await this.expectOutcome(body, given, outcome)
    if (outcome.refusal !== undefined) return
    this.attributes = [...this.attributes.filter((attribute) => !deleted.has(attribute)), ...added]
    for (const [name, { attributes }] of this.indexes) {
      if (attributes.some((attribute) => deleted.has(attribute))) this.indexes.delete(name)
    }
    for (const [attribute, ofObjects] of outcome.values) {
      for (const [values, value] of ofObjects) values.set(attribute, value)
      attribute.type = changed.get(attribute) as ModelType
    }
    for (const [attribute, name] of renamed) attribute.name = name
    for (const values of this.objects.values()) for (const one of added) values.set(one, defaultOf(one.type))
  }

  /** The dry run and the change have one outcome, which is the model's; losses are counted alike. */
  private async expectOutcome(
    body: { readonly attributesToDelete: readonly string[] },
    { isCascading, isLossAllowed }: Alter,
    { refusal, lost }: Outcome,
  ): Promise<void> {
    const settings = { isCascading, isLossAllowed }
    const told = JSON.stringify({ body, settings })
    const planned = await result(this.act((database) => database.previewAlteration('Owner', body, settings)))
    expect([told, planned.type]).toEqual([told, refusal])
    if (planned.value !== undefined) {
      expect([told, valuesLost(planned.value, body.attributesToDelete)]).toEqual([told, lost])
    }
    const done = await result(this.act((database) => database.alterClass('Owner', body, settings)))
    expect([told, done.type]).toEqual([told, refusal])
    if (refusal !== 'ValuesWouldBeLost') return
    for (const error of [planned.error, done.error]) {
      const told409 = error?.extensions as unknown as Pick<SchemaReport, 'valuesLost'>
      expect([told, valuesLost(told409, [])]).toEqual([told, lost])
    }
  }

  private outcomeOf(
    deleted: ReadonlySet<ModelAttribute>,
    changed: ReadonlyMap<ModelAttribute, ModelType>,
    { isCascading, isLossAllowed }: Alter,
  ): Outcome {
    const refused = (refusal: string, lost = 0): Outcome => ({ refusal, lost, values: new Map() })
    const isDropped = ({ attributes }: ModelIndex): boolean => attributes.some((attribute) => deleted.has(attribute))
    const kept = [...this.indexes.values()].filter((one) => !isDropped(one))
    if (kept.length < this.indexes.size && !isCascading) return refused('AttributeInUse')
    const values: Outcome['values'] = new Map()
    let lost = 0
    for (const [attribute, type] of changed) {
      const converted = this.converted(attribute.type, type)
      if (converted === undefined) return refused('InvalidDefinition')
      const ofObjects = new Map<Values, unknown>()
      for (const object of this.objects.values()) {
        const became = converted(object.get(attribute))
        lost += became.lost
        ofObjects.set(object, became.value)
      }
      values.set(attribute, ofObjects)
    }
    if (lost > 0 && !isLossAllowed) return refused('ValuesWouldBeLost', lost)
    const valueIn = (object: Values, attribute: ModelAttribute): unknown => {
      return values.has(attribute) ? values.get(attribute)?.get(object) : object.get(attribute)
    }
    for (const one of kept) if (one.isUnique && this.areEqual(one, valueIn)) return refused('UniqueViolation', lost)
    return { refusal: undefined, lost, values }
  }

  private areEqual(
    { attributes }: ModelIndex,
    valueIn: (object: Values, attribute: ModelAttribute) => unknown,
  ): boolean {
    const seen = new Set<string>()
    for (const object of this.objects.values()) {
      const key = attributes.map((attribute) => valueIn(object, attribute))
      if (key.includes(null)) continue
      const text = JSON.stringify(key.map((part) => (typeof part === 'bigint' ? Number(part) : part)))
      if (seen.has(text)) return true
      seen.add(text)
    }
    return false
  }

  private converted(
    from: ModelType,
    to: ModelType,
  ): ((value: unknown) => { readonly value: unknown; readonly lost: number }) | undefined {
    if (from.form === 'references' && to.form === 'references') {
      return (value) => {
        const before = isSet(from) ? inOidOrder(value as string[]) : (value as string[])
        const left: string[] = []
        for (const oid of before) {
          const cls = this.targets.get(oid)
          const isGone = cls !== undefined && !this.alive.has(oid)
          if (cls !== undefined && !isOf(cls, to.target)) continue
          if (isGone && isMoved(from.kind, to.kind)) continue
          if (isSet(to) && (oid === none || left.includes(oid))) continue
          left.push(oid)
        }
        return { value: left, lost: before.length - left.length }
      }
    }
    if (from.form === 'references' || to.form === 'references') return undefined
    const [one, other] = [specOf(from), specOf(to)]
    if (JSON.stringify(one) === JSON.stringify(other)) return (value) => ({ value, lost: 0 })
    const conversion = conversionFor(one, other)
    if (conversion === undefined) return undefined
    return (value) => {
      if (value === null) return { value, lost: 0 }
      return { value: conversion.convert(value), lost: conversion.lossyValues(value).length }
    }
  }

  private async create(seeds: readonly number[]): Promise<void> {
    const given = new Map(this.attributes.map((attribute, i) => [attribute, this.given(attribute.type, seeds, i)]))
    const body = Object.fromEntries([...given].map(([{ name }, json]) => [name, json]))
    const values: Values = new Map(
      [...given].map(([{ type: of }, json], i) => [this.attributes[i] as ModelAttribute, parsed(of, json)]),
    )
    const clashes = [...this.indexes.values()].some((one) => {
      if (!one.isUnique) return false
      this.objects.set('new', values)
      const isTaken = this.areEqual(one, (object, attribute) => object.get(attribute))
      this.objects.delete('new')
      return isTaken
    })
    const made = await result(this.act((database) => database.createObject('Owner', body)))
    expect([body, made.type]).toEqual([body, clashes ? 'UniqueViolation' : undefined])
    if (made.value !== undefined) this.objects.set(made.value, values)
  }

  private given(type: ModelType, seeds: readonly number[], at: number): unknown {
    const seed = (seeds[at % seeds.length] as number) + at
    if (type.form === 'scalar') {
      const { values } = scalarTypes[type.name]
      return values[seed % values.length]
    }
    if (type.form === 'list') {
      const values = scalarTypes[type.name].values.filter((value) => value !== null)
      return Array.from({ length: seed % 4 }, (_, i) => values[(seed + i * 3) % values.length])
    }
    const fitting = [...this.alive].filter(([, cls]) => isOf(cls, type.target)).map(([oid]) => oid)
    const all = isSet(type) || seed % 2 === 0 ? fitting : [...fitting, none, ...fitting.slice(0, 1)]
    return all.slice(0, seed % (all.length + 1))
  }

  private async index(nths: readonly number[], isUnique: boolean): Promise<void> {
    const attributes = [...new Set(nths)].flatMap((nth) => this.attributes[nth] ?? [])
    if (attributes.length === 0 || this.indexes.size > 2) return
    if (attributes.some(({ type }) => type.form !== 'scalar')) return
    const name = `i${++this.made}`
    const one = { attributes, isUnique }
    const isRefused = isUnique && this.areEqual(one, (object, attribute) => object.get(attribute))
    const names = attributes.map((attribute) => attribute.name)
    const made = await result(this.act((database) => database.createIndex(index(name, 'Owner', isUnique, ...names))))
    expect([names, made.type]).toEqual([names, isRefused ? 'UniqueViolation' : undefined])
    if (!isRefused) this.indexes.set(name, one)
  }

  private shown({ type }: ModelAttribute, value: unknown): unknown {
    if (type.form === 'references') return isSet(type) ? inOidOrder(value as string[]) : value
    return value === null ? null : codecOf(definitionIn(type)).toJson(value)
  }
}

function parsed(type: ModelType, json: unknown): unknown {
  if (type.form === 'references') return json
  return json === null ? null : codecOf(definitionIn(type)).parse(json)
}

function defaultOf(type: ModelType): unknown {
  return type.form === 'references' ? [] : codecOf(definitionIn(type)).defaultValue
}

/** Without those of deleted attributes, which a change does not refuse. */
function valuesLost({ valuesLost: all }: Pick<SchemaReport, 'valuesLost'>, deleted: readonly string[]): number {
  const counted = all.filter(({ attributeName }) => !deleted.includes(attributeName))
  return counted.reduce((sum, { values }) => sum + values, 0)
}

interface Result<T> {
  readonly value?: T
  readonly error?: AshlarError
  readonly type: string | undefined
}

async function result<T>(act: Promise<T>): Promise<Result<T>> {
  try {
    return { value: await act, type: undefined }
  } catch (error) {
    if (error instanceof AshlarError) return { error, type: error.type }
    throw error
  }
}

async function check(requests: readonly Request[], mode: Mode): Promise<void> {
  const store = await openStoreOfRun()
  const fd = await FederatedDatabase.open({ alias: 'requests', store })
  const world = new World(fd, mode)
  await world.start()
  for (const one of requests) await world.apply(one)
  await world.expectSame()
  await fd.close()
}

describe.skipIf(isOnPostgres)('requests that change a class in several ways', () => {
  for (const mode of modes) {
    it(`are refused, told and carried out as the model says, ${mode}`, async () => {
      const requests = fc.array(request, { minLength: 6, maxLength: 20 })
      await fc.assert(
        fc.asyncProperty(requests, (chosen) => check(chosen, mode)),
        runs(mode === 'beside what is disposed of' ? 12 : 60),
      )
    })
  }
})
