/** `ashlar import --dry-run`: checks the records instead of sending them, and shows the class and the first objects. */
import type { AshlarClient, AttributeDefinition, BulkCreation } from '@ashlar/client'
import { defaultServerLimits } from '@ashlar/server/shared'
import { parseExactly, stringifyExactly } from '../output/exact-json.ts'
import type { AttributesOf } from './stored-values.ts'
import { checksOf } from './value-checks.ts'

type Load = AshlarClient['loadObjects']

const sampleObjects = 3

export interface DryRun {
  /** The first objects, as they would be stored. */
  readonly objects: readonly Readonly<Record<string, unknown>>[]
  /** A replacement for `loadObjects` of a client, without checks that depend on stored objects. */
  readonly load: Load
}

export function dryRun(
  className: string,
  definitions: readonly AttributeDefinition[],
  attributesOf: AttributesOf,
): DryRun {
  const objects: Record<string, unknown>[] = []
  const checks = checksOf(definitions, attributesOf)
  const problemOf = (attributes: Readonly<Record<string, unknown>>): string | undefined => {
    for (const name of Object.keys(attributes)) {
      const problem = checks.get(name)?.(attributes[name])
      if (problem !== undefined) return `Class ${className}, attribute ${name}: ${problem}.`
    }
    return undefined
  }
  async function* checked(lines: AsyncIterable<BulkCreation>, onError = 'stop'): ReturnType<Load> {
    let [line, failed] = [0, 0]
    for await (const creation of lines) {
      const { attributes = {} } = creation
      line++
      if (objects.length < sampleObjects) objects.push(asStored(attributes, definitions))
      const message = lineProblem(creation) ?? problemOf(attributes)
      if (message === undefined) {
        yield { line, __identifier__: '' }
        continue
      }
      failed++
      yield { line, error: { type: 'ValueNotAllowed', message, status: 422 } } as never
      if (onError === 'stop') break
    }
    yield { summary: { created: line - failed, updated: 0, failed } }
  }
  return { objects, load: (lines, { onError } = {}) => checked(lines as AsyncIterable<BulkCreation>, onError) }
}

/** Returns the message of the server for a line that is too long. */
function lineProblem(creation: BulkCreation): string | undefined {
  const { lineBytesMax } = defaultServerLimits
  const isTooLong = Buffer.byteLength(stringifyExactly(creation)) > lineBytesMax
  return isTooLong ? `The line has more than ${lineBytesMax} bytes (lineBytesMax).` : undefined
}

/** Returns the object in the order of the class, with strings converted to the types of their attributes. */
function asStored(
  object: Readonly<Record<string, unknown>>,
  attributes: readonly AttributeDefinition[],
): Record<string, unknown> {
  const types = new Map(attributes.map(({ attributeName, logicalType }) => [attributeName, logicalType]))
  const names = new Set([...types.keys(), ...Object.keys(object)])
  const stored: Record<string, unknown> = {}
  for (const name of names) if (Object.hasOwn(object, name)) stored[name] = valueAs(types.get(name), object[name])
  return stored
}

const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

function valueAs(type: string | undefined, value: unknown): unknown {
  if (typeof value !== 'string') return value
  const isNumber = (type === 'integer' || type === 'real') && number.test(value)
  const isBoolean = type === 'boolean' && (value === 'true' || value === 'false')
  return isNumber || isBoolean ? parseExactly(value) : value
}

export function objectLines(objects: readonly unknown[]): string[] {
  return ['The first objects:', ...objects.map((one) => `  ${stringifyExactly(one)}`)]
}
