/** `ashlar types`: writes the schema as TypeScript declarations, or checks whether a file still has them. */
import { existsSync, readFileSync } from 'node:fs'
import type { ClassRepresentation } from '@ashlar/client'
import { addressProblem, storeDirectory } from '@ashlar/engine/store-address'
import { packageName } from '@ashlar/server/shared'
import type { CommandContext } from '../connection/command-context.ts'
import { CommandError, usageError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { unreadableFileError } from '../errors/file-errors.ts'
import { readSchemaSource } from '../schema/schema-files.ts'
import { type ListedClass, schemaState } from '../schema/schema-state.ts'
import { schemaOfSource } from '../schema/scratch-schema.ts'
import { type DeclarationOptions, declarationsOf } from './declarations.ts'

interface TypesOptions extends DeclarationOptions {
  readonly data?: string
  readonly check?: string
}

/** Ends with exit code 8 if the file to check is not what would be written. */
export async function writeTypes(
  context: CommandContext,
  [place]: readonly (string | undefined)[],
  { data, check, ...options }: TypesOptions,
): Promise<void> {
  const { output } = context
  if (place !== undefined && data !== undefined)
    throw usageError('The classes are read from files or --data, not both.')
  const text = declarationsOf(await classesOf(context, place, data), {
    ...options,
    ...(packageName === 'ashlar' && { from: 'ashlar' }),
  })
  if (check === undefined) return output.data({ text }, () => [text.trimEnd()])
  const isSame = readDeclarations(check) === text
  await output.result({ isSame }, () => (isSame ? [`${check} has the types of the schema.`] : []))
  if (isSame) return
  throw new CommandError(exitCodes.different, `The schema differs from ${check}: write it again with ashlar types.`)
}

async function classesOf(
  { client }: CommandContext,
  place: string | undefined,
  data: string | undefined,
): Promise<readonly ListedClass[]> {
  if (place !== undefined) return (await schemaOfSource(readSchemaSource(place))).classes
  const classes = data === undefined ? await client.listClasses() : await classesInStore(data)
  return schemaState(classes, [], []).classes
}

/** The store may be served meanwhile. One of an earlier format is migrated, as when a server opens it: an engine reads only its own. */
async function classesInStore(address: string): Promise<readonly ClassRepresentation[]> {
  const problem = addressProblem(address)
  if (problem !== undefined) throw usageError(problem)
  const directory = storeDirectory(address)
  if (directory !== undefined && !existsSync(directory)) throw usageError(`There is no store at ${directory}.`)
  const { FederatedDatabase, openStore } = await import('@ashlar/engine')
  const fd = await FederatedDatabase.open({ alias: 'types', store: await openStore(address) })
  try {
    return JSON.parse(JSON.stringify(await fd.listClasses())) as readonly ClassRepresentation[]
  } finally {
    await fd.close()
  }
}

function readDeclarations(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw unreadableFileError(`The file ${file}`, error)
  }
}
