/** `ashlar get|create|update|delete`: objects by their OIDs. */
import type { Attributes, CreateObjectBody, ObjectRepresentation } from '@ashlar/client'
import { type CommandContext, parseJsonInput, readInput, readInputFile } from '../connection/command-context.ts'
import { CommandError, invalidInput, usageError } from '../errors/command-error.ts'
import { exitCodes } from '../errors/exit-codes.ts'
import { stringifyExactly } from '../output/exact-json.ts'
import { executeAtomically } from './execute-atomically.ts'

interface MatchOptions {
  readonly ifMatch?: string
}

/** Returns an object for one OID, and a list for several or `-`. */
export async function getObjects(
  { client, output }: CommandContext,
  [words]: readonly [readonly string[]],
): Promise<void> {
  const oids = oidsOf(words)
  const objects = oids.length === 1 ? [await client.readObject(oids[0] ?? '')] : await readTogether(client, oids)
  const isList = words.length !== 1 || words[0] === '-'
  await output.data(isList ? objects : objects[0], () => {
    return objects.flatMap((object, at) => [...(at === 0 ? [] : ['']), ...printObject(object, output)])
  })
}

/** Reads several objects from one snapshot. */
async function readTogether(
  client: CommandContext['client'],
  oids: readonly string[],
): Promise<ObjectRepresentation[]> {
  const operations = oids.map((oid) => ({ method: 'get', uri: `/v1/object/${encodeURIComponent(oid)}` }))
  if (operations.length === 0) return []
  return (await executeAtomically(client, operations)).map(({ result }) => result as ObjectRepresentation)
}

function printObject(object: ObjectRepresentation, output: CommandContext['output']): string[] {
  return output
    .table(
      ['', ''],
      Object.entries(object).map(([name, value]) => [name, cellOf(value)]),
    )
    .slice(1)
}

/** Returns a value as the cell of a table: strings unchanged, everything else as JSON. */
export function cellOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : stringifyExactly(value)
}

/** Without attributes, creates an object with defaults. A JSON array creates several objects atomically. */
export async function createObjects(
  { client, output }: CommandContext,
  [className, words]: readonly [string, readonly string[]],
): Promise<void> {
  if (className === '') throw usageError('The name of the class is empty.')
  const parsed = attributesOf(words)
  if (!Array.isArray(parsed)) {
    const created = await client.createObject(className, attributesFrom(parsed, 'The object'))
    return output.data(created, () => [created.__identifier__])
  }
  const bodies: CreateObjectBody[] = parsed.map((attributes: unknown, at) => {
    return { class: className, attributes: attributesFrom(attributes, `Object ${at + 1} of the list`) }
  })
  const created = bodies.length === 0 ? [] : await client.createObjects(bodies)
  await output.data(created, () => created.map(({ __identifier__ }) => __identifier__))
}

export async function updateObjectCommand(
  { client, output }: CommandContext,
  [oid, words]: readonly [string, readonly string[]],
  { ifMatch }: MatchOptions,
): Promise<void> {
  const attributes = attributesFrom(attributesOf(words), 'The change')
  if (Object.keys(attributes).length === 0) throw usageError('No changes given: give name=value, or JSON.')
  await client.updateObject(checkedOid(oid, exitCodes.usage), attributes, ifMatch === undefined ? {} : { ifMatch })
  await output.result({ updated: [oid] }, () => [`Updated ${oid}.`])
}

export async function deleteObjectsCommand(
  { client, output }: CommandContext,
  [words]: readonly [readonly string[]],
  { ifMatch }: MatchOptions,
): Promise<void> {
  const oids = oidsOf(words)
  if (ifMatch !== undefined && oids.length !== 1) throw usageError('--if-match is for a single object.')
  if (oids.length === 1) await client.deleteObject(oids[0] ?? '', ifMatch === undefined ? {} : { ifMatch })
  else if (oids.length > 1)
    await executeAtomically(
      client,
      oids.map((oid) => ({ method: 'delete', uri: `/v1/object/${encodeURIComponent(oid)}` })),
    )
  await output.result({ deleted: oids }, () => [`Deleted ${oids.length === 1 ? oids[0] : `${oids.length} objects`}.`])
}

/** Bounds of the numbers of an OID (contract 4.1.11); the second number is the container. */
const oidPartMax = 65_535
const containerMax = 32_767

/** Returns the OIDs; `-` reads OIDs from standard input, separated by white space. */
function oidsOf(words: readonly string[]): string[] {
  return words.flatMap((word) => {
    if (word !== '-') return [checkedOid(word, exitCodes.usage)]
    const read = readInputFile('-').split(/\s+/)
    return read.filter((oid) => oid !== '').map((oid) => checkedOid(oid, exitCodes.invalid))
  })
}

function checkedOid(word: string, exitCode: number): string {
  const parts = /^(0|[1-9]\d*)-(0|[1-9]\d*)-(0|[1-9]\d*)-(0|[1-9]\d*)$/.exec(word)?.slice(1).map(Number)
  if (parts?.every((part, at) => part <= (at === 1 ? containerMax : oidPartMax)) === true) return word
  throw new CommandError(
    exitCode,
    `${word === '' ? 'An empty word' : word} is not an OID: an OID is four numbers up to ${oidPartMax}, the second up to ${containerMax}, such as 3-3-1-1.`,
  )
}

/** Parses `name=text` and `name:=<JSON>` pairs, or JSON: an argument, `@file` or `-`. */
function attributesOf(words: readonly string[]): unknown {
  const [word = '{}', ...others] = words
  // A pair without a name gets a separate message.
  const isPair = /^[^{["@]*?=/.test(word)
  if (!isPair) {
    if (others.length > 0) throw usageError('Quote the JSON so that the shell passes it as one argument.')
    if (/^[\p{L}_][\p{L}\p{N}_.]*$/u.test(word))
      throw usageError(`${word} has no value: give ${word}=text or ${word}:=JSON.`)
    return parseJsonInput(
      readInput(word),
      word === '-' ? 'Standard input' : word.startsWith('@') ? word.slice(1) : `The argument ${shortened(word)}`,
    )
  }
  const pairs = words.map(pairOf)
  const twice = pairs.find(([name], at) => pairs.findIndex(([other]) => other === name) < at)
  if (twice !== undefined) throw usageError(`The attribute ${twice[0]} is specified twice.`)
  return Object.fromEntries(pairs)
}

/** Shortens an argument to one line for a message. */
function shortened(word: string): string {
  const line = word.replaceAll(/\s+/g, ' ')
  return `'${line.length > argumentCharactersMax ? `${line.slice(0, argumentCharactersMax)}…` : line}'`
}

const argumentCharactersMax = 40

function pairOf(word: string): [string, unknown] {
  const at = word.indexOf('=')
  if (at <= 0 || word.startsWith(':=')) throw usageError(`${word} is neither name=text nor name:=JSON.`)
  const [name, value] = [word.slice(0, at), word.slice(at + 1)]
  return name.endsWith(':')
    ? [name.slice(0, -1), parseJsonInput(value, `The value of ${name.slice(0, -1)}`)]
    : [name, value]
}

function attributesFrom(value: unknown, what: string): Attributes {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Attributes
  throw invalidInput(`${what} is not a JSON object of attributes.`)
}
