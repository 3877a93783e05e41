/** The JSON forms in which a change of a collection may be given (contract 4.3.1 to 4.3.4). */
import { ValueError } from '../types/logical-type.ts'
import type { CollectionSpec } from '../types/type-spec.ts'

type CollectionAction = 'override' | 'add' | 'remove'

/** Elements (list, set) or pairs (map) as JSON; keys for `remove` on a map. */
export interface CollectionForm {
  readonly action: CollectionAction
  readonly input: unknown
  /** The position of `input` in the value, for errors. */
  readonly path: readonly string[]
}

const actions: readonly unknown[] = ['override', 'add', 'remove']

/** Reads any of the accepted forms; null empties the collection. Throws ValueError. */
export function readCollectionForm(spec: CollectionSpec, json: unknown): CollectionForm {
  if (json === null) return { action: 'override', input: [], path: [] }
  if (Array.isArray(json) && spec.logicalType !== 'map') return { action: 'override', input: json, path: [] }
  if (typeof json !== 'object' || Array.isArray(json)) {
    throw new ValueError('MalformedValue', `a ${spec.logicalType} is written as ${formsOf(spec)}`)
  }
  const form = json as Record<string, unknown>
  if (spec.logicalType === 'map' && isReadForm(form)) return { action: 'override', input: json, path: [] }
  return readActionForm(spec, form)
}

/** The form of maps in replies: names to OIDs. Its keys may include `pairs` and `action`. */
function isReadForm(form: Record<string, unknown>): boolean {
  const isAction = Object.hasOwn(form, 'action') && actions.includes(form.action)
  const isPairs = Object.hasOwn(form, 'pairs') && Array.isArray(form.pairs)
  const isElements = isAction && Object.hasOwn(form, 'elements')
  return !isAction && !isPairs && !isElements
}

function readActionForm(spec: CollectionSpec, form: Record<string, unknown>): CollectionForm {
  const isMap = spec.logicalType === 'map'
  for (const name of Object.keys(form)) {
    if (!(['action', 'elements', 'exists'].includes(name) || (isMap && name === 'pairs'))) {
      const error = new ValueError('UnknownField', `a ${spec.logicalType} has no field '${name}'`)
      error.path = [name]
      throw error
    }
  }
  const action = Object.hasOwn(form, 'action') ? form.action : 'override'
  if (!actions.includes(action)) {
    throw new ValueError('MalformedValue', `the action of a ${spec.logicalType} is add, override or remove`)
  }
  const field = isMap && Object.hasOwn(form, 'pairs') ? 'pairs' : 'elements'
  const input = Object.hasOwn(form, field) ? form[field] : undefined
  if (!Array.isArray(input)) {
    throw new ValueError('MalformedValue', `a ${spec.logicalType} is written as ${formsOf(spec)}`)
  }
  if (isMap && action === 'remove') return { action, input: input.map(keyOfPair), path: [field] }
  return { action: action as CollectionAction, input, path: [field] }
}

function keyOfPair(pair: unknown): unknown {
  const isPair = typeof pair === 'object' && pair !== null && Object.hasOwn(pair, 'key')
  return isPair ? (pair as { key: unknown }).key : pair
}

function formsOf(spec: CollectionSpec): string {
  if (spec.logicalType === 'map') return 'an object of keys and OIDs, or {"pairs":[{"key":…,"value":…}]}'
  return 'an array, or {"action":"add","elements":[…]}'
}
