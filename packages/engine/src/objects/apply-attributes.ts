/** Gives an object the attributes of a request body (contract 4.1.4 to 4.1.8, 4.3). */
import { AshlarError } from '../errors.ts'
import { changeElements, putMapEntries, removeKeys } from '../links/collections.ts'
import { mapKeyCodec } from '../links/map-entries.ts'
import { setReference } from '../links/relationships.ts'
import { applyJson } from '../records/apply-json.ts'
import type { AttributeFormat } from '../records/class-format.ts'
import { type MapPair, parseGiven, readCollectionChange } from '../records/collection-change.ts'
import { mayHoldReferences, newReferences } from '../records/references-in.ts'
import { nearNames } from '../schema/names.ts'
import { shownText } from '../schema/request-body.ts'
import { inSlices } from '../store/time-slice.ts'
import type { Oid } from '../types/oid.ts'
import type { UnitOfWork } from '../write/unit-of-work.ts'
import { type ObjectState, setValue } from '../write/working-set.ts'
import { toAshlarError } from './value-error.ts'

export type Attributes = { readonly [name: string]: unknown }

/** Attributes not named stay as they are. Throws UnknownAttribute, MalformedValue, ValueNotAllowed, InvalidReference. */
export async function applyAttributes(unit: UnitOfWork, state: ObjectState, attributes: Attributes): Promise<void> {
  const given = new Set<AttributeFormat>()
  for (const [name, json] of Object.entries(attributes)) {
    const attribute = findAttribute(state, name, json)
    if (attribute === undefined) continue
    if (given.has(attribute)) throw givenTwice(state, name)
    given.add(attribute)
    try {
      const applied = applyAttribute(unit, state, attribute, json)
      if (applied !== undefined) await applied
    } catch (error) {
      // What was refused may be a conclusion from what the object held: a reference that it holds already is not checked.
      unit.expectUnchanged(state)
      throw toAshlarError(error, state.format.cls.name, name)
    }
  }
}

/** Under its bare name and with its class, perhaps with different values: which one is meant cannot be known. */
function givenTwice(state: ObjectState, name: string): AshlarError {
  const pointer = `/attributes/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  return new AshlarError(
    'ValueNotAllowed',
    `Class ${state.format.cls.name}: attribute ${shownText(name)} is given twice.`,
    [{ pointer, message: 'is given twice' }],
  )
}

/** Undefined for what a read representation carries beside its attributes, where it matches the object. */
function findAttribute(state: ObjectState, name: string, json: unknown): AttributeFormat | undefined {
  const { cls } = state.format
  const found = cls.findAttribute(name)
  if (found !== undefined) return state.format.attribute(found.number)
  const pointer = `/attributes/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
  if (name === '__class__' || name === 'class') {
    if (json === cls.name) return undefined
    if (name === '__class__') {
      throw new AshlarError('ValueNotAllowed', `The object is of class ${cls.name}; its class cannot be changed.`, [
        { pointer, message: `is not ${cls.name}` },
      ])
    }
  }
  if (name === '__identifier__' && state.stored !== undefined) {
    if (json === state.oid) return undefined
    throw new AshlarError('ValueNotAllowed', `The object is ${state.oid}; its OID cannot be changed.`, [
      { pointer, message: `is not ${state.oid}` },
    ])
  }
  const near = nearNames(
    name,
    cls.attributes.map((attribute) => attribute.name),
  )
  const hint = near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
  throw new AshlarError('UnknownAttribute', `Class ${cls.name} has no attribute '${shownText(name)}'.${hint}`, [
    { pointer, message: 'is not an attribute of the class' },
  ])
}

/** At once where nothing has to be read, as for most attributes. */
function applyAttribute(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  json: unknown,
): Promise<void> | undefined {
  const { spec } = attribute.attribute
  if (attribute.linkForm !== undefined) return applyLinks(unit, state, attribute, json)
  if (spec.logicalType === 'reference' && spec.inverseAttribute !== null) {
    return setReference(unit, state, attribute, attribute.codec.parse(json) as Oid)
  }
  const before = state.values[attribute.index]
  const after = applyJson(attribute, before, json)
  const set = (): void => setValue(state, attribute, after)
  if (mayHoldReferences(spec)) return checkNewReferences(unit, state, attribute, before, after).then(set)
  set()
  return undefined
}

async function applyLinks(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  json: unknown,
): Promise<void> {
  const { spec } = attribute.attribute
  if (spec.logicalType !== 'list' && spec.logicalType !== 'set' && spec.logicalType !== 'map') return
  const change = readCollectionChange(spec, json)
  const { action } = change
  if (spec.logicalType === 'map' && action === 'remove') {
    const codec = mapKeyCodec(attribute)
    const keys = parseGiven(change, (given) => (given as unknown[]).map((key) => codec.parse(key)))
    return removeKeys(unit, state, attribute, keys)
  }
  const given = parseGiven(change, (value) => attribute.codec.parse(value))
  if (spec.logicalType !== 'map') return changeElements(unit, state, attribute, action, given as Oid[])
  if (action !== 'remove') await putMapEntries(unit, state, attribute, action, given as MapPair[])
}

/** Only references that change are checked: what was read can be sent back, dangling ones included. */
async function checkNewReferences(
  unit: UnitOfWork,
  state: ObjectState,
  attribute: AttributeFormat,
  before: unknown,
  after: unknown,
): Promise<void> {
  const { spec, name } = attribute.attribute
  const place = { className: state.format.cls.name, attributeName: name }
  await inSlices(newReferences(spec, before, after, unit.objects.formats), (reference) => {
    if (reference === undefined) return undefined
    return unit.checkReference(reference.target, reference.referencedClass, place)
  })
}
