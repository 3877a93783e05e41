/** A federated database in plain maps: what the engine must answer, written as simply as the rules are told. */
import { itemClasses, type ModelClass, type ModelIndex, pairs } from './model-schema.ts'

const none = '0-0-0-0'

interface ModelObject {
  readonly cls: ModelClass
  // Scalars, OIDs, arrays of OIDs and plain objects, by attribute.
  readonly values: Record<string, unknown>
}

export interface CollectionChange {
  readonly action: 'override' | 'add' | 'remove'
  readonly elements: readonly string[]
}

export class ModelError extends Error {
  readonly type: string

  constructor(type: string) {
    super(type)
    this.type = type
  }
}

export class ReferenceModel {
  objects = new Map<string, ModelObject>()
  indexes = new Map<string, ModelIndex>()

  /** Runs the operation on a copy, and keeps that only if it does not throw. */
  attempt<T>(operation: () => T): T {
    const before = structuredClone(this.objects)
    try {
      const result = operation()
      for (const index of this.indexes.values()) this.checkUnique(index)
      return result
    } catch (error) {
      this.objects = before
      throw error
    }
  }

  create(oid: string, cls: ModelClass, attributes: Record<string, unknown>): void {
    this.objects.set(oid, { cls, values: defaults(cls) })
    this.apply(oid, attributes)
  }

  update(oid: string, attributes: Record<string, unknown>): void {
    if (!this.objects.has(oid)) throw new ModelError('ObjectNotFound')
    this.apply(oid, attributes)
  }

  delete(oid: string): void {
    if (!this.objects.has(oid)) throw new ModelError('ObjectNotFound')
    for (const attribute of Object.keys(this.values(oid))) {
      if (pairs[attribute] === undefined) continue
      for (const partner of this.partners(oid, attribute)) this.unlink(oid, attribute, partner)
    }
    this.objects.delete(oid)
  }

  createIndex(index: ModelIndex): void {
    if (this.indexes.has(index.name)) throw new ModelError('IndexExists')
    this.checkUnique(index)
    this.indexes.set(index.name, index)
  }

  deleteIndex(name: string): void {
    if (!this.indexes.delete(name)) throw new ModelError('IndexNotFound')
  }

  /** The representation, attributes in schema order. */
  read(oid: string): Record<string, unknown> {
    const { cls, values } = this.objects.get(oid) as ModelObject
    const shown = Object.entries(values).map(([name, value]) => [
      name,
      isSet(name) ? inOidOrder(value as string[]) : value,
    ])
    return { __class__: cls, __identifier__: oid, ...Object.fromEntries(shown) }
  }

  private values(oid: string): Record<string, unknown> {
    return (this.objects.get(oid) as ModelObject).values
  }

  private apply(oid: string, attributes: Record<string, unknown>): void {
    for (const [name, given] of Object.entries(attributes)) {
      const pair = pairs[name]
      const values = this.values(oid)
      if (pair?.side === 'one') this.setToOne(oid, name, given as string)
      else if (pair !== undefined) this.changePaired(oid, name, given as CollectionChange)
      else if (name === 'part') values.part = { ...(values.part as object), ...(given as object) }
      else if (name === 'uni') {
        if (given !== values.uni) this.check(given as string, 'Item')
        values.uni = given
      } else if (name === 'plain' || name === 'seq') this.changeList(oid, name, given as CollectionChange)
      else if (name === 'bag') this.changeBag(oid, given as CollectionChange)
      else if (name === 'byName') this.overrideMap(oid, given as Record<string, string>)
      else values[name] = given
    }
  }

  private check(oid: string, target: 'Item' | 'Hub'): void {
    if (oid === none) return
    const cls = this.objects.get(oid)?.cls
    const fits = target === 'Hub' ? cls === 'Hub' : itemClasses.some((item) => item === cls)
    if (!fits) throw new ModelError('InvalidReference')
  }

  private partners(oid: string, attribute: string): string[] {
    const value = this.values(oid)[attribute]
    return (Array.isArray(value) ? [...value] : [value]).filter((partner) => partner !== none)
  }

  private setToOne(oid: string, name: string, target: string): void {
    const present = this.values(oid)[name] as string
    if (target === present) return
    this.check(target, (pairs[name] as { target: 'Item' | 'Hub' }).target)
    if (present !== none) this.unlink(oid, name, present)
    if (target !== none) this.link(oid, name, target)
  }

  private link(oid: string, name: string, partner: string): void {
    const { inverse } = pairs[name] as { inverse: string }
    if (this.partners(oid, name).includes(partner)) return
    const isTaken = pairs[inverse]?.side === 'one' && this.values(partner)[inverse] !== none
    if (isTaken) this.unlink(partner, inverse, this.values(partner)[inverse] as string)
    this.put(oid, name, partner)
    if (oid !== partner || name !== inverse) this.put(partner, inverse, oid)
  }

  private unlink(oid: string, name: string, partner: string): void {
    const { inverse } = pairs[name] as { inverse: string }
    this.take(oid, name, partner)
    if (this.objects.has(partner)) this.take(partner, inverse, oid)
  }

  private put(oid: string, name: string, partner: string): void {
    const values = this.values(oid)
    values[name] = pairs[name]?.side === 'one' ? partner : [...(values[name] as string[]), partner]
  }

  private take(oid: string, name: string, partner: string): void {
    const values = this.values(oid)
    if (pairs[name]?.side !== 'one') values[name] = (values[name] as string[]).filter((element) => element !== partner)
    else if (values[name] === partner) values[name] = none
  }

  private changePaired(oid: string, name: string, { action, elements }: CollectionChange): void {
    if (elements.includes(none)) throw new ModelError('ValueNotAllowed')
    const wanted = [...new Set(elements)]
    const present = this.partners(oid, name)
    const { target } = pairs[name] as { target: 'Item' | 'Hub' }
    if (action === 'remove') {
      for (const partner of wanted) if (present.includes(partner)) this.unlink(oid, name, partner)
      return
    }
    for (const partner of wanted) if (!present.includes(partner)) this.check(partner, target)
    if (action === 'override') {
      for (const partner of present) if (!wanted.includes(partner)) this.unlink(oid, name, partner)
    }
    for (const partner of wanted) this.link(oid, name, partner)
    if (action === 'override') this.values(oid)[name] = wanted
  }

  private changeList(oid: string, name: string, { action, elements }: CollectionChange): void {
    const values = this.values(oid)
    const present = values[name] as string[]
    if (action === 'remove') values[name] = present.filter((element) => !elements.includes(element))
    else {
      // In a list, an element that is appended is a new reference even where an equal one is there.
      const isChecked = (element: string): boolean => !present.includes(element) || action === 'add'
      for (const element of elements) if (isChecked(element)) this.check(element, 'Item')
      values[name] = action === 'add' ? [...present, ...elements] : [...elements]
    }
  }

  private changeBag(oid: string, { action, elements }: CollectionChange): void {
    if (elements.includes(none)) throw new ModelError('ValueNotAllowed')
    const values = this.values(oid)
    const present = values.bag as string[]
    if (action === 'remove') values.bag = present.filter((element) => !elements.includes(element))
    else {
      for (const element of elements) if (!present.includes(element)) this.check(element, 'Item')
      values.bag = [...new Set(action === 'add' ? [...present, ...elements] : elements)]
    }
  }

  private overrideMap(oid: string, given: Record<string, string>): void {
    const values = this.values(oid)
    const present = values.byName as Record<string, string>
    for (const [key, target] of Object.entries(given)) if (present[key] !== target) this.check(target, 'Item')
    values.byName = Object.fromEntries(Object.entries(given).sort(([one], [other]) => (one < other ? -1 : 1)))
  }

  private checkUnique(index: ModelIndex): void {
    if (!index.isUnique) return
    const seen = new Set<string>()
    for (const { cls, values } of this.objects.values()) {
      if (cls === 'Hub') continue
      const key = index.keys.map((path) =>
        path.split('.').reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], values),
      )
      if (key.some((part) => part === null || part === none)) continue
      const text = JSON.stringify(key)
      if (seen.has(text)) throw new ModelError('UniqueViolation')
      seen.add(text)
    }
  }
}

function isSet(name: string): boolean {
  return name === 'bag' || pairs[name]?.side === 'set'
}

function inOidOrder(oids: readonly string[]): string[] {
  const number = (oid: string): number => oid.split('-').reduce((sum, part) => sum * 65_536 + Number(part), 0)
  return [...oids].sort((one, other) => number(one) - number(other))
}

function defaults(cls: ModelClass): Record<string, unknown> {
  if (cls === 'Hub') return { title: '', items: [], members: [], tagged: [], likers: [] }
  return {
    name: '',
    n: 0,
    part: { a: 0, b: '' },
    uni: none,
    plain: [],
    bag: [],
    seq: [],
    byName: {},
    left: none,
    right: none,
    spouse: none,
    owner: none,
    group: none,
    tags: [],
    liked: [],
    ...(cls === 'SubItem' ? { extra: 0 } : {}),
  }
}
