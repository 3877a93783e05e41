/** Resolves references of imported records to objects by keys in unique indexes. */

import type { AshlarClient, AttributeDefinition, Oid } from '@ashlar/client'
import { usageError } from '../errors/command-error.ts'
import { quotedPath } from '../output/texts.ts'
import { RecordProblem } from './column-values.ts'
import { type Fields, fieldOf } from './file-record.ts'
import type { ColumnMapping, Mapping } from './mapping.ts'

/** Cached keys with their objects, about 30 MB; beyond, the cache is cleared. */
const cachedKeysMax = 200_000
const batchKeysMax = 1_000

/** Types to which keys are converted; strings are not, and null equals nothing. */
const types: Readonly<Record<string, string>> = {
  boolean: 'Boolean',
  integer: 'Integer',
  real: 'Real',
  decimal: 'Decimal',
  date: 'Date',
  time: 'Time',
  datetime: 'DateTime',
  guid: 'Guid',
  bytes: 'Bytes',
}

export interface References {
  /** The classes of the objects that the columns refer to. */
  classes(): ReadonlyMap<string, string>
  /** Looks up the references of a batch of records. Throws AshlarRequestError. */
  find(records: readonly Fields[]): Promise<void>
  /** Returns the OID, a list of OIDs if the column has a separator, or null if there is no key. Throws RecordProblem. */
  of(column: string, record: Fields): Oid | null | readonly (Oid | null)[]
}

/** Returns undefined if the mapping has no references. `attributesOf`: returns the attributes of a class. */
export async function openReferences(
  client: AshlarClient,
  mapping: Mapping,
  attributesOf: (className: string) => Promise<readonly AttributeDefinition[]>,
): Promise<References | undefined> {
  const lookups = new Map<string, KeyLookup>()
  const columns = new Map<string, ReferenceColumn>()
  for (const [column, rules] of mapping.columns) {
    const { reference } = rules
    if (reference === undefined || rules.attribute === null) continue
    const lookup = lookups.get(reference.index) ?? (await openLookup(client, reference.index, attributesOf))
    lookups.set(reference.index, lookup)
    columns.set(column, { rules, lookup, parts: partsOf(column, rules, lookup) })
  }
  return columns.size === 0 ? undefined : { classes, find, of }

  function classes(): ReadonlyMap<string, string> {
    return new Map([...columns].map(([column, { lookup }]) => [column, lookup.className]))
  }

  async function find(records: readonly Fields[]): Promise<void> {
    for (const lookup of lookups.values()) lookup.forget()
    for (const [column, reference] of columns) {
      for (const record of records) {
        try {
          for (const key of keysOf(column, reference, record)) if (key !== undefined) reference.lookup.request(key)
        } catch (error) {
          // Reported when the record is sent.
          if (!(error instanceof RecordProblem)) throw error
        }
      }
    }
    for (const lookup of lookups.values()) await lookup.find()
  }

  function of(column: string, record: Fields): ReturnType<References['of']> {
    const keys = keysOf(column, columns.get(column) as ReferenceColumn, record)
    const oids = keys.map((key) =>
      key === undefined ? null : oidOf(column, columns.get(column) as ReferenceColumn, key),
    )
    return keys.isList ? oids : (oids[0] ?? null)
  }
}

interface ReferenceColumn {
  readonly rules: ColumnMapping
  readonly lookup: KeyLookup
  /** The columns of the key, in the order of its attributes. */
  readonly parts: readonly string[]
}

type Key = readonly string[]

function partsOf(column: string, { reference }: ColumnMapping, lookup: KeyLookup): readonly string[] {
  const columns = reference?.columns ?? new Map([[lookup.attributes[0] ?? '', column]])
  const missing = lookup.attributes.find((attribute) => !columns.has(attribute))
  const unknown = [...columns.keys()].find((attribute) => !lookup.attributes.includes(attribute))
  if (missing === undefined && unknown === undefined) return lookup.attributes.map((one) => columns.get(one) ?? '')
  const problem = missing === undefined ? `'${unknown}' is not one of its attributes` : `'${missing}' has no column`
  const how = '{"index": …, "key": {attribute: column}}'
  throw usageError(
    `Column ${column} of the mapping refers by the index ${lookup.index}, whose key is ${lookup.attributes.join(', ')}: ${problem}. Give ${how}.`,
  )
}

/** Returns undefined for a key with a null part. */
function keysOf(
  column: string,
  { rules, parts }: ReferenceColumn,
  record: Fields,
): (Key | undefined)[] & { isList?: boolean } {
  const own = rules.toValue(fieldOf(record, column), undefined)
  if (parts.length === 1 && parts[0] === column) {
    if (Array.isArray(own)) return Object.assign(own.map(singleKey), { isList: true })
    return [singleKey(own)]
  }
  const key = parts.map((part) => keyPart(part === column ? own : fieldOf(record, part)))
  return [key.includes(undefined) ? undefined : (key as string[])]
}

function singleKey(value: unknown): Key | undefined {
  const text = keyPart(value)
  return text === undefined ? undefined : [text]
}

function keyPart(value: unknown): string | undefined {
  return value === null || value === undefined || value === '' ? undefined : String(value)
}

function oidOf(column: string, { lookup }: ReferenceColumn, key: Key): Oid {
  const oid = lookup.oidOf(key)
  if (oid !== undefined) return oid
  const named = lookup.attributes.map((attribute, i) => `${attribute} = '${key[i]}'`).join(', ')
  throw new RecordProblem(`Column ${column}: there is no ${lookup.className} with ${named}.`)
}

async function openLookup(
  client: AshlarClient,
  index: string,
  attributesOf: (className: string) => Promise<readonly AttributeDefinition[]>,
): Promise<KeyLookup> {
  const { indexedClass, isUnique, keyAttributes } = await client.getIndex(index)
  const names = keyAttributes.map(({ attributeName }) => attributeName)
  if (!isUnique)
    throw usageError(`The index ${index} is not unique: a reference by its key could mean several objects.`)
  const logicalTypes = new Map((await attributesOf(indexedClass)).map((one) => [one.attributeName, one.logicalType]))
  return lookupOf(client, { index, className: indexedClass, attributes: names }, logicalTypes)
}

interface KeyLookup {
  readonly index: string
  readonly className: string
  readonly attributes: readonly string[]
  /** Clears a full cache. Called only between batches, whose keys must be cached together. */
  forget(): void
  request(key: Key): void
  /** Looks up the requested keys. */
  find(): Promise<void>
  oidOf(key: Key): Oid | undefined
}

function lookupOf(
  client: AshlarClient,
  key: Pick<KeyLookup, 'index' | 'className' | 'attributes'>,
  logicalTypes: ReadonlyMap<string, string>,
): KeyLookup {
  /** OIDs by key as JSON. Missing keys are looked up again, since they may be created meanwhile. */
  const cached = new Map<string, Oid>()
  const pending = new Map<string, Key>()
  const conditions = key.attributes.map((attribute, i) => {
    const type = types[logicalTypes.get(attribute) ?? '']
    return `o.${quotedPath(attribute)} = ${type === undefined ? `k.p${i}` : `CAST(k.p${i} AS ${type})`}`
  })
  const from = `$keys AS k, ${quotedPath(key.className)} AS o`
  const query = `FROM ${from} WHERE ${conditions.join(' AND ')} RETURN k.at AS at, o AS oid`
  return {
    ...key,
    forget() {
      if (cached.size > cachedKeysMax) cached.clear()
    },
    request(parts) {
      const text = JSON.stringify(parts)
      if (!cached.has(text)) pending.set(text, parts)
    },
    async find() {
      const all = [...pending]
      pending.clear()
      for (let from = 0; from < all.length; from += batchKeysMax) {
        const batch = all.slice(from, from + batchKeysMax)
        const keys = batch.map(([, parts], at) => ({
          at,
          ...Object.fromEntries(parts.map((part, i) => [`p${i}`, part])),
        }))
        const rows = await client.query<{ readonly at: number; readonly oid: Oid }>(query, { keys })
        for (const { at, oid } of rows) cached.set((batch[at] as [string, Key])[0], oid)
      }
    },
    oidOf: (parts) => cached.get(JSON.stringify(parts)),
  }
}
