/** A reference model that follows a federated database by its change log alone. */

import type { LinkChange } from '../../src/changes/decode-change.ts'
import type { AttributeFormat, ClassFormat } from '../../src/records/class-format.ts'
import type { AttributeNumber } from '../../src/types/type-spec.ts'
import type { LoggedSet, ObjectChange } from '../changes/logged-sets.ts'
import type { ModelClass } from './model-schema.ts'
import { ReferenceModel } from './reference-model.ts'

export class Replica {
  readonly model = new ReferenceModel()
  private readonly formats = new Map<string, ClassFormat>()
  /** By owner and attribute: targets by position, by themselves, or by key. */
  private readonly links = new Map<string, Map<string, string>>()

  apply({ objects, links }: Pick<LoggedSet, 'objects' | 'links'>): void {
    for (const change of objects) this.applyObject(change)
    for (const change of links) this.applyLink(change)
  }

  private applyObject(change: ObjectChange): void {
    const { oid, format } = change
    this.formats.set(oid, format)
    if (change.kind === 'deleted') {
      expectHeld(this.model.objects.get(oid)?.values, change)
      this.model.objects.delete(oid)
      for (const { attribute } of format.linkAttributes) this.links.delete(`${oid} ${attribute.number}`)
      return
    }
    if (change.kind === 'created') {
      this.model.objects.set(oid, { cls: format.cls.name as ModelClass, values: {} })
      for (const attribute of format.linkAttributes) this.show(oid, attribute)
    }
    const values = this.valuesOf(oid)
    if (change.kind === 'changed') expectHeld(values, change)
    const given =
      change.kind === 'created'
        ? change.values
        : change.attributes.map(({ attribute, after }) => ({ attribute, value: after }))
    for (const { attribute, value } of given) values[attribute.attribute.name] = shown(attribute, value)
  }

  private applyLink({ kind, owner, attribute, target, position, key }: LinkChange): void {
    const held = this.model.objects.get(owner)
    if (held === undefined) return
    const format = (this.formats.get(owner) as ClassFormat).attribute(attribute)
    const links = this.linksOf(owner, attribute)
    const place = position === undefined ? String(key ?? target) : Buffer.from(position).toString('hex')
    if (kind === 'removed') links.delete(place)
    else links.set(place, target as string)
    this.show(owner, format)
  }

  private show(owner: string, { attribute, linkStorage }: AttributeFormat): void {
    const entries = [...this.linksOf(owner, attribute.number)].sort(([one], [other]) => (one < other ? -1 : 1))
    this.valuesOf(owner)[attribute.name] =
      linkStorage === 'map' ? Object.fromEntries(entries) : entries.map(([, target]) => target)
  }

  private linksOf(owner: string, attribute: AttributeNumber): Map<string, string> {
    const name = `${owner} ${attribute}`
    const links = this.links.get(name) ?? new Map<string, string>()
    this.links.set(name, links)
    return links
  }

  private valuesOf(oid: string): Record<string, unknown> {
    const object = this.model.objects.get(oid)
    if (object === undefined) throw new Error(`a change of ${oid}, of which nothing was told before`)
    return object.values
  }
}

/** What a change set says was there before must be what those before it have left. */
function expectHeld(held: Record<string, unknown> | undefined, change: ObjectChange): void {
  const before =
    change.kind === 'changed' ? change.attributes.map(({ attribute, before: value }) => ({ attribute, value })) : []
  const told = change.kind === 'deleted' ? change.values : before
  for (const { attribute, value } of told) {
    const { name } = attribute.attribute
    const [known, is] = [JSON.stringify(held?.[name]), JSON.stringify(shown(attribute, value))]
    if (known !== is) throw new Error(`${change.oid}.${name} was ${is} before it was ${change.kind}, and not ${known}`)
  }
}

/** As the model has it, without attributes that the embedded class was extended by. */
function shown({ codec, embedded }: AttributeFormat, value: unknown): unknown {
  if (value === null) return null
  const json = codec.toJson(value)
  if (embedded === undefined) return json
  return Object.fromEntries(Object.entries(json as object).filter(([name]) => !name.startsWith('added')))
}
