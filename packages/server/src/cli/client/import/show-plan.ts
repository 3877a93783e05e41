/** `ashlar import --dry-run`: the class that would be made, and the first objects, with values as they would be stored. */
import type { AttributeDefinition, ClassDescription } from '@ashlar/client'
import type { CommandContext } from '../../command-context.ts'
import { parseExactly, stringifyExactly } from '../../exact-json.ts'
import { RecordProblem } from './column-values.ts'
import type { Fields, FileRecord } from './file-record.ts'
import type { References } from './references.ts'
import type { ToAttributes } from './to-attributes.ts'

const shownRecords = 3

export interface Plan {
  /** The classes that would be made, that of the objects last; undefined where it is there. */
  readonly made: readonly ClassDescription[] | undefined
  /** Of the class, made or not. */
  readonly attributes: readonly AttributeDefinition[]
  readonly toAttributes: ToAttributes
  readonly references: References | undefined
}

export async function showPlan(
  { output }: CommandContext,
  { made, attributes, toAttributes, references }: Plan,
  sample: readonly FileRecord[],
): Promise<void> {
  const shown = sample.slice(0, shownRecords)
  await references?.find(shown.flatMap(({ fields }) => (fields === undefined ? [] : [fields])))
  const objects = shown.map(({ line, fields, problem = 'cannot be read' }) => {
    if (fields === undefined) return { error: `Line ${line}: The record ${problem}.` }
    try {
      return asStored(toAttributes(fields), attributes)
    } catch (error) {
      if (error instanceof RecordProblem) return { error: error.message }
      throw error
    }
  })
  const [described] = made?.slice(-1) ?? []
  const embedded = made?.slice(0, -1) ?? []
  const plan = { class: described ?? null, ...(embedded.length > 0 && { embeddedClasses: embedded }), objects }
  await output.data(plan, () => [
    ...(made === undefined
      ? ['The class is there, and stays as it is.']
      : made.flatMap((one) => [
          `The class ${one.className} would be made:`,
          ...one.attributes.map((attribute) => `  ${shownDefinition(attribute)}`),
        ])),
    'The first objects:',
    ...objects.map((one) => `  ${stringifyExactly(one)}`),
  ])
}

export function shownDefinition({
  attributeName,
  logicalType,
  storage,
  elementSpecification: element,
}: AttributeDefinition): string {
  const type = element === undefined ? logicalType : `${logicalType} of ${element.logicalType}`
  return `${attributeName} ${type}${storage === undefined ? '' : ` ${storage}`}`
}

/** In the order of the class. The server makes of a text what its attribute is; a value that it will refuse stays a text. */
function asStored(object: Fields, attributes: readonly AttributeDefinition[]): Record<string, unknown> {
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
