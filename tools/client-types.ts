/** The client's types of what goes over the wire, written from the schemas that the server validates by. */
import { originalOf, type Schema } from '../packages/server/src/wire/json-schema.ts'

const columnsMax = 120

interface ErrorEntry {
  readonly status: number
  readonly title: string
  readonly isRepeatable: boolean
}

/** `schemas`: by the names of the types. `imports`: the types that another file declares, by name, with that file. */
export function wireTypes(
  header: string,
  schemas: Readonly<Record<string, Schema>>,
  imports: Readonly<Record<string, string>>,
): string {
  const names = new Map(Object.entries(schemas).map(([name, schema]) => [schema, name]))
  const files = [...new Set(Object.values(imports))]
  const imported = files.map((file) => {
    const ofFile = Object.keys(imports).filter((name) => imports[name] === file)
    return `import type { ${ofFile.join(', ')} } from '${file}'\n`
  })
  const declared = Object.entries(schemas)
    .filter(([name]) => !(name in imports))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, schema]) => `${comment(schema, '')}${declaration(name, schema, names)}`)
  return `${header}${imported.join('')}\n${declared.join('\n')}`
}

function declaration(name: string, schema: Schema, names: Names): string {
  const type = writtenOut(schema, names, '')
  return isRecordOfFields(schema) ? `export interface ${name} ${type}\n` : `export type ${name} = ${type}\n`
}

type Names = ReadonlyMap<Schema, string>

/** Its name, where it has one. */
function typeOf(schema: Schema, names: Names, indent: string): string {
  return names.get(originalOf(schema)) ?? writtenOut(schema, names, indent)
}

/** Throws where a schema has what no type is known for, so that nothing is left out in silence. */
function writtenOut(schema: Schema, names: Names, indent: string): string {
  const { type, anyOf, enum: words, const: word, items, patternProperties } = schema
  if (anyOf !== undefined) {
    const current = (anyOf as readonly Schema[]).filter(({ deprecated }) => deprecated !== true)
    return current.map((one) => typeOf(one, names, indent)).join(' | ')
  }
  if (word !== undefined) return literal(word)
  if (words !== undefined) return (words as readonly unknown[]).map(literal).join(' | ')
  if (type === 'array') return arrayOf(typeOf(items as Schema, names, indent))
  if (patternProperties !== undefined) {
    const [values = {}] = Object.values(patternProperties as Readonly<Record<string, Schema>>)
    return `Readonly<Record<string, ${typeOf(values, names, indent)}>>`
  }
  if (isRecordOfFields(schema)) return fields(schema, names, indent)
  const simple = type === undefined ? 'unknown' : simpleTypes[type as string]
  if (simple === undefined) throw new Error(`no type is known for ${JSON.stringify(schema)}`)
  return simple
}

const simpleTypes: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

function isRecordOfFields({ properties }: Schema): boolean {
  return properties !== undefined
}

function literal(value: unknown): string {
  return `'${String(value)}'`
}

function arrayOf(item: string): string {
  return `readonly ${item.includes(' | ') && !item.startsWith('{') ? `(${item})` : item}[]`
}

function fields(schema: Schema, names: Names, indent: string): string {
  const { properties, required = [], additionalProperties } = schema
  const inner = `${indent}  `
  const lines = Object.entries(properties as Readonly<Record<string, Schema>>)
    .filter(([, field]) => field.deprecated !== true)
    .map(([name, field]) => {
      const mark = (required as readonly string[]).includes(name) ? '' : '?'
      return `${fieldComment(field, names, inner)}${inner}readonly ${name}${mark}: ${typeOf(field, names, inner)}\n`
    })
  if (additionalProperties === true) lines.push(`${inner}readonly [name: string]: unknown\n`)
  return `{\n${lines.join('')}${indent}}`
}

/** What is said of a type stands at the type alone. */
function fieldComment(field: Schema, names: Names, indent: string): string {
  const original = originalOf(field)
  return names.has(original) && field.description === original.description ? '' : comment(field, indent)
}

function comment({ description }: Schema, indent: string): string {
  return typeof description === 'string' ? docComment(description, indent) : ''
}

function docComment(text: string, indent: string): string {
  const short = `${indent}/** ${text} */`
  if (short.length <= columnsMax) return `${short}\n`
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && `${indent} * ${line} ${word}`.length > columnsMax) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [`${indent}/**`, ...[...lines, line].map((one) => `${indent} * ${one}`), `${indent} */\n`].join('\n')
}

/** A table of the error types, of which the type `ErrorType` is made. */
export function errorTypes(header: string, entries: Readonly<Record<string, ErrorEntry>>): string {
  const lines = Object.entries(entries).map(([type, { status, title, isRepeatable }]) => {
    return `${docComment(`${title}.`, '  ')}  ${type}: { status: ${status}, isRepeatable: ${isRepeatable} },\n`
  })
  const repeatable = Object.keys(entries).filter((type) => entries[type]?.isRepeatable)
  return `${header}
/** Those whose \`isRepeatable\` is true: most programs use no more of the table, and do not have to contain it. */
export const repeatableTypes: readonly string[] = [
${repeatable
  .map(
    (type) => `  '${type}',
`,
  )
  .join('')}]

/**
 * The types of errors that a server answers with: stable words, each with its HTTP status. \`isRepeatable\`: an answer of the type says
 * that nothing was done and that the same request may be sent again (\`Retry-After\`).
 */
export const errorTypes = {
${lines.join('')}} as const

export type ErrorType = keyof typeof errorTypes
`
}
