/** Evaluates a DO text as a schema: the engine executes it on an empty in-memory database. */
import type { ClassRepresentation } from '@ashlar/client'
import { CommandError, conflictError, invalidInput } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { differencesOf } from './schema-differences.ts'
import type { SchemaSource } from './schema-files.ts'
import { isSameSchema, type SchemaState, schemaState } from './schema-state.ts'
import { type Quoting, schemaText } from './schema-text.ts'

/** Throws CommandError with the place of the fault, and exit code 7. */
export async function schemaOfSource({ text, placeOf }: SchemaSource): Promise<SchemaState> {
  const { AshlarError } = await import('@ashlar/engine')
  try {
    return await schemaOfText(text)
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error
    const { line, column } = error.extensions as { readonly line?: number; readonly column?: number }
    if (line === undefined || column === undefined) throw invalidInput(error.message)
    const message = error.message.replace(/^Line \d+, column \d+: /, '')
    const { place, line: sourceLine } = placeOf(line)
    const details = [`  ${sourceLine}`, `  ${sourceLine.slice(0, column - 1).replaceAll(/[^\t]/gu, ' ')}^`]
    throw invalidInput(`${place}: ${message}`, details)
  }
}

/** Disables limits: a server protects its other clients by them, and its schema may be as large as they allow. */
const unlimited = Number.MAX_SAFE_INTEGER
const limits = {
  classAttributesMax: unlimited,
  indexKeyAttributesMax: unlimited,
  queryCharactersMax: unlimited,
  statementTokensMax: unlimited,
  statementMsMax: unlimited,
  statementBytesMax: unlimited,
  statementsBytesMax: unlimited,
  transactionBytesMax: unlimited,
  transactionMsMax: unlimited,
  changeReplyBytesMax: unlimited,
  commitEntriesMax: unlimited,
  commitBytesMax: unlimited,
}

/** The name of a class, and the body of a request that alters it. */
export type AlterationRequest = readonly [className: string, body: object]

/** Returns the schema after alterations, which the engine executes. Throws CommandError if it refuses one. */
export async function alteredSchema(
  schema: SchemaState,
  alterations: readonly AlterationRequest[],
): Promise<SchemaState> {
  if (alterations.length === 0) return schema
  const { AshlarError } = await import('@ashlar/engine')
  try {
    return await schemaOfText(schemaText(schema, await quotingOf(schema)), alterations)
  } catch (error) {
    if (!(error instanceof AshlarError)) throw error
    throw error.kind === 'conflict' ? conflictError(error.message) : invalidInput(error.message)
  }
}

/** Throws AshlarError. */
async function schemaOfText(text: string, alterations: readonly AlterationRequest[] = []): Promise<SchemaState> {
  const { FederatedDatabase, openStore } = await import('@ashlar/engine')
  const fd = await FederatedDatabase.open({ alias: 'schema', store: await openStore('memory:'), limits })
  try {
    const { chunks } = await fd.query({ text })
    for await (const _ of chunks) {
      // Only the resulting schema is needed.
    }
    for (const [className, body] of alterations) await fd.alterClass(className, body)
    // As a server shows them: values of type json are objects in this process.
    const classes = JSON.parse(JSON.stringify(await fd.listClasses())) as readonly ClassRepresentation[]
    return schemaState(classes, await fd.listIndexes(), await fd.listSequences())
  } finally {
    await fd.close()
  }
}

/** Returns how names must be quoted so that the text creates this schema. Throws CommandError, with the lines at fault, if no text does. */
export async function quotingOf(schema: SchemaState): Promise<Quoting> {
  let failure = ''
  let details: readonly string[] = []
  for (const quoting of ['asNeeded', 'always'] as const) {
    const text = schemaText(schema, quoting)
    try {
      const read = await schemaOfText(text)
      if (isSameSchema(read, schema)) return quoting
      failure = 'the text makes another schema'
      details = differencesOf(schema, read).slice(0, differencesShown)
    } catch (error) {
      const { message, extensions } = error as Error & { readonly extensions?: { readonly line?: number } }
      failure = message.replace(/\.$/, '')
      details = extensions?.line === undefined ? [] : text.split('\n').slice(extensions.line - 1, extensions.line)
    }
  }
  throw new CommandError(exitCodes.failed, `This schema cannot be written in DO: ${failure}.`, details)
}

const differencesShown = 10
